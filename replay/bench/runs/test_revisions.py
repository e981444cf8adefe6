# SPDX-License-Identifier: LGPL-2.1-or-later
"""Building another revision, in a small repository whose ./run setup makes one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import libraries

_SETUP = ("#!/bin/sh\n[ \"$1\" = setup ] && cd \"${0%/*}\" && test -f subprojects/packagecache/tarball && "
          "mkdir -p build/subprojects/spice-1/server && cp patch build/subprojects/spice-1/server/libspice-server.so.1\n")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    (root / "subprojects/packagecache").mkdir(parents=True)
    (root / "subprojects/packagecache/tarball").touch()
    (root / ".gitignore").write_text("packagecache\n")
    (root / "run").write_text(_SETUP)
    (root / "run").chmod(0o755)
    git(tmp_path, "init", "-q", str(root))
    for content in ("old", "new"):
        (root / "patch").write_text(content)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", content)
    monkeypatch.setattr(paths, "ROOT", root)
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
    return root


def test_each_revision_is_built_once(repository: Path) -> None:
    (old_commit, old), (new_commit, new) = libraries.revision("HEAD~1"), libraries.revision("HEAD")
    assert [(library / paths.LIBRARY_FILE).read_text() for library in (old, new)] == ["old", "new"]
    (repository / "run").unlink()
    assert libraries.revision("HEAD") == (new_commit, new) and old_commit != new_commit


def test_what_is_no_revision_or_does_not_build(repository: Path) -> None:
    with pytest.raises(BenchError, match="no such revision"):
        libraries.revision("nothing")
    (repository / "run").write_text("#!/bin/sh\nexit 1\n")
    git(repository, "commit", "-q", "-a", "-m", "broken")
    with pytest.raises(BenchError, match="does not build"):
        libraries.revision("HEAD")


def test_the_reason_is_git_s(repository: Path) -> None:
    (repository / ".git").rename(repository / "gone")
    with pytest.raises(BenchError, match="^library git:HEAD: fatal: not a git repository[^\n]*$"):
        libraries.revision("HEAD")
