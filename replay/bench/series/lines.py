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
# a named number: #define NAME 64, or an enumerator NAME = 64. A bit (1 << 0) cannot be tuned.
_DEFINE = re.compile(r"^#define [A-Za-z]\w*[ \t]+[^\"\n]*(?<!\w)\d.*$", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^{};]*\{(.*?)\}[^\n]*", re.DOTALL)
_ENUMERATOR = re.compile(r"\b[A-Za-z]\w* = (?!\w*\(?1\)? <<)[^,\n}]*(?<!\w)\d")
# on the line of a number that a protocol or a kernel prescribes
_FACT = "/* fact: "


@dataclass(frozen=True)
class Size:
    new: int        # lines of new files, without tests
    hooks: int      # lines that patches add to or remove from existing files, without tests
    tests: int      # lines of tests, new and added
    constants: int  # named numbers that can be tuned, without tests
    facts: int      # named numbers marked as facts, without tests


def _numbers(text: str) -> tuple[int, int]:
    """The number of named numbers that can be tuned, and that of facts."""
    lines = _DEFINE.findall(text)
    for enum in _ENUM.finditer(text):
        lines += [line for line in enum[0].splitlines() for _ in _ENUMERATOR.findall(re.sub(r"/\*.*?(\*/|$)", "", line))]
    facts = sum(_FACT in line for line in lines)
    return len(lines) - facts, facts


def size(name: str) -> Size:
    """The size of a series on the default release. A hook may be in a file that an earlier series adds."""
    kept = overlay.sources(paths.ROOT)
    new = hooks = tests = constants = facts = 0
    for patch, entries in brings.by_patch().items():
        for entry in entries if patch.parent.name == name else []:
            text = (paths.ROOT / kept[entry.file]).read_text(encoding="utf-8")
            count = len(text.splitlines())
            if entry.file.is_relative_to(_TESTS):
                tests += count
            else:
                new += count
                tuned, given = _numbers(text)
                constants, facts = constants + tuned, facts + given
    for patch in upstream.series(names=[name]):
        for part in re.split(r"^diff --git ", patchfile.read(patch).diff, flags=re.MULTILINE)[1:]:
            count = len(re.findall(r"^[+-](?!\+\+ |-- )", part, flags=re.MULTILINE))
            if part.startswith("a/server/tests/"):
                tests += count
            else:
                hooks += count
                before, after = (_numbers("\n".join(line[1:] for line in part.splitlines() if line[:1] in (sign, " "))) for sign in "-+")
                constants, facts = constants + after[0] - before[0], facts + after[1] - before[1]
    return Size(new, hooks, tests, constants, facts)


def table() -> str:
    rows = [f"| {name} | {one.new} | {one.hooks} | {one.tests} | {one.constants} | {one.facts} |" for name in upstream.bases() if name != upstream.DEVEL
            for one in [size(name)]]
    return "\n".join(["| series | new files | hooks | tests | constants | facts |", "|---|--:|--:|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "existing files), tests. Comments and empty lines count. Constants: numbers with a name, in "
                          "#define and enum; facts: those of protocols and kernels, which /* fact: SOURCE */ on their line marks.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
