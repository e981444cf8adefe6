# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes NAME.md and NAME.csv of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.report import csvfile, report
from bench.runs import results


def write(result: dict[str, Any], output: Path, name: str) -> list[Path]:
    contents = {"md": report.markdown(result), "csv": csvfile.text(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        results.write_text(path, content)
    return written
