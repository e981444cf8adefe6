# SPDX-License-Identifier: LGPL-2.1-or-later
"""The series as a git tree and back, on a release of one file."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.series import patchtree
from bench.source import patchfile, upstream

_LINES = [f"{number}\n" for number in range(20)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two releases, two patches; the second release wants a variant of the first patch."""
    root = tmp_path / "root"
    monkeypatch.setattr(paths, "ROOT", root)
    releases = {}
    for version, text in (("1", _LINES), ("2", ["head\n", *_LINES[:2], "two\n", *_LINES[3:]])):
        source = tmp_path / f"spice-{version}"
        source.mkdir()
        (source / "file").write_text("".join(text))
        tarball = root / "subprojects/packagecache" / f"spice-{version}.tar.bz2"
        tarball.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-cjf", tarball, "-C", tmp_path, source.name], check=True)
        releases[version] = upstream.Release(version, hashlib.sha256(tarball.read_bytes()).hexdigest(), ())
    monkeypatch.setattr(upstream, "RELEASES", releases)
    monkeypatch.setattr(upstream, "DEFAULT", "1")
    for name in ("one/new.h", "two/tests/test-new.cpp"):
        (root / "server" / name).parent.mkdir(parents=True)
        (root / "server" / name).write_text("new\n")
    write(root / "patches/one/0001-file-Change-two.patch", "file: Change two", ["-2", "+zwei"], 2, "\n\nBrings: new.h")
    write(root / "patches/one/2/0001-file-Change-two.patch", "file: Change two", ["-two", "+zwei"], 3, "\n\nBrings: new.h")
    write(root / "patches/two/0001-file-Change-ten.patch", "file: Change ten", ["-10", "+zehn"], 10, "\n\nBrings-to-Unix: tests/test-new.cpp")
    (root / "patches/series").write_text("one\ntwo\n")
    return root


def write(file: Path, subject: str, change: list[str], line: int, brings: str = "") -> None:
    before, after = (_LINES[line - 1], _LINES[line + 1]) if line != 3 else ("1\n", "3\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <b@c>\nDate: today\nSubject: [PATCH] {subject}\n\n"
                    f"Why.{brings}\n---\n stat\n\ndiff --git a/file b/file\nindex 12..34 100644\n--- a/file\n+++ b/file\n"
                    f"@@ -{line},3 +{line},3 @@\n {before}" + "\n".join(change) + f"\n {after}-- \n2.39.5\n\n")


def refresh(root: Path) -> list[str]:
    changed = []
    for version in upstream.RELEASES:
        tree = root.parent / f"tree-{version}"
        patchtree.plant(version, tree)
        changed += [str(file.relative_to(root / "patches")) for file in sorted(patchtree.harvest(tree))]
        subprocess.run(["rm", "-r", tree], check=True)
    return changed


def test_a_refresh_leaves_no_name_no_date_and_no_offset_and_a_second_one_nothing_to_do(root: Path) -> None:
    assert len(refresh(root)) == 3
    for file in (root / "patches").rglob("*.patch"):
        text = file.read_text()
        assert text.startswith("Subject: [PATCH] file: Change t") and "\n\nWhy.\n\nBrings" in text
        assert "From" not in text and "Date" not in text and "index" not in text and "\n-- \n" not in text
    assert "@@ -10,3 +10,3 @@" in (root / "patches/two/0001-file-Change-ten.patch").read_text()
    assert refresh(root) == []


def test_what_is_changed_in_a_tree_is_numbered_by_its_order_and_variants_go_along(root: Path) -> None:
    refresh(root)
    tree = root.parent / "tree"
    patchtree.plant("1", tree)
    git = patchtree.Tree(tree).git
    second, first = (git("rev-parse", name).strip() for name in ("HEAD", "HEAD~1"))
    git("reset", "-q", "--hard", "1")
    (tree / "file").write_text((tree / "file").read_text().replace("15\n", "15b\n"))
    git("commit", "-qam", "file: Change fifteen\n\nWhy.")
    git("cherry-pick", first, second)
    patchtree.harvest(tree)
    assert [str(patch.relative_to(root / "patches")) for patch in upstream.series("2")] == [
        "one/0001-file-Change-fifteen.patch", "one/2/0002-file-Change-two.patch", "two/0001-file-Change-ten.patch"]
    assert len(list((root / "patches").rglob("*.patch"))) == 4
    refresh(root)
    assert refresh(root) == []


def test_a_patch_that_does_not_apply_is_named_and_what_is_put_right_becomes_its_variant(root: Path) -> None:
    (root / "patches/one/2/0001-file-Change-two.patch").unlink()
    tree = root.parent / "tree"
    with pytest.raises(BenchError, match=r"0001-file-Change-two.patch does not apply to 2: file: .*SERIES_MESSAGE"):
        patchtree.plant("2", tree)
    with pytest.raises(BenchError, match="not committed"):
        patchtree.plant("2", tree)
    assert [file.name for file in tree.glob("*.rej")] == ["file.rej"]
    (tree / "file").write_text((tree / "file").read_text().replace("two", "zwei"))
    with pytest.raises(BenchError, match="not committed"):
        patchtree.plant("2", tree)
    git = patchtree.Tree(tree).git
    git("add", "-A")
    git("commit", "-q", "-F", ".git/SERIES_MESSAGE")
    assert patchtree.plant("2", tree) == 2
    assert [str(file.relative_to(root)) for file in sorted(patchtree.harvest(tree))] == ["patches/one/2/0001-file-Change-two.patch"]
    refresh(root)
    assert refresh(root) == []


