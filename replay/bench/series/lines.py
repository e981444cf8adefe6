# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run patches lines: lines added and removed by each series, for reviewers."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from dataclasses import astuple, dataclass
from pathlib import Path

from bench.build import brings, newfiles, patchfile, upstream
from bench.common import paths

_TESTS = Path("server/tests")
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(,0)?")


@dataclass(frozen=True)
class Size:
    new: int        # lines of new files, without tests
    hooks: int      # lines that patches add to or remove from upstream's files, without tests
    tests: int      # lines of tests, new and changed


def _changed(diff: str, ours: list[bool]) -> int:
    """The number of lines that the diff of one file adds or removes. A line of the series itself counts no longer when it is
    removed. `ours` says of each line whether it is one, and is brought up to date."""
    count = at = 0
    for line in diff[diff.index("\n@@ ") + 1:].splitlines():
        if hunk := _HUNK.match(line):
            at = int(hunk[1]) - (0 if hunk[2] else 1)
        ours.extend([False] * (at + 1 - len(ours)))
        if line[0] == "-":
            count += -1 if ours.pop(at) else 1
        elif line[0] in "+ ":
            if line[0] == "+":
                ours.insert(at, True)
                count += 1
            at += 1
    return count


def sizes(name: str) -> dict[Path, Size]:
    """What each patch of a series adds to its size, on the default release."""
    kept, by_patch = newfiles.sources(), brings.by_patch()
    ours: dict[str, list[bool]] = defaultdict(list)
    found = {}
    for patch in upstream.series(of=[name]):
        counts = [(entry.file, len((paths.ROOT / kept[entry.file]).read_text(encoding="utf-8").splitlines()), 0)
                  for entry in by_patch[patch]]
        for part in re.split(r"^diff --git a/", patchfile.read(patch).diff, flags=re.MULTILINE)[1:]:
            file = part.split(" ", 1)[0]
            counts.append((Path(file), 0, _changed(part, ours[file])))
        code = [count for count in counts if not count[0].is_relative_to(_TESTS)]
        tests = sum(new + changed for _, new, changed in counts) - sum(new + changed for _, new, changed in code)
        found[patch] = Size(sum(new for _, new, _ in code), sum(changed for _, _, changed in code), tests)
    return found


def size(name: str) -> Size:
    """The size of a series on the default release."""
    return Size(*map(sum, zip((0, 0, 0), *map(astuple, sizes(name).values()), strict=True)))


def table() -> str:
    rows = [f"| {name} | {one.new} | {one.hooks} | {one.tests} |" for name in upstream.exported() for one in [size(name)]]
    return "\n".join(["| series | new files | hooks | tests |", "|---|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "upstream's files), tests. A line that the series removes again does not count. Comments and empty "
                          "lines count.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
