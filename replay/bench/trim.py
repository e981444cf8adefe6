# SPDX-License-Identifier: LGPL-2.1-or-later
"""A part of a recording as one of its own: NAME@FROM-TO, in seconds, is cut once and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from bench import paths, recordings
from bench.errors import BenchError

_WRITTEN = re.compile(r"(.+)@(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")


def split(wanted: str) -> tuple[str, tuple[float, float] | None]:
    """The recording's name or path, and which part of it is meant; a file that is really called so is that."""
    found = _WRITTEN.fullmatch(wanted)
    if not found or Path(wanted).is_file():
        return wanted, None
    begin, end = float(found[2]), float(found[3])
    if begin >= end:
        raise BenchError(f"recording {wanted}: a part begins before it ends", 2)
    return found[1], (begin, end)


def cut(whole: recordings.Recording, part: tuple[float, float]) -> recordings.Recording:
    """What the part depends on is in it, to be played at once."""
    tool, (begin, end) = paths.recording_tool(), part
    made_from = hashlib.sha256(f"{whole.sha256} {recordings.sha256_of(tool)} {begin} {end}".encode()).hexdigest()
    kept = paths.cache_dir() / "recordings" / f"{made_from}.rec"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{made_from}.{os.getpid()}.part")
        try:
            done = subprocess.run([str(tool), "trim", "--from", str(begin), "--to", str(end), "-o", str(unfinished),
                                   str(whole.path)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(f"recording {whole.name}: {done.stderr.strip().split(chr(10))[-1] or 'it cannot be cut'}", 2)
            unfinished.rename(kept)
        finally:
            unfinished.unlink(missing_ok=True)
    return replace(whole, path=kept, sha256=recordings.sha256_of(kept), commands=None, seconds=None, part=None)