def planted(root: Path) -> tuple[Path, patchtree.Tree]:
    refresh(root)
    tree = root.parent / "tree"
    patchtree.plant("1", tree)
    return tree, patchtree.Tree(tree)


def test_a_commit_has_the_files_that_its_patch_brings(root: Path) -> None:
    tree, made = planted(root)
    assert [(message.splitlines()[0], sorted(names)) for _, message, names in made.commits()] == [
        ("file: Change two", ["file", "server/new.h"]), ("file: Change ten", ["file", "server/tests/test-new.cpp"])]
    assert made.git("log", "-1", "--format=%s", "1") == "release 1\n"
    assert patchtree.harvest(tree) == set()


def test_an_edit_of_a_new_file_is_its_last_state_whichever_commit_has_it(root: Path) -> None:
    """Of a commit of its own, or of a later patch: in server/ there is no other state."""
    tree, made = planted(root)
    (tree / "server/new.h").write_text("edited\n")
    made.git("commit", "-qam", "new: Edit")
    (tree / "server/new.h").write_text("edited twice\n")
    (tree / "file").write_text((tree / "file").read_text().replace("15\n", "15b\n"))
    made.commit("file: Change fifteen\n\nWhy.\n")
    assert [str(file.relative_to(root)) for file in sorted(patchtree.harvest(tree))] == [
        "patches/two/0002-file-Change-fifteen.patch", "server/one/new.h"]
    assert (root / "server/one/new.h").read_text() == "edited twice\n"
    assert "new.h" not in (root / "patches/two/0002-file-Change-fifteen.patch").read_text()
    assert refresh(root) == []


def test_a_file_that_a_commit_adds_is_kept_and_named(root: Path) -> None:
    """In the series of the commit, wherever it was before; and one that is gone is gone."""
    tree, made = planted(root)
    for name in ("tests/test-other.cpp", "other.h"):
        (tree / "server" / name).write_text("other\n")
    made.git("rm", "-q", "server/tests/test-new.cpp")
    made.git("add", "-A")
    made.commit("other: Add\n\nWhy.\n\nBrings-to-Unix: tests/test-other.cpp tests/no.cpp\nBrings: new.h\n")
    patchtree.harvest(tree)
    assert sorted(str(file.relative_to(root)) for file in (root / "server").rglob("*.*")) == [
        "server/one/new.h", "server/two/other.h", "server/two/tests/test-other.cpp"]
    assert "\n\nBrings-to-Unix: tests/test-other.cpp\nBrings: other.h\n---\n" in (root / "patches/two/0002-other-Add.patch").read_text()
    assert "Brings" not in (root / "patches/two/0001-file-Change-ten.patch").read_text()
    assert refresh(root) == []


def test_a_file_that_is_missing_is_named(root: Path) -> None:
    (root / "server/one/new.h").unlink()
    with pytest.raises(BenchError, match="0001-file-Change-two.patch does not apply to 1: no folder of server/ has new.h, which it brings"):
        patchtree.plant("1", root.parent / "tree")


def test_what_cannot_be_kept_is_refused(root: Path) -> None:
    tree, made = planted(root)
    (tree / "elsewhere.h").write_text("new\n")
    with pytest.raises(BenchError, match="not committed"):
        (tree / "file").write_text("")
        patchtree.harvest(tree)
    made.git("checkout", "-q", "file")
    made.git("add", "-A")
    made.commit("x: Add\n\nSeries-patch: three/new\n")
    with pytest.raises(BenchError, match="is of the series three, which patches/series does not name"):
        patchtree.harvest(tree)
    made.git("commit", "-q", "--amend", "-m", "x: Add")
    with pytest.raises(BenchError, match="adds elsewhere.h: new files are in server/ only"):
        patchtree.harvest(tree)


def test_an_edit_meanwhile_is_not_undone(root: Path) -> None:
    planted_from, tree = patchtree.state(), root.parent / "tree"
    patchtree.plant("1", tree)
    edited = root / "server/one/new.h"
    edited.write_text("edited\n")
    before = patchtree.state()
    with pytest.raises(BenchError, match="was changed meanwhile, so nothing was written: run the command again"):
        patchtree.harvest(tree, planted_from)
    assert patchtree.state() == before
    patchtree.harvest(tree)
    assert edited.read_text() == "new\n"


def test_what_is_no_patch_and_what_is_no_tree_is_refused(root: Path) -> None:
    with pytest.raises(BenchError, match="x.patch is not a patch"):
        patchfile.parse("hello\n", "x.patch")
    (root.parent / "empty").mkdir()
    with pytest.raises(BenchError, match="is not a tree made by ./run tree"):
        patchtree.harvest(root.parent / "empty")
