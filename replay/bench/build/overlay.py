# SPDX-License-Identifier: LGPL-2.1-or-later
"""The overlay: the files that meson copies over upstream's tree before it applies the patches.

They are in server/<series>/ and server/<series>/tests/; in upstream's tree all are side by side in server/ and
server/tests/. Meson wants them in subprojects/packagefiles, where each has a relative symlink (a symlinked folder is
silently not copied). The symlinks are committed, so that meson alone can build a clone; `sync` makes them. An
optional series has none, see patches/series.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError

_FOLDER = Path("subprojects/packagefiles/overlay")
_SOURCES = frozenset({".c", ".cpp", ".h", ".hpp", ".txt"})


def optional(root: Path = paths.ROOT) -> set[str]:
    """The series that are in no default build."""
    file = root / "patches/series"
    lines = file.read_text().splitlines() if file.is_file() else []
    return {words[0] for line in lines if "optional" in (words := line.split("#")[0].split())[2:]}


def sources(root: Path = paths.ROOT, names: Collection[str] | None = None) -> dict[Path, Path]:
    """Each file's place in upstream's tree (server/x.cpp) -> where it is kept (server/tls/x.cpp), both relative to the root; for
    all series or some. Raises BenchError if two series have a file of the same name."""
    found: dict[Path, Path] = {}
    for path in sorted((root / "server").glob("*/**/*")):
        kept = path.relative_to(root)
        if path.suffix in _SOURCES and path.is_file() and (names is None or kept.parts[1] in names):
            place = Path("server", *kept.parts[2:])
            if place in found:
                raise BenchError(f"{found[place]} and {kept} would be the same file in upstream's tree: rename one")
            found[place] = kept
    return dict(sorted(found.items()))


def files(root: Path = paths.ROOT) -> list[Path]:
    """The places of all files in upstream's tree."""
    return list(sources(root))


def find(name: str, root: Path = paths.ROOT) -> Path:
    """The file that becomes server/NAME in upstream's tree."""
    return root / sources(root)[Path("server", name)]


def tests(root: Path = paths.ROOT, names: Collection[str] | None = None) -> set[str]:
    """The names of our tests, of all series or some. Upstream names each after its file; a fuzzer's test replays its corpus."""
    return {file.stem for file in sources(root, names)
            if file.parts[:2] == ("server", "tests") and (file.match("test-*.c*") or file.match("fuzz-*.c*"))}


def _wanted(root: Path) -> dict[Path, str]:
    """Each link, relative to the root, -> its target."""
    left_out = optional(root)
    return {_FOLDER / place: os.path.relpath(root / kept, (root / _FOLDER / place).parent)
            for place, kept in sources(root).items() if kept.parts[1] not in left_out}


def _present(root: Path) -> dict[Path, str | None]:
    """Each entry of the overlay folder -> its target; None if it is no link."""
    found = {}
    for folder, _, names in os.walk(root / _FOLDER):
        for name in names:
            path = Path(folder, name)
            found[path.relative_to(root)] = os.readlink(path) if path.is_symlink() else None
    return found


def problems(root: Path = paths.ROOT) -> list[str]:
    """One line per link that is missing, stale or no link; empty if the overlay matches server/."""
    wanted, present = _wanted(root), _present(root)
    lines = [f"{link}: missing" for link in wanted if link not in present]
    lines += [f"{link}: stale" for link in present if link not in wanted]
    lines += [f"{link}: does not point to {target}" for link, target in wanted.items()
              if link in present and present[link] != target]
    return sorted(lines)


def sync(root: Path = paths.ROOT) -> list[str]:
    """Makes the links that differ again; returns the problems found."""
    wrong = problems(root)
    if wrong:
        wanted, present = _wanted(root), _present(root)
        for link in present.keys() - wanted.keys():
            (root / link).unlink()
        for link, target in wanted.items():
            if present.get(link) != target:
                (root / link).parent.mkdir(parents=True, exist_ok=True)
                (root / link).unlink(missing_ok=True)
                (root / link).symlink_to(target)
        for folder, _, _ in os.walk(root / _FOLDER, topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
    return wrong
