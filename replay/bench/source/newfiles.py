# SPDX-License-Identifier: LGPL-2.1-or-later
"""The new files: server/<series>/FILE and server/<series>/tests/FILE become server/FILE and server/tests/FILE in upstream's tree,
where they are links, made by `server/link`."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError

_SUFFIXES = frozenset({".cpp", ".h", ".txt"})


def sources(of: Collection[str] | None = None) -> dict[Path, Path]:
    """Each file's place in upstream's tree (server/x.cpp) -> where it is kept (server/tls/x.cpp), both relative to the root; for
    all series or some. Raises BenchError if two series have a file of the same name."""
    found: dict[Path, Path] = {}
    for path in sorted((paths.ROOT / "server").glob("*/**/*")):
        kept = path.relative_to(paths.ROOT)
        if path.suffix in _SUFFIXES and path.is_file() and (of is None or kept.parts[1] in of):
            place = Path("server", *kept.parts[2:])
            if place in found:
                raise BenchError(f"{found[place]} and {kept} would be the same file in upstream's tree: rename one")
            found[place] = kept
    return dict(sorted(found.items()))


def tests(of: Collection[str] | None = None) -> set[str]:
    """The names of our tests. Upstream names each after its file; a fuzzer's test replays its corpus."""
    return {file.stem for file in sources(of)
            if file.parts[:2] == ("server", "tests") and (file.match("test-*.cpp") or file.match("fuzz-*.cpp"))}


def link(tree: Path, of: Sequence[str]) -> None:
    """Links the files of these series into a release's tree."""
    subprocess.run([paths.ROOT / "server/link", tree, *of], check=True)


def links(tree: Path) -> set[Path]:
    return {file.relative_to(tree) for file in (tree / "server").rglob("*") if file.is_symlink()}
