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
from bench.runs.store import Case
from recordings.catalogue import Recording

TRANSPORTS = ("plain", "tls")
# How long the client waits, at a marker, for a picture that no longer changes, and with it for what other channels still
# bring. A video stream ends a second after its last frame, then its area comes once more without loss.
_SETTLE_MS = 100
_SETTLE_STREAMS_MS = 1500
_TCP_WAITS = 0.2        # seconds, besides a round trip, at the least
_LONGEST_WAIT_MS = 10_000       # pings of an idle channel and reminders of the marker come, too, and the wait is for silence


@dataclass(frozen=True)
class RunSpec(Conditions):
    """The settings that make two runs the same measurement, and the number of the repeat. None leaves a condition to the player;
    streaming and probes depend on the pace."""
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
    keep: Path | None = None            # folder for the capture and the library's trace
    limit: float = 1800.0               # seconds that the run may take longer than expected

    @property
    def mode_name(self) -> str | None:
        """The library's name of the mode; None for a library without modes."""
        return None if self.mode == modes.STOCK else modes.base(self.mode).name

    @property
    def socket(self) -> str | None:
        """The transport that the library must report for TLS streams; None: any."""
        return "ktls" if "ktls=on" in self.mode and self.transport == "tls" else None

    @property
    def stream(self) -> str:
        """The value of SPICE_STREAM."""
        return ",".join(filter(None, (modes.stream_value(self.mode), modes.unasked(self.mode, self.pace))))

    @property
    def is_user(self) -> bool:
        """Closed loop: the session continues only when the client has shown what came before."""
        return self.pace == "user"

    @property
    def settle_ms(self) -> int:
        """Wait at a pause. At the user's pace the client answers at once, as its answer is timed."""
        return 0 if self.is_user else self._settle_streams_ms

    @property
    def _settle_streams_ms(self) -> int:
        return _SETTLE_MS if self.streaming == "off" else _SETTLE_STREAMS_MS

    @property
    def settle_end_ms(self) -> int:
        """The last shape of the pointer may come on a connection of its own that lost a packet, twice: TCP sends it again after
        200 ms and a round trip, then after twice that."""
        again = int(3000 * (_TCP_WAITS + self.link.full_round_trip)) if self.link.emulated else 0
        return min(self._settle_streams_ms + again, _LONGEST_WAIT_MS)

    @property
    def link_seed(self) -> int:
        """Seed of the link's losses and jitter; differs per round, and is the same for every mode of a round."""
        return self.repeat

    @property
    def captured(self) -> bool:
        """Whether the run is captured. tcpdump needs CPU in proportion to the packets, so every other run is for packets, the
        others for times; if captures are kept, all are captured."""
        return self.repeat % 2 == 1 or self.beside_download or self.keep is not None

    @property
    def row(self) -> str:
        """The row's name in tables."""
        return modes.row(self.library.name, self.mode)

    @property
    def case(self) -> Case:
        return Case((self.recording.name,), self.row, self.link.name, (("pace", self.pace), ("transport", self.transport)), self.repeat)

    def __str__(self) -> str:
        return f"{self.case.row} {f'run {self.repeat}' if self.repeat else 'warm-up'}"
