# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source.builder import Builder, RootBuilder
from bench.source.debsource import SourcePackage
from distro import changes, deb


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "debian/patches").mkdir(parents=True)
    (tmp_path / "debian/patches/series").write_text("theirs.patch")
    (tmp_path / "debian/changelog").write_text("spice (0.15.1-1) unstable; urgency=medium\n")
    return tmp_path


def test_our_patches_come_after_the_distributions(tree: Path) -> None:
    changes.write([changes.Patch("0001-a.patch", "a"), changes.Patch("0002-b.patch", "b")], tree / "debian/patches", "theirs.patch")
    assert (tree / "debian/patches/series").read_text() == "theirs.patch\nbatch/0001-a.patch\nbatch/0002-b.patch\n"
    assert (tree / "debian/patches/batch/0002-b.patch").read_text() == "b"


def test_the_newest_change_is_ours(tree: Path) -> None:
    deb.add_change(tree, "0.15.1-1batch1", "bookworm", "Mon, 23 Nov 2026 22:05:00 +0000")
    text = (tree / "debian/changelog").read_text()
    assert text.startswith("spice (0.15.1-1batch1) bookworm; urgency=medium\n\n  * ")
    assert "\n -- spice-batch <spice-batch@localhost>  Mon, 23 Nov 2026 22:05:00 +0000\n\nspice (0.15.1-1) " in text


def test_a_build_that_leaves_one_of_our_tests_out_is_none() -> None:
    said = ["...", " 1/3 spice-common / test-theirs   OK   0.17s", "2/3 test-a   OK    0.02s",
            " 3/3 spice / test-b  OK 1.00s"]
    assert deb.count_tests(said, {"test-a", "test-b"}) == 3
    with pytest.raises(BenchError, match="did not run test-b"):
        deb.count_tests([*said[:3], " 3/3 spice / test-b  FAIL 1.00s"], {"test-a", "test-b"})


def test_a_builders_command_has_no_network_unless_it_says_so(tmp_path: Path) -> None:
    builder = Builder("here", tmp_path, Steps(tmp_path / "log"))
    builder.work.mkdir()
    assert builder.run("looking", ["pwd"], network=True) == [str(builder.work)]
    if len(builder.entered((), "/")) > 4:       # where that is allowed
        assert builder.run("looking", ["wc", "-l", "/proc/net/route"]) == ["1 /proc/net/route"]


def test_this_machine_gets_no_packages_if_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root of its own does."""
    ran: list[str] = []
    monkeypatch.setenv("RUN_NO_PACKAGES", "1")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(Builder, "run", lambda _, title, *__, **___: ran.append(title))
    here, root = (kind("here", tmp_path, Steps(tmp_path / "log")) for kind in (Builder, RootBuilder))
    with pytest.raises(BenchError, match="^packages are missing; as root: apt-get install --no-install-recommends lintian$"):
        here.install("install", ["lintian"])
    assert ran == []
    root.install("install", ["lintian"])
    assert ran == ["finishing what was interrupted", "asking for package lists", "installing lintian"]


def test_what_makes_a_root_is_installed_on_this_machine_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare machine has no mmdebstrap."""
    ran: list[tuple[type, str]] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv("RUN_NO_PACKAGES", raising=False)
    monkeypatch.setattr(Builder, "knows", lambda *_: False)
    monkeypatch.setattr(Builder, "run", lambda builder, title, *_, **__: ran.append((type(builder), title)))
    monkeypatch.setattr("bench.source.debroot.make", lambda suite, *_, **__: (tmp_path / "root").mkdir())
    RootBuilder("trixie", tmp_path, Steps(tmp_path / "log")).prepare([])
    assert [title for kind, title in ran if kind is Builder] == ["asking for package lists", "installing mmdebstrap"]


def test_in_a_fresh_clone_the_release_is_got_before_the_patches_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def made(version: str) -> list[changes.Patch]:
        order.append(f"patches {version}")
        raise BenchError("enough")

    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(deb.paths, "build_dir", lambda: tmp_path)
    monkeypatch.setattr(deb.Mirror, "source", lambda *_: SourcePackage(tmp_path, "0.15.1-1", (), ()))
    monkeypatch.setattr(deb.upstream, "fetch", lambda version, _: order.append(f"release {version}"))
    monkeypatch.setattr(deb.changes, "patches", made)
    with pytest.raises(BenchError, match="enough"):
        deb.execute(argparse.Namespace(suite="bookworm"))
    assert order == ["release 0.15.1", "patches 0.15.1"]


@pytest.mark.parametrize("suite", ["-oProxy", "a b", "../x"])
def test_a_suite_is_a_name(suite: str) -> None:
    with pytest.raises(BenchError, match="is not a suite"):
        deb.execute(argparse.Namespace(suite=suite))
