# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that may be compressed with xz or gzip. Reading looks at the first bytes, writing at the file name."""

from __future__ import annotations

import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO

DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)       # exceptions when reading a damaged compressed file


def opened(path: Path) -> IO[bytes]:
    """Opens a file for reading its uncompressed bytes."""
    with path.open("rb") as file:
        magic = file.read(6)
    if magic == b"\xfd7zXZ\0":
        return lzma.open(path)
    if magic[:2] == b"\x1f\x8b":
        return gzip.open(path)      # type: ignore[return-value]
    return path.open("rb")


def is_packed(opened: IO[bytes]) -> bool:
    return isinstance(opened, (lzma.LZMAFile, gzip.GzipFile))


def begun(path: Path, name: str) -> IO[bytes]:
    """Opens a new file for writing, compressed as its name says."""
    if name.endswith(".xz"):
        return lzma.open(path, "wb")
    if name.endswith(".gz"):
        return gzip.open(path, "wb")        # type: ignore[return-value]
    return path.open("wb")
