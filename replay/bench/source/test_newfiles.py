# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is kept in server/ is what is compiled, on every release."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import brings, newfiles, upstream


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two series, of which the second is optional, and a release of one file."""
    shutil.copy(paths.ROOT / "server/link", tmp_path)
    for name in ("server/x/a.cpp", "server/x/a.h", "server/x/tests/fuzz-b.cpp", "server/y/tests/test-a.cpp", "server/y/tests/data/d.txt",
                 "server/README.md", "release/server/theirs.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link").rename(tmp_path / "server/link")
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/series").write_text("# all\nx\ny  optional\n")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def link(root: Path, *series: str) -> list[str]:
    done = subprocess.run([root / "server/link", root / "release", *series], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tree = root / "release/server"
    return sorted(str(file.relative_to(tree)) for file in tree.rglob("*") if file.is_symlink())


def test_an_edit_of_a_file_is_in_the_tree_at_once(root: Path) -> None:
    assert link(root, "x", "y") == ["a.cpp", "a.h", "tests/data/d.txt", "tests/fuzz-b.cpp", "tests/test-a.cpp"]
    (root / "server/y/tests/test-a.cpp").write_text("edited")
    assert (root / "release/server/tests/test-a.cpp").read_text() == "edited"
    assert not (root / "release/server/a.h").readlink().is_absolute()
    assert (root / "release/server/theirs.cpp").read_text() == "release/server/theirs.cpp"


def test_an_optional_series_is_linked_when_it_is_named(root: Path) -> None:
    assert link(root) == ["a.cpp", "a.h", "tests/fuzz-b.cpp"]


def test_only_what_is_wrong_is_linked_again(root: Path) -> None:
    """Another build may be reading the tree."""
    link(root, "x", "y")
    before = (root / "release/server/a.h").lstat().st_ino
    (root / "server/x/a.cpp").unlink()
    (root / "server/x/new.h").write_text("")
    (root / "server/y/tests/fuzz-b.cpp").write_text((root / "server/x/tests/fuzz-b.cpp").read_text())
    (root / "server/x/tests/fuzz-b.cpp").unlink()
    assert link(root, "x", "y") == ["a.h", "new.h", "tests/data/d.txt", "tests/fuzz-b.cpp", "tests/test-a.cpp"]
    assert (root / "release/server/a.h").lstat().st_ino == before
    assert "y" in (root / "release/server/tests/fuzz-b.cpp").readlink().parts


def test_two_series_cannot_have_a_file_of_the_same_name(root: Path) -> None:
    (root / "server/y/a.h").write_text("")
    with pytest.raises(BenchError, match="server/x/a.h and server/y/a.h would be the same file"):
        newfiles.sources()
    done = subprocess.run([root / "server/link", root / "release", "x", "y"], capture_output=True, text=True, check=False)
    assert done.returncode and "a.h" in done.stderr


def test_our_own_tests_are_named_after_their_files(root: Path) -> None:
    (root / "server/x/tests/test-a.h").write_text("")
    (root / "server/x/tests/helper.cpp").write_text("")
    assert newfiles.tests() == {"test-a", "fuzz-b"} and newfiles.tests(["x"]) == {"fuzz-b"}


def test_each_new_file_comes_with_a_patch() -> None:
    brought = sorted(entry.file for entries in brings.by_patch().values() for entry in entries)
    assert brought == sorted(newfiles.sources())


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_what_is_compiled_is_what_is_kept(version: str, tmp_path: Path) -> None:
    upstream.fetch(version, Steps(tmp_path / "log"))
    upstream.make_tree(version, tmp_path / "tree", upstream.built())
    assert [str(place) for place, kept in newfiles.sources(upstream.built()).items()
            if (tmp_path / "tree" / place).resolve() != paths.ROOT / kept] == []
