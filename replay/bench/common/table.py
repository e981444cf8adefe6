# SPDX-License-Identifier: LGPL-2.1-or-later
"""Markdown tables and number formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

UNKNOWN = "–"
_Row = TypeVar("_Row")


def count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{round(value):,}".replace(",", " ")


def megabytes(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / 1e6:.2f} MB"


def megabits(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / 1e6:.2f}"


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value * 100:.1f} %"


def seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def factor(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def short(value: float) -> str:
    """A number with at least three digits."""
    return count(value) if abs(value) >= 1000 else f"{value:.3g}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, padded: bool = True) -> str:
    """A table whose columns are aligned in plain text too, if they are padded; the first `left` columns are left-aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) if padded else 1 for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) if i < left else cell.rjust(width)
                                 for i, (cell, width) in enumerate(zip(cells, widths, strict=True))) + " |"

    ruler = "|" + "|".join("-" * (width + 2) if i < left else "-" * (width + 1) + ":"
                           for i, width in enumerate(widths)) + "|"
    return "\n".join((line(head), ruler, *(line(row) for row in rows)))


def of(rows: Iterable[_Row], columns: Sequence[tuple[str, Callable[[_Row], str]]], left: int = 1, padded: bool = True) -> str:
    """A table with a row for each of these; a column is its head and what stands in a row."""
    return markdown([head for head, _ in columns], [[written(row) for _, written in columns] for row in rows], left, padded)
