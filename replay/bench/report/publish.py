# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes NAME.md, unless no page is wanted, and NAME.csv of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.common import atomic
from bench.report import csvfile, report


def write(result: dict[str, Any], output: Path, name: str, page: bool = True) -> list[Path]:
    contents = {**({"md": report.markdown(result)} if page else {}), "csv": csvfile.text(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        atomic.write_text(path, content)
    return written
