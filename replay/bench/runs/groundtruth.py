# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ground truth of a recording over time, and the staleness of a run against it; and the pictures at the end of each burst, which a
client must show at --pace user before the session continues.

The first is found once per recording and kept: the stock library plays the recording much faster than recorded, over a LAN without losses,
with a probe for each moment. A probe says when the drawings behind it are due, so the speed does not matter. The
server is made to keep all probes: dropping covered ones would merge several moments into one.
"""

from __future__ import annotations

import bisect
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.lab import lab, links
from bench.measure import staleness, latency
from bench.runs import libraries, modes
from bench.runs.endpoints import Endpoints
from bench.runs.runspec import RunSpec
from recordings import catalogue
from recordings.catalogue import Recording

_RECORD = struct.Struct("=qII")     # TileRecord of screen/tiles.h
_FAST = 10                          # speed, relative to the recorded pace
# increased if something else would be found: what is cached is then discarded
_VERSION, _BURSTS_VERSION = 5, 2


def wanted(spec: RunSpec) -> bool:
    """Whether a run's screen is logged: if it has recorded times, and the screen shows only the recording."""
    return bool(spec.pace != "max" and spec.probe_every and not spec.pause_at and not spec.show_surfaces)


def kept(recording: Recording) -> Path:
    return paths.cache_dir() / "seen" / f"{recording.sha256}-{_VERSION}"


def _due(log: Path, sent: list[latency.Stamp], received: list[latency.Stamp], begun: int, ended: int) -> bytes:
    """The log with times of the recording in place of those of the probes."""
    probes = latency.match(sent, received)
    if probes is None:
        raise BenchError("the probes of a fast run do not match: run it again")
    arrived = [(probe.received, probe.due) for probe in probes if probe.received is not None]
    # what is seen at a probe was drawn after the previous probe; what is seen at the end, after the last one
    seen = [*(when for when, _ in arrived), ended]
    due = [max(before - begun, 0) * _FAST for before in (arrived[0][1], *(due for _, due in arrived))]
    with log.open("rb") as file:
        return b"".join(_RECORD.pack(due[bisect.bisect_left(seen, when)], tile, means) for when, tile, means in _RECORD.iter_unpack(file.read()))


def make(file: Path, recording: Recording, pace: str, read: Callable[[Endpoints], bytes], probe_every: int | None = None) -> None:
    """Unless the file exists, writes to it what `read` finds when the stock library has played the recording over a LAN without losses.
    Not the patched library, which is what is measured. If the manifest knows the last picture, that must have been shown."""
    if file.exists():
        return
    spec = RunSpec(recording, libraries.find(libraries.STOCK), modes.STOCK, "plain", pace=pace, probe_every=probe_every, jpeg="never")
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as name, lab.connect(links.LINKS["lan"]) as where:
        found = Path(name) / "found"
        with Endpoints(spec, where, Path(name), None, catalogue.unpacked(recording), at_probes=True if probe_every else None) as both:
            both.play(None)
            _check(both, recording, pace)
            found.write_bytes(read(both))
        found.replace(file)


def _check(both: Endpoints, recording: Recording, pace: str) -> None:
    """Raises BenchError unless all was played, to the right picture."""
    if both.status(both.player) != 0 or both.status(both.client) != 0:
        complaint = both.player.last_complaint() or (both.client.last_complaint() if both.client else "")
        raise BenchError(f"{recording.name} cannot be played at pace {pace} to see what it shows: {complaint}")
    shown, known = both.done["client"]["sha256"], recording.picture_sha256
    if known and shown != known:
        raise BenchError(f"{recording.name} at pace {pace}: stock's last picture is {str(shown)[:12]}, the manifest's {known[:12]}")


def look(recording: Recording) -> None:
    """Finds the ground truth unless it is cached."""
    def read(both: Endpoints) -> bytes:
        player, client = both.done["player"], both.done["client"]
        return _due(both.screen, player["probes"], client["probes"], player["begun_ns"], client["end_ns"])
    make(kept(recording), recording, str(_FAST), read, probe_every=1)


def kept_bursts(recording: Recording) -> Path:
    return paths.cache_dir() / "bursts" / f"{recording.sha256}-{_BURSTS_VERSION}"


def look_at_bursts(recording: Recording) -> None:
    """Finds their pictures unless they are cached. Takes as long as the session, with pauses cut to two seconds."""
    def read(both: Endpoints) -> bytes:
        if not both.shown:
            raise BenchError(f"{recording.name} has no pause of 200 ms, which pace user needs: choose pace recorded", 2)
        return "".join(f"{shown['blocks']}\n" for shown in both.shown).encode()
    make(kept_bursts(recording), recording, "user", read)


def report(spec: RunSpec, screen: Path, player: dict[str, Any] | None, client: dict[str, Any] | None,
           counters: dict[str, Any] | None) -> dict[str, Any] | None:
    """The entry of a run's record; None if it cannot be known, or there was nothing to see."""
    due = kept(spec.recording)
    started, ended = (player or {}).get("begun_ns"), (client or {}).get("end_ns")
    if not isinstance(started, int) or not isinstance(ended, int) or not screen.exists() or not due.exists():
        return None
    pace = 1.0 if spec.pace == "recorded" else float(spec.pace)
    from bench.measure import screens       # only here: --help of ./run compare works without numpy
    wanted = screens.read(due)
    wanted["when"] = started + (wanted["when"] / pace).astype("i8")
    stretches = screens.stretches(wanted, screens.read(screen), ended + spec.settle_end_ms * 10**6)
    begun = (counters or {}).get("begun_ns")
    changes = [] if begun is None else [begun + round(change.at * 1e9) for change in spec.link.changes]
    return staleness.report(stretches, changes) if stretches else None
