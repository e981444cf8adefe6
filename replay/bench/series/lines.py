# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run patches lines: lines added and removed by each series, for reviewers."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from bench.common import paths
from bench.source import brings, newfiles, patchfile, upstream

_TESTS = Path("server/tests")


def sizes(name: str) -> dict[Path, Counter[str]]:
    """What each patch of a series adds to its size, on the default release: lines of `new` files without tests, of `hooks` (added to and
    removed from upstream's files), of `tests`, new and changed."""
    kept, by_patch = newfiles.sources(), brings.by_patch()
    found = {}
    for patch in upstream.series(of=[name]):
        size = found[patch] = Counter[str]()
        for entry in by_patch[patch]:
            size["tests" if entry.file.is_relative_to(_TESTS) else "new"] += len(
                (paths.ROOT / kept[entry.file]).read_text(encoding="utf-8").splitlines())
        for part in patchfile.read(patch).diff.split("diff --git a/")[1:]:
            size["tests" if part.startswith(f"{_TESTS}/") else "hooks"] += len(
                re.findall(r"^[+-]", part.partition("\n@@ ")[2], re.MULTILINE))
    return found


def table() -> str:
    rows = [f"| {name} | {size['new']} | {size['hooks']} | {size['tests']} |" for name in upstream.exported()
            for size in [sum(sizes(name).values(), Counter())]]
    return "\n".join(["| series | new files | hooks | tests |", "|---|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "upstream's files), tests. Comments and empty lines count.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
