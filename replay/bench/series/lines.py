# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run patches lines: lines added and removed by each series, for reviewers."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from dataclasses import astuple, dataclass
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
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(,0)?")


@dataclass(frozen=True)
class Size:
    new: int        # lines of new files, without tests, as the last patch of the series leaves them
    hooks: int      # lines that patches add to or remove from files of others, without tests
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


def _changed(diff: str, ours: list[bool], brought: bool) -> int:
    """The number of lines that the diff of one file adds or removes. A line of the series itself counts no longer when it is
    removed. `ours` says of each line whether it is one, and is brought up to date; in a file that the series brought all are."""
    count = at = 0
    for line in diff[diff.index("\n@@ ") + 1:].splitlines():
        if hunk := _HUNK.match(line):
            at = int(hunk[1]) - (0 if hunk[2] else 1)
        ours.extend([brought] * (at + 1 - len(ours)))
        if line[0] == "-":
            count += -1 if ours.pop(at) else 1
        elif line[0] in "+ ":
            if line[0] == "+":
                ours.insert(at, True)
                count += 1
            at += 1
    return count


def sizes(name: str) -> dict[Path, Size]:
    """What each patch of a series adds to its size, on the default release. A hook may be in a file that an earlier series adds."""
    kept, by_patch = overlay.sources(paths.ROOT), brings.by_patch()
    brought: set[str] = set()
    ours: dict[str, list[bool]] = defaultdict(list)
    found = {}
    for patch in upstream.series(names=[name]):
        new = hooks = tests = constants = facts = 0
        for entry in by_patch.get(patch, []):
            text = (paths.ROOT / kept[entry.file]).read_text(encoding="utf-8")
            brought.add(str(entry.file))
            if entry.file.is_relative_to(_TESTS):
                tests += len(text.splitlines())
            else:
                new += len(text.splitlines())
                tuned, given = _numbers(text)
                constants, facts = constants + tuned, facts + given
        for part in re.split(r"^diff --git a/", patchfile.read(patch).diff, flags=re.MULTILINE)[1:]:
            file = part.split(" ", 1)[0]
            count = _changed(part, ours[file], file in brought)
            if file.startswith(f"{_TESTS}/"):
                tests += count
                continue
            new, hooks = (new + count, hooks) if file in brought else (new, hooks + count)
            before, after = (_numbers("\n".join(line[1:] for line in part.splitlines() if line[:1] in (sign, " "))) for sign in "-+")
            constants, facts = constants + after[0] - before[0], facts + after[1] - before[1]
        found[patch] = Size(new, hooks, tests, constants, facts)
    return found


def size(name: str) -> Size:
    """The size of a series on the default release."""
    return Size(*map(sum, zip(*map(astuple, sizes(name).values()), strict=True)))


def table() -> str:
    rows = [f"| {name} | {one.new} | {one.hooks} | {one.tests} | {one.constants} | {one.facts} |" for name in upstream.bases() if name != upstream.DEVEL
            for one in [size(name)]]
    return "\n".join(["| series | new files | hooks | tests | constants | facts |", "|---|--:|--:|--:|--:|--:|", *rows]) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Counts the lines of each series: new files without tests, hooks (lines added to and removed from "
                          "files of others), tests. A line that the series removes again does not count. Comments and empty lines count. Constants: numbers with a name, in "
                          "#define and enum; facts: those of protocols and kernels, which /* fact: SOURCE */ on their line marks.")


def execute(_: argparse.Namespace) -> int:
    print(table(), end="")
    return 0
