# SPDX-License-Identifier: LGPL-2.1-or-later
"""The settings of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench.lab import links
from bench.lab.links import Link
from bench.runs import modes
from bench.runs.conditions import Conditions
from bench.runs.libraries import Library
from bench.runs.recordings import Recording

TRANSPORTS = ("plain", "tls")
# How long the client waits, at a marker, for a picture that no longer changes, and with it for what other channels still
# bring. A video stream ends a second after its last frame, then its area comes once more without loss.
_SETTLE_MS = 100
_SETTLE_STREAMS_MS = 1500
_TCP_WAITS = 0.2        # seconds, besides a round trip, at the least


@dataclass(frozen=True)
class RunSpec(Conditions):
    """What makes two runs the same measurement, and which repeat of it this is. Of the conditions, streaming and probes are what
    the pace makes of them; None leaves them to the player."""
    recording: Recording
    library: Library
    mode: str
    transport: str
    repeat: int = 1
    link: Link = links.LINKS["lan"]
    pace: str = "max"
    streaming: str | None = field(default="off", kw_only=True)
    probe_every: int | None = field(default=None, kw_only=True)     # milliseconds
    pause_at: tuple[int, ...] = ()      # commands after which both ends wait and the picture is taken
    keep: Path | None = None            # the folder to keep the capture and the library's trace in
    limit: float = 1800.0               # seconds the whole run may take

    @property
    def mode_name(self) -> str | None:
        """What the library calls the mode; None for one that knows no modes."""
        return None if self.mode == modes.STOCK else modes.base(self.mode).name

    @property
    def socket(self) -> str | None:
        """What the library is to say that its TLS streams are sent by; None: by whatever it likes."""
        return "ktls" if "ktls=on" in self.mode and self.transport == "tls" else None

    @property
    def stream(self) -> str:
        """SPICE_STREAM."""
        return ",".join(filter(None, (modes.stream_value(self.mode), modes.unasked(self.mode, self.pace))))

    @property
    def is_user(self) -> bool:
        """The session goes on only when the client has shown what came before."""
        return self.pace == "user"

    @property
    def settle_ms(self) -> int:
        """In a pause. At the user's pace the client answers at once: that it does is what is timed."""
        return 0 if self.is_user else self._settle_streams_ms

    @property
    def _settle_streams_ms(self) -> int:
        return _SETTLE_MS if self.streaming == "off" else _SETTLE_STREAMS_MS

    @property
    def settle_end_ms(self) -> int:
        """The last shape of the pointer may come on a connection of its own that lost a packet, twice: TCP sends it again after
        200 ms and a round trip, then after twice that."""
        return self._settle_streams_ms + (int(3000 * (_TCP_WAITS + self.link.full_round_trip)) if self.link.may_be_slow else 0)

    @property
    def link_seed(self) -> int:
        """Of the link's losses and jitter: another in each round, in which every mode meets the same."""
        return self.repeat

    @property
    def captured(self) -> bool:
        """tcpdump shares the processors, and costs those more who send more packets. So every other run is for packets, the
        ones between for times; where what is captured is wanted of every run, all are."""
        return self.repeat % 2 == 1 or self.beside_download or self.keep is not None

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
