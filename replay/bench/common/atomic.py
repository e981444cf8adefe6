# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that are replaced at once, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.common.errors import BenchError


def require(folder: Path) -> None:
    """Makes the folder; raises BenchError, one line, if no file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BenchError(f"cannot write in {folder}: {error.strerror}") from None


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Something that is no file, such as /dev/stdout, is written to."""
    with replaced(path) as part:
        part.write_bytes(data)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Where to write what becomes the file at the end, unless there is an exception. An OSError becomes a BenchError, one line.
    Something that is no file, such as /dev/stdout, is itself where to write."""
    part = path if path.exists() and not path.is_file() else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        if part != path:
            part.replace(path)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}") from None
    finally:
        if part != path:
            part.unlink(missing_ok=True)
