# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a client connects, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PLAIN, TLS, WS, WSS, SASL, UNIX, RELAY = "plain", "tls", "ws", "wss", "sasl", "unix", "relay"
TRANSPORTS = (PLAIN, TLS, WS, WSS, SASL, UNIX, RELAY)

HOST = "127.0.0.1"
USER, PASSWORD = "viewer", "secret"  # of SASL, on loopback


@dataclass(frozen=True)
class Target:
    """`port` or `path`, whichever the transport has."""

    transport: str
    port: int = 0
    path: Path | None = None
    ca: Path | None = None

    @property
    def encrypted(self) -> bool:
        return self.transport in (TLS, WSS)

    @property
    def uri(self) -> str:
        """As spice-gtk wants it."""
        if self.transport == UNIX:
            return f"spice+unix://{self.path}"
        if self.transport == TLS:
            return f"spice://{HOST}?tls-port={self.port}"
        return f"spice://{HOST}?port={self.port}"
