# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the libspice-server.so.1 of a library's name."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import revisions

STOCK = "stock"
PATCHED = "patched"


@dataclass(frozen=True)
class Library:
    name: str           # stock, patched, git:COMMIT, or the directory as the user wrote it
    directory: Path
    patched: bool       # whether it knows SPICE_STREAM

    @property
    def file(self) -> Path:
        return (self.directory / paths.LIBRARY_FILE).resolve()


def _knows_modes(file: Path) -> bool:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"SPICE_STREAM\0") >= 0


def find(name: str) -> Library:
    """stock and patched are the two builds in the tree, git:REVISION is built first; anything else is a directory holding a
    libspice-server.so.1."""
    if name == STOCK:
        directory = paths.stock_library()
    elif name == PATCHED:
        directory = paths.patched_library()
    elif name.startswith(revisions.PREFIX):
        commit, directory = revisions.library(name.removeprefix(revisions.PREFIX))
        name = f"{revisions.PREFIX}{commit[:12]}"
    else:
        directory = Path(name)
        if not directory.is_dir():
            raise BenchError(f"library {name}: no such directory (give one, or stock, or patched)", 2)
    file = directory / paths.LIBRARY_FILE
    if not file.is_file():
        raise BenchError(f"library {name}: no {paths.LIBRARY_FILE} in {directory}", 2)
    try:
        return Library(name, directory.resolve(), _knows_modes(file))
    except (OSError, ValueError) as error:
        raise BenchError(f"library {file}: {error}", 2) from None
