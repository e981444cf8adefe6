# SPDX-License-Identifier: LGPL-2.1-or-later
"""The overlay: what meson copies over upstream's tree before it applies the patches.

The files live in server/. Meson wants them in subprojects/packagefiles, where each has a relative link of its own (a
linked folder would silently not be copied). The links are committed, so that meson alone can build a clone; `sync`
makes them from the files."""

from __future__ import annotations

import os
from pathlib import Path

from bench.common import paths

_FOLDER = Path("subprojects/packagefiles/overlay")
_SOURCES = frozenset({".c", ".cpp", ".h", ".hpp", ".txt"})


def files(root: Path = paths.ROOT) -> list[Path]:
    """The files of server/ that belong to upstream's tree, relative to its root (server/x.cpp)."""
    return sorted(path.relative_to(root) for path in (root / "server").rglob("*")
                  if path.suffix in _SOURCES and path.is_file())


def tests(root: Path = paths.ROOT) -> set[str]:
    """The names of our own tests: upstream names each after its file. A fuzzer's replays its corpus."""
    return {file.stem for file in files(root)
            if file.parts[:2] == ("server", "tests") and (file.match("test-*.c*") or file.match("fuzz-*.c*"))}


def _wanted(root: Path) -> dict[Path, str]:
    """Each link, relative to the root, and where it points."""
    return {_FOLDER / file: os.path.relpath(root / file, (root / _FOLDER / file).parent) for file in files(root)}


def _present(root: Path) -> dict[Path, str | None]:
    """Each thing in the overlay folder and where it points; None when it is no link."""
    found = {}
    for folder, _, names in os.walk(root / _FOLDER):
        for name in names:
            path = Path(folder, name)
            found[path.relative_to(root)] = os.readlink(path) if path.is_symlink() else None
    return found


def problems(root: Path = paths.ROOT) -> list[str]:
    """One line for each link that is missing, stale or no link; empty when the overlay is what server/ says."""
    wanted, present = _wanted(root), _present(root)
    lines = [f"{link}: missing" for link in wanted if link not in present]
    lines += [f"{link}: stale" for link in present if link not in wanted]
    lines += [f"{link}: does not point to {target}" for link, target in wanted.items()
              if link in present and present[link] != target]
    return sorted(lines)


def sync(root: Path = paths.ROOT) -> list[str]:
    """Makes the links anew where they differ; returns what was wrong."""
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
