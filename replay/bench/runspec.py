# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one run is to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import lab, links, modes
from bench.libraries import Library
from bench.links import Link
from bench.recordings import Recording

TRANSPORTS = ("plain", "tls")
# How long the client waits, at a marker, for a picture that no longer changes, and with it for what other channels still
# bring. A video stream ends a second after its last frame, then its area comes once more without loss.
_SETTLE_MS = 100
_SETTLE_STREAMS_MS = 1500


@dataclass(frozen=True)
class RunSpec:
    """What makes two runs the same measurement, and which repeat of it this is."""
    recording: Recording
    library: Library
    mode: str
    transport: str
    repeat: int = 1
    tls_version: str = "1.3"
    link: Link = links.LINKS["lan"]
    pace: str = "max"
    probe_every: int | None = None      # milliseconds; 0 and None: no probes
    pause_at: tuple[int, ...] = ()      # commands after which both ends wait and the picture is taken
    congestion: str = lab.CONGESTION    # the algorithm of TCP
    compression: str | None = None      # None: as the player has it
    streaming: str | None = "off"
    slow_client: float = 1.0            # the client takes so many times as long for everything
    beside_download: bool = False       # a bulk TCP download shares the link
    channels: str | None = None         # made-up traffic beside the display: see channels.py
    keep_trace: Path | None = None      # the folder to keep the library's trace in
    limit: float = 1800.0               # seconds the whole run may take
    keep_pcap: Path | None = None       # the folder to keep the capture in

    @property
    def mode_name(self) -> str | None:
        """What the library calls the mode; None for one that knows no modes."""
        return None if self.mode == modes.STOCK else modes.base(self.mode).name

    @property
    def settle_ms(self) -> int:
        return _SETTLE_MS if self.streaming == "off" else _SETTLE_STREAMS_MS

    @property
    def row(self) -> str:
        """As tables name it."""
        return modes.row(self.library.name, self.mode)

    @property
    def address(self) -> str:
        """Names the cell on the command line, in files and in progress."""
        return "/".join((self.recording.name, self.link.name.replace("/", "-"), self.pace, self.transport, self.row))

    def __str__(self) -> str:
        return f"{self.address} run {self.repeat}" if self.repeat else f"{self.address} warm-up"
