# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks free disk space before a long command, as tests that run out of it do not say why they fail."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.common.errors import BenchError

GB = 10**9


def require(folder: Path, needed: float, advice: str) -> None:
    """Raises BenchError, with advice, unless the folder's file system has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(f"{folder} has {free / GB:.1f} GB free, and {needed / GB:.0f} are needed: {advice}")
