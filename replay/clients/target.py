# SPDX-License-Identifier: LGPL-2.1-or-later
"""Transports, and the address at which a client connects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PLAIN, TLS, WS, WSS, SASL, UNIX, RELAY = "plain", "tls", "ws", "wss", "sasl", "unix", "relay"
SANDBOX = "sandbox"     # TLS, to a QEMU in a sandbox
# through a common relay (proxies.py)
WEBSOCKIFY, NGINX, HAPROXY, SQUID, SSH_L, SSH_W, SOCAT = "websockify", "nginx", "haproxy", "squid", "ssh-L", "ssh-W", "socat"
WEB_PROXIES = frozenset({WEBSOCKIFY, NGINX})
PROXIES = WEB_PROXIES | {HAPROXY, SQUID, SSH_L, SSH_W, SOCAT}
TRANSPORTS = (PLAIN, TLS, WS, WSS, SASL, UNIX, RELAY, SANDBOX, WEBSOCKIFY, NGINX, HAPROXY, SQUID, SSH_L, SSH_W, SOCAT)

ENCRYPTED = frozenset({TLS, WSS, SANDBOX})
HOST = "127.0.0.1"
USER, PASSWORD = "viewer", "secret"  # mechanism of SASL, on loopback


@dataclass(frozen=True)
class Target:
    """`port` or `path`, depending on the transport; `proxy` is a host that must be asked by CONNECT for the port."""

    transport: str
    port: int = 0
    path: Path | None = None
    ca: Path | None = None
    proxy: str = ""
    host: str = HOST
    netns: Path | None = None       # of the client, if it is not the machine's own

    @property
    def encrypted(self) -> bool:
        return self.transport in ENCRYPTED

    @property
    def framed(self) -> bool:
        return self.transport in WEB_PROXIES | {WS, WSS}

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for a client of spice-gtk."""
        return {"SPICE_PROXY": self.proxy} if self.proxy else {}

    @property
    def uri(self) -> str:
        """The URI for spice-gtk."""
        if self.transport == UNIX:
            return f"spice+unix://{self.path}"
        if self.transport in (TLS, SANDBOX):
            return f"spice://{self.host}?tls-port={self.port}"
        return f"spice://{self.host}?port={self.port}"
