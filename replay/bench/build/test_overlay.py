# SPDX-License-Identifier: LGPL-2.1-or-later
from pathlib import Path

import pytest

from bench.build import overlay
from bench.common.errors import BenchError

OVERLAY = Path("subprojects/packagefiles/overlay")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("server/x/a.cpp", "server/x/a.h", "server/y/tests/test-a.cpp", "server/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / OVERLAY).mkdir(parents=True)
    return tmp_path


def test_the_links_in_the_tree_are_complete() -> None:
    assert overlay.problems() == [], "run ./run setup and commit subprojects/packagefiles"


def test_sync_makes_a_relative_link_for_each_source(tree: Path) -> None:
    assert len(overlay.sync(tree)) == 3
    assert overlay.problems(tree) == []
    link = tree / OVERLAY / "server/tests/test-a.cpp"
    assert not link.readlink().is_absolute()
    assert link.read_text() == "server/y/tests/test-a.cpp"
    assert not (tree / OVERLAY / "server/README.md").exists()
    assert not (tree / OVERLAY / "server/tests").is_symlink()


def test_a_second_sync_changes_nothing(tree: Path) -> None:
    overlay.sync(tree)
    assert overlay.sync(tree) == []


def test_missing_stale_and_wrong_links_are_named_and_put_right(tree: Path) -> None:
    overlay.sync(tree)
    (tree / "server/y/new.h").write_text("")
    (tree / "server/y/tests/test-a.cpp").unlink()
    wrong = tree / OVERLAY / "server/a.h"
    wrong.unlink()
    wrong.write_text("a copy")
    assert overlay.problems(tree) == [
        f"{OVERLAY}/server/a.h: does not point to ../../../../server/x/a.h",
        f"{OVERLAY}/server/new.h: missing",
        f"{OVERLAY}/server/tests/test-a.cpp: stale",
    ]
    overlay.sync(tree)
    assert overlay.problems(tree) == []
    assert not (tree / OVERLAY / "server/tests").exists()


def test_our_own_tests_are_named_after_their_files(tree: Path) -> None:
    (tree / "server/x/tests").mkdir()
    (tree / "server/x/tests/test-a.h").write_text("")
    (tree / "server/y/tests/helper.cpp").write_text("")
    assert overlay.tests(tree) == {"test-a"}


def test_two_series_cannot_have_a_file_of_the_same_name(tree: Path) -> None:
    (tree / "server/y/a.h").write_text("")
    with pytest.raises(BenchError, match="server/x/a.h and server/y/a.h would be the same file"):
        overlay.sync(tree)
