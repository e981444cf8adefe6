# SPDX-License-Identifier: LGPL-2.1-or-later
"""Room on a disk, asked for before hundreds of tests fail for the want of it and none says why."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.common.errors import BenchError

GB = 10**9


def require(folder: Path, needed: float, advice: str) -> None:
    """Raises BenchError, with the advice of what to do, unless the folder's file system has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(f"{folder} has {free / GB:.1f} GB free, and {needed / GB:.0f} are needed: {advice}")
