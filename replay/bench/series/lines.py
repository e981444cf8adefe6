# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run patches lines: lines added and removed by each series, for reviewers."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, overlay, patchfile, upstream
from bench.common import paths

_TESTS = Path("server/tests")
# a named constant: in a new file, and in a hunk (after the sign)
_CONSTANT = re.compile(r"^#define [A-Za-z]\w*[A-Za-z0-9][ \t]+[^\"\n]*\d", re.MULTILINE)
_HUNK_CONSTANT = re.compile(r"^([+-])#define [A-Za-z]\w*[A-Za-z0-9][ \t]+[^\"\n]*\d", re.MULTILINE)


@dataclass(frozen=True)
class Size:
    new: int        # lines of new files, without tests
    hooks: int      # lines that patches add to or remove from existing files, without tests
    tests: int      # lines of tests, new and added
    constants: int  # named constants (#define), without tests


def size(name: str) -> Size:
    """The size of a series on the default release. A hook may be in a file that an earlier series adds."""
    kept = overlay.sources(paths.ROOT)
    new = hooks = tests = constants = 0
    for patch, entries in brings.by_patch().items():
        for entry in entries if patch.parent.name == name else []:
            text = (paths.ROOT / kept[entry.file]).read_text(encoding="utf-8")
            count = len(text.splitlines())
            if entry.file.is_relative_to(_TESTS):
                tests += count
            else:
                new += count
                constants += len(_CONSTANT.findall(text))
    for patch in upstream.series(names=[name]):
        for part in re.split(r"^diff --git ", patchfile.read(patch).diff, flags=re.MULTILINE)[1:]:
            count = len(re.findall(r"^[+-](?!\+\+ |-- )", part, flags=re.MULTILINE))
            if part.startswith("a/server/tests/"):
                tests += count
            else:
                hooks += count
                constants += sum(1 if sign == "+" else -1 for sign in _HUNK_CONSTANT.findall(part))
    return Size(new, hooks, tests, constants)


def table() -> str:
    rows = [f"| {name} | {one.new} | {one.hooks} | {one.tests} | {one.constants} |" for name in upstream.bases() if name != upstream.DEVEL
            for one in [size(name)]]
    return "\n".join(["| series | new files | hooks | tests | constants |", "|---|--:|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "existing files), tests. Comments and empty lines count. Constants: numbers with a name.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
