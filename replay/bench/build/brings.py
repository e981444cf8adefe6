# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines in a patch's message that name the new files it adds, relative to server/:

    Brings: red-stream-bio.cpp red-stream-bio.h (before red-stream-buffer.cpp)
    Brings-to-Unix: tests/test-disconnect.cpp
    Changelog: A line for users; it may go on
     in lines that begin with a space.

The lines in NOTED are for patches/FAULTS.md, see replay/bench/series/faults.py.

The text in brackets says where an export lists sources and headers, if not behind the one with the most similar name.
A header in tests/ comes with the first test that includes it, if no line names it. In the working tree all new files are present at once,
and upstream's build reads them from lists that are made from these lines. In an export each patch adds its own files,
and their lines in both build systems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.build import overlay, patchfile, upstream
from bench.common import paths

_CHANGE = re.compile(r"^Changelog: (.+(?:\n .+)*)$", re.MULTILINE)
NOTED = re.compile(r"^(Fixes-class|Trigger|Severity|Releases|Upstream): (.+(?:\n .+)*)$", re.MULTILINE)
_LINE = re.compile(r"^Brings(-to-Unix)?: (.+?)(?: \(before (\S+)\))?$", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "([\w.-]+\.h)"', re.MULTILINE)
_PROGRAM = re.compile(r"(test|fuzz)-[\w-]+$")
SOURCES, TESTS, UNIX_TESTS = (Path("server", name) for name in ("overlay.txt", "tests/overlay.txt",
                                                                "tests/overlay-unix.txt"))
LISTS = frozenset({SOURCES, TESTS, UNIX_TESTS})


@dataclass(frozen=True, order=True)
class New:
    file: Path          # relative to the root of upstream's tree
    unix: bool          # a test that is not for Windows
    before: str = ""    # the file in front of which the build systems list it

    @property
    def is_test(self) -> bool:
        """Whether the build systems call it a test. A fuzzer is one by name."""
        return self.file.parent == Path("server/tests") and self.file.suffix == ".cpp" and bool(
            _PROGRAM.match(self.file.stem))

    @property
    def is_source(self) -> bool:
        return self.file.parent == Path("server")


def said(body: str) -> list[New]:
    """The new files that a message names."""
    return [New(Path("server", name), bool(found[1]), found[3] or "") for found in _LINE.finditer(body) for name in found[2].split()]


def without(body: str) -> str:
    """The message without these lines."""
    return re.sub(r"\n{3,}", "\n\n", NOTED.sub("", _CHANGE.sub("", _LINE.sub("", body)))).strip("\n")


def changes(body: str) -> list[str]:
    """The lines of a message for users, for CHANGELOG.md of upstream's releases."""
    return [" ".join(found.split()) for found in _CHANGE.findall(body)]


def headers(root: Path, new: list[New], there: set[Path]) -> list[New]:
    """Headers that these tests include, directly or through others, that are beside them in the series' folders and not in the
    tree yet."""
    found: list[New] = []
    kept = overlay.sources(root)
    waiting = [entry.file for entry in new]
    while waiting:
        file = waiting.pop(0)
        if file.parent != Path("server/tests") or file.suffix not in (".cpp", ".h"):
            continue
        for name in _INCLUDE.findall((root / kept[file]).read_text(encoding="utf-8")):
            header = file.with_name(name)
            if header not in there and header in kept and header not in (entry.file for entry in found):
                found.append(New(header, False))
                waiting.append(header)
    return found


def by_patch() -> dict[Path, list[New]]:
    """For each patch of the default release: its new files. A header of tests belongs to the first patch that needs it; those of
    devel, which no export has, come last."""
    there: set[Path] = set()
    found = {}
    for patch in sorted(upstream.series(), key=lambda patch: patch.parent.name == upstream.DEVEL):
        new = said(patchfile.read(patch).body)
        new += headers(paths.ROOT, new, there | {entry.file for entry in new})
        there |= {entry.file for entry in new}
        if new:
            found[patch] = new
    return found


def lists() -> dict[Path, str]:
    """The lists of new files that the build of this repository reads."""
    built = upstream.built()
    new = [entry for patch, entries in by_patch().items() for entry in entries if patch.parent.name in built]
    tests = [entry for entry in new if entry.is_test]
    chosen = {SOURCES: [entry.file.name for entry in new if entry.is_source],
              TESTS: [entry.file.stem for entry in tests if not entry.unix],
              UNIX_TESTS: [entry.file.stem for entry in tests if entry.unix]}
    return {file: "".join(f"{name}\n" for name in sorted(names)) for file, names in chosen.items()}


def sync_lists() -> bool:
    """Writes the lists that differ; returns whether one did."""
    wrong = {file: text for file, text in lists().items()
             if not kept_list(file).is_file() or kept_list(file).read_text() != text}
    for file, text in wrong.items():
        kept_list(file).write_text(text)
    return bool(wrong)


def kept_list(file: Path) -> Path:
    """Where a list is kept: in the series that makes upstream's build read it."""
    return paths.ROOT / "server" / upstream.DEVEL / file.relative_to("server")


def problems() -> list[str]:
    """Files of server/ that no patch names, or more than one, or that are missing; lists that are out of date."""
    brought = [entry.file for entries in by_patch().values() for entry in entries]
    present = set(overlay.files(paths.ROOT)) - LISTS
    lines = [f"{file}: no patch brings it" for file in sorted(present - set(brought))]
    lines += [f"{file}: brought, but not there" for file in sorted(set(brought) - present)]
    lines += [f"{file}: brought twice" for file in sorted({file for file in brought if brought.count(file) > 1})]
    return lines + [f"{file}: not what the patches bring; run ./run setup" for file, text in lists().items()
                    if not kept_list(file).is_file() or kept_list(file).read_text() != text]
