# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures at the end of each burst, which a client must show at --pace user before the session continues. They
are found once per recording, over a LAN without losses, and kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.lab import lab, links
from bench.runs import libraries
from bench.runs.endpoints import Endpoints
from bench.runs.runspec import RunSpec
from recorder import recordings
from recorder.recordings import Recording

_VERSION = 1        # increase it if other pictures would be found: cached ones are then discarded


def kept(recording: Recording) -> Path:
    return paths.cache_dir() / "bursts" / f"{recording.sha256}-{_VERSION}"


def look(recording: Recording) -> None:
    """Finds the pictures unless they are cached. Takes as long as the session, with pauses cut to two seconds."""
    file = kept(recording)
    if file.exists():
        return
    spec = RunSpec(recording, libraries.find("patched"), "normal", "plain", pace="user", jpeg="never")
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as name, lab.connect(links.LINKS["lan"]) as where:
        folder = Path(name)
        with Endpoints(spec, where, folder, None, recordings.unpacked(recording)) as both:
            both.play(None)
            complaint = both.player.last_complaint() or (both.client.last_complaint() if both.client else "")
            if both.status(both.player) != 0 or both.status(both.client) != 0:
                raise BenchError(f"{recording.name} cannot be played at pace user: {complaint}")
        if not both.shown:
            raise BenchError(f"{recording.name} has no pause of 200 ms, which pace user needs: choose pace recorded", 2)
        (folder / "found").write_text("".join(f"{shown['blocks']}\n" for shown in both.shown))
        (folder / "found").replace(file)
