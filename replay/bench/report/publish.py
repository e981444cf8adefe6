# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes what people look at: NAME.md, NAME.csv, and the plots."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report import csvfile, plots, report
from bench.runs import results


def add_option(parser: Any) -> None:
    """To a parser or a group of one."""
    parser.add_argument("--plots", action=argparse.BooleanOptionalAction, help="plots as SVG (default: yes)")


def write(result: dict[str, Any], output: Path, name: str, wanted: bool | None = None, only: Sequence[str] = ("*",)) -> list[Path]:
    """wanted: whether to draw plots; None draws them if matplotlib is there. only: of which recording/link/pace."""
    pictures = None
    if wanted is not False:
        if plots.available():
            pictures = plots.draw(result, output, only)
        else:
            print("bench: no plots: install the package python3-matplotlib", file=sys.stderr)
    text = report.markdown(result, pictures)
    contents = {"md": text, "csv": csvfile.text(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        results.write_text(path, content)
    return written
