# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures two libraries with interleaved runs, and returns a result document for each."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from bench.commands import compare, request
from bench.common.errors import BenchError
from bench.runs import libraries, modes, revisions

Result = dict[str, Any]


def _library(name: str) -> str:
    """As --library wants it."""
    if name.startswith(revisions.PREFIX):
        return str(revisions.library(name.removeprefix(revisions.PREFIX)))
    return name


def split(result: Result, before: libraries.Library, after: libraries.Library) -> tuple[Result, Result]:
    """Two results whose rows meet: each library's runs under the names of the modes. An unpatched library has one row,
    which stands against every mode of a patched one."""
    shown = {run["mode"] for run in result["runs"]}

    def part(library: libraries.Library, other: libraries.Library) -> Result:
        runs = [run for run in result["runs"] if run["library"] == library.name]
        names = sorted(shown - {modes.STOCK}) if other.patched and not library.patched else None
        return {**result, "runs": [{**run, "library": libraries.PATCHED, "mode": name}
                                   for run in runs for name in names or [run["mode"]]]}
    return part(before, after), part(after, before)


def measure(args: argparse.Namespace) -> tuple[Result, Result]:
    names = [name if name.startswith(revisions.PREFIX) else _checked(name) for name in (args.before, args.after)]
    asked = compare.prepare(request.read(args))
    names = [_library(name) for name in names]
    before, after = (libraries.find(name) for name in names)
    if before.name == after.name:
        raise BenchError("that is one library, not two", 2)
    asked = replace(asked, libraries=names, modes_named=False)
    result = compare.measure(asked, request.cells(asked), args.output / "diff.json")
    return split(result, before, after)


def _checked(name: str) -> str:
    """What can be said before anything is built."""
    if name not in (libraries.STOCK, libraries.PATCHED):
        libraries.find(name)
    return name
