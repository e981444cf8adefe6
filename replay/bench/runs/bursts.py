# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures at the end of each burst, which a client must show at --pace user before the session continues. They
are found once per recording, with the stock library over a LAN without losses, and kept."""

from __future__ import annotations

from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import groundtruth
from bench.runs.endpoints import Endpoints
from recordings.catalogue import Recording

_VERSION = 2        # increase it if other pictures would be found: cached ones are then discarded


def kept(recording: Recording) -> Path:
    return paths.cache_dir() / "bursts" / f"{recording.sha256}-{_VERSION}"


def look(recording: Recording) -> None:
    """Finds the pictures unless they are cached. Takes as long as the session, with pauses cut to two seconds."""
    def read(both: Endpoints) -> bytes:
        if not both.shown:
            raise BenchError(f"{recording.name} has no pause of 200 ms, which pace user needs: choose pace recorded", 2)
        return "".join(f"{shown['blocks']}\n" for shown in both.shown).encode()
    groundtruth.make(kept(recording), recording, "user", read)
