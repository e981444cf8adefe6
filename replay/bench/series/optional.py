# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds of the default release with an optional series of patches/series and the series it needs, as exported."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from bench.build import bases, brings, overlay, sanitized, upstream
from bench.common import paths
from bench.common.steps import Steps
from bench.series import export

_WHO = export.Author("optional", "optional")


def build(name: str, steps: Steps) -> Path:
    """The build directory, sanitized, whose server/tests/ has the tests of the series; takes seconds if nothing changed."""
    home = paths.cache_dir() / "optional" / name
    wanted = upstream.below(name)
    upstream.fetch(upstream.DEFAULT, steps)

    def make() -> None:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home) as work:
            tree = export.Tree(upstream.DEFAULT, Path(work, "tree"), _WHO)
            for file in upstream.series(names=wanted):
                tree.add(file)
            shutil.rmtree(tree.folder / ".git")
            tree.folder.rename(home / "source")

    upstream.refresh(home / "source", _fingerprint(wanted), make)
    env = {**upstream.protocol_environment(upstream.DEFAULT, steps), **bases.COMPILER}
    what = f"spice {upstream.DEFAULT} with {name}, sanitized"
    target = home / "sanitized"
    bases.configure(what, home / "source", target, ["-Dmanual=false", "-Doptimization=0", *sanitized.FLAGS], steps, env)
    # Not all tests: under sanitizers each of 100 programs has 50 MB and takes a second to link.
    steps.run(f"building {what}", ["ninja", "-C", target, *(f"server/tests/{test}" for test in sorted(tests(name)))], quiet=True,
              env=env)
    return target


def tests(name: str) -> set[str]:
    """The tests of a series, and those of other series that its patches change."""
    brought = {entry.file.stem for patch, new in brings.by_patch().items() if patch.parent.name == name
               for entry in new if entry.is_test}
    changed = {file.stem for file in overlay.files() if file.match("server/tests/test-*.cpp")
               and any(f"\n+++ b/{file}\n" in patch.read_text(encoding="utf-8") for patch in upstream.series(names=[name]))}
    return brought | changed


def _fingerprint(names: list[str]) -> str:
    digest = hashlib.sha256(upstream.release(upstream.DEFAULT).sha256.encode())
    for file in [*upstream.series(names=names),
                 *(paths.ROOT / kept for kept in overlay.sources(paths.ROOT, names).values())]:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()
