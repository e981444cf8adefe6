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

from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.source import brings, patchfile, upstream

SERIES = "fixes"
CLASSES = ("security", "correctness", "performance", "build", "tests")
SEVERITIES = ("critical", "high", "medium", "low")
_BEGIN, _END = "<!-- fixes: made by ./run refresh of the patches' messages -->\n", "<!-- end -->"


def row(file: Path) -> list[str]:
    """What a patch's message says, for the table; BenchError names what is missing."""
    patch = patchfile.read(file)
    said = {key: " ".join(text.split()) for key, text in brings.NOTED.findall(patch.body)}
    for key in ("Fixes-class", "Severity", "Releases", "Upstream"):
        if key not in said:
            raise BenchError(f"{SERIES}/{file.name}: its message has no line '{key}:' (replay/bench/series/faults.py says which)")
    group, _, what = said["Fixes-class"].partition(", ")
    if group not in CLASSES or not what:
        raise BenchError(f"{SERIES}/{file.name}: 'Fixes-class: {said['Fixes-class']}' is not one of {', '.join(CLASSES)}, and what")
    severity = said["Severity"]
    if severity not in SEVERITIES:
        raise BenchError(f"{SERIES}/{file.name}: 'Severity: {severity}' is not one of {', '.join(SEVERITIES)}")
    tests = ", ".join(entry.file.stem for entry in brings.said(patch.body) if entry.is_test)
    return [file.name[:4], patch.subject, f"{group}: {what}", said.get("Trigger", "nobody"),
            f"**{severity}**" if severity in SEVERITIES[:2] else severity, said["Releases"], said["Upstream"], tests or "see its message"]


def order(cells: list[str]) -> tuple[int, int, str]:
    """The most urgent first."""
    return CLASSES.index(cells[2].split(":")[0]), SEVERITIES.index(cells[4].strip("*")), cells[0]


def rows() -> str:
    """The table."""
    heads = ["patch", "what it changes", "class", "who can trigger it", "severity", "releases", "upstream", "test"]
    lines = [heads, ["---"] * len(heads), *sorted(map(row, upstream.series(of=[SERIES])), key=order)]
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
