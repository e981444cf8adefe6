# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that are replaced at once, or not at all."""

from __future__ import annotations

import os
import tempfile
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
    """Raises BenchError, one line. Something that is no file, such as /dev/stdout, is written to."""
    if path.exists() and not path.is_file():
        try:
            path.write_bytes(data)
        except OSError as error:
            raise BenchError(f"cannot write {path}: {error.strerror}") from None
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
