# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run patches lines: lines added and removed by each series, for reviewers."""

from __future__ import annotations

import argparse
import re
from dataclasses import astuple, dataclass
from pathlib import Path

from bench.common import paths
from bench.source import brings, newfiles, patchfile, upstream

_TESTS = Path("server/tests")


@dataclass(frozen=True)
class Size:
    new: int        # lines of new files, without tests
    hooks: int      # lines added to and removed from upstream's files, without tests
    tests: int      # lines of tests, new and changed


def sizes(name: str) -> dict[Path, Size]:
    """What each patch of a series adds to its size, on the default release."""
    kept, by_patch = newfiles.sources(), brings.by_patch()
    found = {}
    for patch in upstream.series(of=[name]):
        new = hooks = tests = 0
        for entry in by_patch[patch]:
            count = len((paths.ROOT / kept[entry.file]).read_text(encoding="utf-8").splitlines())
            new, tests = (new, tests + count) if entry.file.is_relative_to(_TESTS) else (new + count, tests)
        for part in patchfile.read(patch).diff.split("diff --git a/")[1:]:
            count = len(re.findall(r"^[+-]", part.partition("\n@@ ")[2], re.MULTILINE))
            hooks, tests = (hooks, tests + count) if part.startswith(f"{_TESTS}/") else (hooks + count, tests)
        found[patch] = Size(new, hooks, tests)
    return found


def size(name: str) -> Size:
    """The size of a series on the default release."""
    return Size(*map(sum, zip((0, 0, 0), *map(astuple, sizes(name).values()), strict=True)))


def table() -> str:
    rows = [f"| {name} | {one.new} | {one.hooks} | {one.tests} |" for name in upstream.exported() for one in [size(name)]]
    return "\n".join(["| series | new files | hooks | tests |", "|---|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "upstream's files), tests. Comments and empty lines count.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
