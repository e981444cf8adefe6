# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines in a patch's message that name the new files it adds, relative to server/:

    Brings: red-stream-bio.cpp red-stream-bio.h
    Brings-to-Unix: tests/test-disconnect.cpp
    Changelog: A line for users; it may go on
     in lines that begin with a space.

A header in tests/ comes with the first test that includes it, if no line names it. The lines in NOTED are for patches/FAULTS.md, see
faults.py.

Trees and mails have each file in the commit that brings it. The build of this repository has all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.source import newfiles, patchfile, upstream

_CHANGE = re.compile(r"^Changelog: (.+(?:\n .+)*)$", re.MULTILINE)
NOTED = re.compile(r"^(Fixes-class|Trigger|Severity|Releases|Upstream): (.+(?:\n .+)*)$", re.MULTILINE)
_LINE = re.compile(r"^Brings(-to-Unix)?: (.+)$", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "([\w.-]+\.h)"', re.MULTILINE)
_PROGRAM = re.compile(r"(test|fuzz)-[\w-]+$")
_TESTS = Path("server/tests")


@dataclass(frozen=True, order=True)
class New:
    file: Path          # relative to the root of upstream's tree
    unix: bool = False  # a test that is not for Windows

    @property
    def is_test(self) -> bool:
        """Whether the build systems call it a test. A fuzzer is one by name."""
        return self.file.parent == _TESTS and self.file.suffix == ".cpp" and bool(_PROGRAM.match(self.file.stem))

    @property
    def is_source(self) -> bool:
        return self.file.parent == Path("server") and self.file.suffix != ".txt"


def said(body: str) -> list[New]:
    """The new files that a message names."""
    return [New(Path("server", name), bool(found[1])) for found in _LINE.finditer(body) for name in found[2].split()]


def without(body: str) -> str:
    """The message without these lines."""
    return re.sub(r"\n{3,}", "\n\n", NOTED.sub("", _CHANGE.sub("", _LINE.sub("", body)))).strip("\n")


def corrected(body: str, new: Collection[Path]) -> str:
    """The message with lines that name these files and no others. A header of tests needs none."""
    def line(found: re.Match[str]) -> str:
        names = " ".join(name for name in found[2].split() if Path("server", name) in new)
        return f"Brings{found[1] or ''}: {names}" if names else "\0"

    text = _LINE.sub(line, f"\n{body}").replace("\n\0", "").strip("\n")
    missing = "\n".join(f"Brings: {file.relative_to('server')}" for file in new if file not in {entry.file for entry in named(text, ())})
    return f"{text}{chr(10) * (1 if said(text) else 2)}{missing}" if missing else text


def changes(body: str) -> list[str]:
    """The lines of a message for users, for CHANGELOG.md of upstream's releases."""
    return [" ".join(found.split()) for found in _CHANGE.findall(body)]


def named(body: str, there: Iterable[Path]) -> list[New]:
    """The new files that a message names, and the headers that its tests include, directly or through others, and that are not
    there yet."""
    found = said(body)
    known = {*there, *(entry.file for entry in found)}
    kept = newfiles.sources()
    for entry in found:         # which grows
        if entry.file.parent == _TESTS and entry.file in kept and entry.file.suffix in (".cpp", ".h"):
            for name in _INCLUDE.findall((paths.ROOT / kept[entry.file]).read_text(encoding="utf-8")):
                if (header := _TESTS / name) in kept and header not in known:
                    known.add(header)
                    found.append(New(header))
    return found


def files(patch: Path, there: Iterable[Path]) -> list[New]:
    """The new files of a patch. Headers that a benchmark of devel includes come with a test of a series that is exported."""
    body = patchfile.read(patch).body
    return said(body) if patch.parent.name == upstream.DEVEL else named(body, there)


def by_patch() -> dict[Path, list[New]]:
    """For each patch of the default release: its new files."""
    there: set[Path] = set()
    found = {}
    for patch in upstream.series():
        found[patch] = files(patch, there)
        there |= {entry.file for entry in found[patch]}
    return found
