# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes patches/FAULTS.md from lines in the messages of the patches of fixes:

    Fixes-class: security, use-after-free
    Trigger: client, with its ticket; it may go on
     in lines that begin with a space.
    Severity: high
    Releases: all
    Upstream: not reported

The class is security, correctness, performance, build or tests, and after a comma the searchable name of the bug. A
patch without an attacker has no Trigger.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, patchfile, upstream
from bench.common import paths
from bench.common.errors import BenchError

SERIES = "fixes"
CLASSES = ("security", "correctness", "performance", "build", "tests")
SEVERITIES = ("critical", "high", "medium", "low")
_BEGIN, _END = "<!-- fixes: made by ./run refresh of the patches' messages -->\n", "<!-- end -->"


@dataclass(frozen=True)
class Fix:
    patch: Path
    subject: str
    group: str          # one of CLASSES
    what: str
    trigger: str
    severity: str       # one of SEVERITIES
    releases: str
    upstream: str
    tests: str

    @property
    def order(self) -> tuple[int, int, str]:
        return CLASSES.index(self.group), SEVERITIES.index(self.severity), self.patch.name

    @property
    def row(self) -> list[str]:
        loud = f"**{self.severity}**" if SEVERITIES.index(self.severity) < 2 else self.severity
        return [self.patch.name[:4], self.subject, f"{self.group}: {self.what}", self.trigger, loud, self.releases,
                self.upstream, self.tests]


def read(file: Path) -> Fix:
    """The facts in a patch's message; BenchError names the missing one."""
    patch = patchfile.read(file)
    said = {key: " ".join(text.split()) for key, text in brings.NOTED.findall(patch.body)}
    for key in ("Fixes-class", "Severity", "Releases", "Upstream"):
        if key not in said:
            raise BenchError(f"{SERIES}/{file.name}: its message has no line '{key}:' (replay/bench/series/faults.py says which)")
    group, _, what = said["Fixes-class"].partition(", ")
    if group not in CLASSES or not what:
        raise BenchError(f"{SERIES}/{file.name}: 'Fixes-class: {said['Fixes-class']}' is not one of {', '.join(CLASSES)}, and what")
    if said["Severity"] not in SEVERITIES:
        raise BenchError(f"{SERIES}/{file.name}: 'Severity: {said['Severity']}' is not one of {', '.join(SEVERITIES)}")
    tests = [entry.file.stem for entry in brings.said(patch.body) if entry.is_test]
    return Fix(file, patch.subject, group, what, said.get("Trigger", "nobody"), said["Severity"], said["Releases"],
               said["Upstream"], ", ".join(tests) or "see its message")


def fixes() -> list[Fix]:
    """All fixes, the most urgent first."""
    return sorted((read(file) for file in upstream.series(of=[SERIES])), key=lambda fix: fix.order)


def rows() -> str:
    """The rows of the table."""
    heads = ["patch", "what it changes", "class", "who can trigger it", "severity", "releases", "upstream", "test"]
    lines = [heads, ["---"] * len(heads), *(fix.row for fix in fixes())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)      # not aligned, so that a patch changes one line


def page(text: str) -> str:
    """FAULTS.md with the current table."""
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise BenchError(f"patches/FAULTS.md has no place for the table: put a line {_BEGIN.strip()} before it, and {_END} behind it")
    return f"{head}{begin}\n{rows()}\n{end}{tail}"


def sync() -> bool:
    """Writes FAULTS.md; returns whether it was out of date."""
    file = paths.ROOT / "patches/FAULTS.md"
    before = file.read_text(encoding="utf-8")
    after = page(before)
    if after != before:
        file.write_text(after, encoding="utf-8")
    return after != before
