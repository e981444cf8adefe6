# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes NAME.md, NAME.csv and the plots of a result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.report import csvfile, plots, report
from bench.runs import results


def write(result: dict[str, Any], output: Path, name: str, with_plots: bool = False) -> list[Path]:
    """Writes all of them; plots only if matplotlib is installed."""
    pictures = None
    if with_plots and plots.available():
        pictures = plots.draw(result, output)
    elif with_plots:
        print("bench: no plots: install the package python3-matplotlib", file=sys.stderr)
    contents = {"md": report.markdown(result, pictures), "csv": csvfile.text(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        results.write_text(path, content)
    return written
