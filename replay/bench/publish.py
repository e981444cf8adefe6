# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes what people look at: NAME.md, the same as one self-contained NAME.html, NAME.csv, and the plots."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import htmlpage, mail2017, plots, report, results, stats, summary


def add_option(parser: Any) -> None:
    """To a parser or a group of one."""
    parser.add_argument("--plots", action=argparse.BooleanOptionalAction, help="pictures (default: where there are enough "
                        "runs for intervals)")


def _worth_plotting(result: dict[str, Any]) -> bool:
    return bool(result["plan"]["repeats"] >= stats.FEWEST)


def page(result: dict[str, Any], pictures: dict[report.Group, list[str]] | None = None) -> str:
    """All there is to say of a result, in Markdown."""
    compared = mail2017.section(result["runs"])
    return report.markdown(result, pictures) + (f"\n{compared}\n" if compared else "")


def write(result: dict[str, Any], output: Path, name: str, wanted: bool | None = None) -> list[Path]:
    """wanted: whether to draw plots; None draws them where there are enough runs for intervals and matplotlib is there."""
    pictures = None
    if wanted or (wanted is None and _worth_plotting(result)):
        if plots.available():
            pictures = plots.draw(result, output)
        else:
            print("bench: no plots: install the package python3-matplotlib", file=sys.stderr)
    text = page(result, pictures)
    contents = {"md": text, "html": htmlpage.page(text, output), "csv": summary.text(result)}
    written = [output / f"{name}.{ending}" for ending in contents]
    for path, content in zip(written, contents.values(), strict=True):
        results.write_text(path, content)
    return written
