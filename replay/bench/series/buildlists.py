# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lines for new files in upstream's two build systems: server/meson.build, server/Makefile.am and those of the
tests.

A new entry goes behind the one with the most similar name, so that two patches seldom touch the same lines.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

from bench.common.errors import BenchError
from bench.source.brings import New

_TAB = 8
_LONELY = "test-listen"     # Debian's own patch takes it out of a list, so no new entry is beside it


def _insert(root: Path, name: str, begin: str, entry: str, new: list[tuple[str, str]]) -> None:
    """Adds new (name, line) pairs to the list in the file that starts after the line `begin`."""
    file = root / name
    if not new or not file.is_file():
        return
    lines = file.read_text(encoding="utf-8").splitlines()
    for what, line in new:
        start = next((number for number, text in enumerate(lines, 1) if re.fullmatch(begin, text)), 0)
        if not start:
            raise BenchError(f"{name}: no list '{begin}' for {what}")
        names = [found[1] if (found := re.match(entry, text)) else "" for text in lines]
        best, place = -1, start
        for number in range(start, len(lines)):
            alike = len(os.path.commonprefix([names[number], what]))
            if names[number] and alike >= best and _LONELY not in names[number:number + 2]:
                best, place = alike, number + 1
            elif not names[number] and not re.match(r"\s+\S", lines[number]):
                break
        lines.insert(place, line)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _make(name: str, column: int) -> str:
    """An entry of a list in Makefile.am, with the backslash in that column."""
    return f"\t{name}" + "\t" * max(1, -(-(column - _TAB - len(name)) // _TAB)) + "\\"


def add(root: Path, new: list[New]) -> None:
    """Adds files of the tree to its build files."""
    sources = [entry.file.name for entry in new if entry.is_source]
    _insert(root, "server/meson.build", r"spice_server_sources = \[", r"  '([\w.-]+)',", [(name, f"  '{name}',") for name in sources])
    _insert(root, "server/Makefile.am", r"libserver_la_SOURCES =\t+\\", r"\t([\w.-]+)\t*\\",
            [(name, _make(name, 48)) for name in sources])
    tests = [entry for entry in new if entry.is_test]
    for unix in (False, True):
        names = [entry.file.stem for entry in tests if entry.unix == unix]
        _insert(root, "server/tests/meson.build", r"  tests \+= \[" if unix else r"tests = \[", r" +\['([\w-]+)'",
                [(name, f"{'    ' if unix else '  '}['{name}', true, 'cpp'],") for name in names])
        _insert(root, "server/tests/Makefile.am", r"check_PROGRAMS \+=\t+\\" if unix else r"check_PROGRAMS =\t+\\",
                r"\t([\w-]+)\t*\\", [(name, _make(name, 48)) for name in names])
    others = [str(entry.file.relative_to("server/tests")) for entry in new
              if entry.file.parts[1] == "tests" and entry.file.suffix not in (".cpp", ".h")]
    _insert(root, "server/tests/Makefile.am", r"EXTRA_DIST =\t+\\", r"\t([\w./-]+)\t*\\",
            [(name, _make(name, 40)) for name in others])
    headers = [entry.file.name for entry in new if entry.file.match("server/tests/*.h")]
    _insert(root, "server/tests/Makefile.am", r"libtest_a_SOURCES =\t+\\", r"\t([\w.-]+)\t*\\",
            [(name, _make(name, 48)) for name in headers])
    programs = [entry.file.stem for entry in tests]     # without this automake would expect a C file for each
    _insert(root, "server/tests/Makefile.am", r"test_channel_SOURCES = .*", r"(\w+)_SOURCES = ",
            [(name.replace("-", "_"), f"{name.replace('-', '_')}_SOURCES = {name}.cpp") for name in programs])


def tell(root: Path, version: str, changes: list[str]) -> None:
    """Puts the lines for users on top of upstream's CHANGELOG.md."""
    file = root / "CHANGELOG.md"
    if not changes or not file.is_file():
        return
    title = f"Major Changes since {version}:\n"
    text = file.read_text(encoding="utf-8")
    if not text.startswith(title):
        text = f"{title}{'=' * (len(title) - 1)}\n\n\n{text}"
    head, rule, rest = text.partition("\n\n\n")
    lines = [textwrap.fill(change, 78, initial_indent="* ", subsequent_indent="  ") for change in changes]
    file.write_text("\n".join([head, *([""] if "*" not in head else []), *lines]) + rule + rest, encoding="utf-8")
