# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run each, with a build that only counts."""

from __future__ import annotations

import argparse
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.build import upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps
from bench.runs import modes
from bench.series import builds, each, export, otherroot
from bench.series.each import Checked, State


class Stand:
    """Instead of a git tree and builds: two patches, of which `broken` fails."""
    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.trees = ["t1", "t2"]
        self.broken = ""
        self.built: list[str] = []
        monkeypatch.setattr(paths, "ROOT", tmp_path)
        monkeypatch.setattr(upstream, "fetch", lambda *_: None)
        monkeypatch.setattr(upstream, "below", lambda name: [name])
        monkeypatch.setattr(upstream, "built", lambda: ["fixes"])
        monkeypatch.setattr(upstream, "protocol_environment", lambda *_: {})
        monkeypatch.setattr(each, "states", self.states)
        monkeypatch.setattr(each, "_check", self.check)
        monkeypatch.setenv("SPICE_BENCH_BUILD", str(tmp_path / "build"))
        monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))
        (tmp_path / "patches").mkdir()

    def states(self, version: str, folder: Path) -> tuple[SimpleNamespace, list[State], list[State]]:
        folder.mkdir()
        (folder / "configure.ac").touch()
        each_ = [State(version, f"fixes/000{number}", "default", "c", tree)
                 for number, tree in enumerate(self.trees, 1)]
        return SimpleNamespace(folder=folder), each_, [replace(state, mode=mode) for state in (each_[-1], replace(each_[-1], patch="all"))
                             for mode in ("default", "batch")]

    def check(self, state: State, *_: object) -> Checked:
        if state.tree == self.broken:
            raise StepFailed("tests failed", [])
        self.built.append(state.tree)
        return Checked(state.release, state.patch, state.mode, state.tree, 26, 3, "today")

    def run(self, *, left: bool = False, whole: bool = False, build: str | None = None,
            which: tuple[str, ...] = ()) -> int:
        return each.execute(argparse.Namespace(release=["0.15.2"], dry_run=left, whole=whole, build=build, which=which,
                                               mutants=None))


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    return Stand(monkeypatch, tmp_path)


