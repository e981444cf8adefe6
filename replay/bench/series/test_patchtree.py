# SPDX-License-Identifier: LGPL-2.1-or-later
"""The series as a git tree and back, on a release of one file."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from bench.build import patchfile, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.series import patchtree

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
    (root / "server/one").mkdir(parents=True)
    (root / "server/one/new.h").write_text("new\n")
    write(root / "patches/one/0001-file-Change-two.patch", "file: Change two", ["-2", "+zwei"], 2)
    write(root / "patches/one/2/0001-file-Change-two.patch", "file: Change two", ["-two", "+zwei"], 3)
    write(root / "patches/two/0001-file-Change-ten.patch", "file: Change ten", ["-10", "+zehn"], 10)
    (root / "patches/series").write_text("one release\ntwo one\n")
    (root / "patches/one/series").write_text("0001-file-Change-two.patch\n")
    (root / "patches/two/series").write_text("0001-file-Change-ten.patch\n")
    return root


def write(file: Path, subject: str, change: list[str], line: int) -> None:
    before, after = (_LINES[line - 1], _LINES[line + 1]) if line != 3 else ("1\n", "3\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <b@c>\nDate: today\nSubject: [PATCH] {subject}\n\n"
                    f"Why.\n---\n stat\n\ndiff --git a/file b/file\nindex 12..34 100644\n--- a/file\n+++ b/file\n"
                    f"@@ -{line},3 +{line},3 @@\n {before}" + "\n".join(change) + f"\n {after}-- \n2.39.5\n\n")


def refresh(root: Path) -> list[str]:
    changed = []
    for version in upstream.RELEASES:
        tree = root.parent / f"tree-{version}"
        patchtree.plant(version, tree)
        changed += [str(file.relative_to(root / "patches")) for file in patchtree.harvest(tree)]
        subprocess.run(["rm", "-r", tree], check=True)
    return changed


def test_a_refresh_leaves_no_name_no_date_and_no_offset_and_a_second_one_nothing_to_do(root: Path) -> None:
    assert len(refresh(root)) == 3
    for file in (root / "patches").rglob("*.patch"):
        text = file.read_text()
        assert text.startswith("Subject: [PATCH] file: Change t") and "\n\nWhy.\n---\n" in text
        assert "From" not in text and "Date" not in text and "index" not in text and "\n-- \n" not in text
    assert "@@ -10,3 +10,3 @@" in (root / "patches/two/0001-file-Change-ten.patch").read_text()
    assert refresh(root) == []


def test_what_is_changed_in_a_tree_is_numbered_by_its_order_and_variants_go_along(root: Path) -> None:
    refresh(root)
    tree = root.parent / "tree"
    patchtree.plant("1", tree)
    second, first = (patchtree.git(tree, "rev-parse", name).stdout.strip() for name in ("HEAD", "HEAD~1"))
    patchtree.git(tree, "reset", "-q", "--hard", "overlay")
    (tree / "file").write_text((tree / "file").read_text().replace("15\n", "15b\n"))
    patchtree.git(tree, "commit", "-qam", "file: Change fifteen\n\nWhy.")
    patchtree.git(tree, "cherry-pick", first, second)
    patchtree.harvest(tree)
    assert [str(patch.relative_to(root / "patches")) for patch in upstream.series("2")] == [
        "one/0001-file-Change-fifteen.patch", "one/2/0002-file-Change-two.patch", "two/0001-file-Change-ten.patch"]
    assert len(list((root / "patches").rglob("*.patch"))) == 4
    refresh(root)
    assert refresh(root) == []


def test_a_patch_that_does_not_apply_is_named_and_what_is_put_right_becomes_its_variant(root: Path) -> None:
    (root / "patches/one/2/0001-file-Change-two.patch").unlink()
    tree = root.parent / "tree"
    for _ in range(2):
        with pytest.raises(BenchError, match=r"0001-file-Change-two.patch does not apply to 2: file: .*SERIES_MESSAGE"):
            patchtree.plant("2", tree)
    assert [file.name for file in tree.glob("*.rej")] == ["file.rej"]
    (tree / "file").write_text((tree / "file").read_text().replace("two", "zwei"))
    with pytest.raises(BenchError, match="not committed"):
        patchtree.plant("2", tree)
    patchtree.git(tree, "add", "-A")
    patchtree.git(tree, "commit", "-q", "-F", ".git/SERIES_MESSAGE")
    assert patchtree.plant("2", tree) == 2
    assert [str(file.relative_to(root)) for file in patchtree.harvest(tree)] == ["patches/one/2/0001-file-Change-two.patch"]
    refresh(root)
    assert refresh(root) == []


def test_what_is_no_patch_and_what_is_no_tree_is_refused(root: Path) -> None:
    with pytest.raises(BenchError, match="x.patch is not a patch"):
        patchfile.parse("hello\n", "x.patch")
    (root.parent / "empty").mkdir()
    with pytest.raises(BenchError, match="is not a tree made by ./run tree"):
        patchtree.harvest(root.parent / "empty")