def test_what_has_passed_is_recorded_and_not_done_again(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.broken = "t2"
    with pytest.raises(BenchError, match="tests failed"):
        stand.run()
    assert [one.patch for one in each.recorded()] == ["fixes/0001"]
    assert stand.run(left=True) == 1
    assert capsys.readouterr().out == "0.15.2 fixes/0002\n1 of 2 are left\n"
    stand.broken = ""
    assert stand.run() == 0
    assert stand.run() == 0
    assert stand.built == ["t1", "t2"]
    assert each.record_file().read_text().splitlines() == [
        "release,patch,mode,tree,tests,seconds,when", "0.15.2,fixes/0001,default,t1,26,3,today",
        "0.15.2,fixes/0002,default,t2,26,3,today"]


def test_one_patch_is_tried_alone(stand: Stand) -> None:
    with pytest.raises(BenchError, match="release 0.15.2 has no fixes/0003"):
        stand.run(which=("fixes/0002", "fixes/0003"))
    assert stand.run(which=("fixes/0002",)) == 0
    assert [one.patch for one in each.recorded()] == ["fixes/0002"]


def test_whole_series_are_tried_in_every_mode_but_for_what_has_passed(stand: Stand,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    stand.run()
    assert stand.run(left=True, whole=True) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "0.15.2 fixes/0002 batch", "0.15.2 all default", "0.15.2 all batch", "3 of 4 are left"]
    assert stand.run(whole=True) == 0
    assert stand.run() == 0
    assert [(one.patch, one.mode) for one in each.recorded()] == [
        ("all", "batch"), ("all", "default"), ("fixes/0001", "default"), ("fixes/0002", "batch"),
        ("fixes/0002", "default")]


def test_whole_series_are_built_with_autotools_too(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.run(whole=True)
    assert stand.run(left=True, build="autotools") == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "0.15.2 fixes/0002 autotools", "0.15.2 all autotools", "2 of 2 are left"]
    assert stand.run(build="autotools") == 0
    assert [(one.patch, one.mode) for one in each.recorded() if one.mode != "batch"] == [
        ("all", "autotools"), ("all", "default"), ("fixes/0002", "autotools"), ("fixes/0002", "default")]


def test_a_distributions_build_is_of_all_that_is_not_optional(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.run()
    assert stand.run(left=True, build="clang") == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["0.15.2 fixes/0002 clang", "1 of 1 are left"]
    assert stand.run(build="clang") == 0
    assert stand.run(build="clang") == 0
    assert stand.run() == 0
    assert [(one.patch, one.mode) for one in each.recorded()] == [
        ("fixes/0001", "default"), ("fixes/0002", "clang"), ("fixes/0002", "default")]


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds.shutil, "which", lambda _program: None)
    with pytest.raises(BenchError, match="clang is missing: apt-get install --no-install-recommends clang"):
        builds.BUILDS["clang"].environment()


def test_what_make_check_passed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a tree of its own, which is gone after it; a second time, too, and where one fails."""
    source = tmp_path / "source"
    source.mkdir()

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", source, "-c", "user.name=a", "-c", "user.email=a", *arguments], text=True,
                              capture_output=True, check=True).stdout.strip()

    script = "#!/bin/sh\nexit 0\n"
    (source / "configure").write_text(script)
    (source / "Makefile").write_text("all:\ncheck:\n\tfor t in a b; do echo ':test-result: PASS' >$$t.trs; done\n"
                                     "\techo ':test-result: SKIP' >c.trs; test ! -e wrong\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/autoreconf").write_text(script)
    for file in (source / "configure", tmp_path / "bin/autoreconf"):
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    tree = SimpleNamespace(folder=source, git=git)

    def made() -> int:
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", "x")
        state = State("0.15.2", "all", "autotools", git("rev-parse", "HEAD"), "t")
        return each._make(state, tree, tmp_path / "made", Steps(tmp_path / "log"), {})  # type: ignore[arg-type]

    git("init", "-q")
    assert [made(), made()] == [2, 2] and not (tmp_path / "made").exists()
    (source / "wrong").touch()
    with pytest.raises(StepFailed, match="tests of 0.15.2 after all with autotools failed"):
        made()


def test_what_there_is_to_try(tmp_path: Path) -> None:
    """Each patch; each series at its end, in every mode where there are modes. Nothing is older than the build."""
    upstream.fetch(upstream.DEFAULT, Steps(tmp_path / "log"))
    began = (tmp_path / "log").stat().st_mtime
    _, one_by_one, whole = each.states(upstream.DEFAULT, tmp_path / "tree")
    every = ["default", *(mode for mode in modes.MODES if mode != modes.STOCK)]
    before_flow = [mode for mode in every if mode != "flow"]      # what there is before the series flow
    exported = [name for name in upstream.bases() if name != export.NOT_EXPORTED]
    last = {name: f"{name}/{upstream.series(names=[name])[-1].name[:4]}" for name in exported}
    assert [one.patch for one in one_by_one] == [f"{file.parent.name}/{file.name[:4]}"
                                                 for file in upstream.series(names=exported)]
    assert [(one.patch, one.mode) for one in whole] == [
        (last["fixes"], "default"), *((last["tls"], mode) for mode in before_flow),
        *((last[name], mode) for name in ("flow", "catchup", "display", "stats", "kernel") for mode in every)]
    assert len({one.tree for one in one_by_one + whole}) == len(one_by_one)
    assert (tmp_path / "tree/README").stat().st_mtime >= began


def test_a_tree_is_what_is_built(tmp_path: Path) -> None:
    def git(*arguments: str, given: str = "") -> str:
        return subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a", *arguments], text=True, input=given,
                              capture_output=True, check=True).stdout

    def tree(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        return each.built_tree(SimpleNamespace(git=git))  # type: ignore[arg-type]

    git("init", "-q")
    first = tree("a.c", "")
    assert tree("CHANGELOG.md", "new") == first
    assert tree("a.c", "int a;") != first


def test_a_patch_that_changed_is_done_again_and_what_it_was_is_forgotten(stand: Stand) -> None:
    stand.run()
    stand.trees = ["t1", "new"]
    assert stand.run() == 0
    assert stand.built == ["t1", "t2", "new"]
    assert [one.tree for one in each.recorded()] == ["t1", "new"]


def test_a_state_is_built_with_its_own_default_mode() -> None:
    """Not with that of the state built before it in the same folder."""
    options = (paths.ROOT / "subprojects" / upstream.wrap()["directory"] / "meson_options.txt").read_text()
    assert each.default_mode(options) == ["-Dstream-mode=flow"]
    assert each.default_mode(options.replace("'flow',", "'batch',", 1)) == ["-Dstream-mode=batch"]
    assert each.default_mode("option('tests', value : true)") == []


def test_another_architecture_is_built_for_the_default_release_alone() -> None:
    whole = [State("", "stats/0001", "default", "c", "t")]
    assert {name: [version for version in upstream.RELEASES if each.as_built([replace(whole[0], release=version)], name)]
            for name in ("i386", "clang")} == {"i386": [upstream.DEFAULT], "clang": list(upstream.RELEASES)}


def test_the_root_has_what_the_library_needs_and_no_emulator() -> None:
    named = otherroot.packages()
    assert {"g++", "meson", "libpixman-1-dev", "libgdk-pixbuf-2.0-dev"} <= set(named) and "qemu-system-x86" not in named


def test_what_is_not_built_this_way_is_no_success(stand: Stand) -> None:
    stand.run()
    for which, build in ((("devel",), None), (("fixes/0001",), "clang")):
        with pytest.raises(BenchError, match=f"nothing of {which[0]} is built this way"):
            stand.run(which=which, build=build)
