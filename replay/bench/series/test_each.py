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

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps
from bench.runs import modes
from bench.series import builds, each, export, patchtree
from bench.series.each import State
from bench.source import upstream


class Stand:
    """Instead of a git tree and builds: two patches, of which `broken` fails."""
    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.trees = ["t1", "t2"]
        self.broken = ""
        self.built: list[str] = []
        monkeypatch.setattr(paths, "ROOT", tmp_path)
        monkeypatch.setattr(upstream, "fetch", lambda *_: None)
        monkeypatch.setattr(upstream, "below", lambda name: [name])
        monkeypatch.setattr(export, "Mails", lambda version, folder, who: SimpleNamespace(release=version, folder=folder, git=lambda *_: ""))
        monkeypatch.setattr(each, "states", self.states)
        monkeypatch.setattr(builds, "check", self.check)
        monkeypatch.setattr(upstream, "protocol_environment", lambda *_: {})
        monkeypatch.setenv("SPICE_BENCH_BUILD", str(tmp_path / "build"))
        monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path / "cache"))

    def states(self, tree: SimpleNamespace, build: str | None, whole: bool) -> list[State]:
        tree.folder.mkdir()
        found = [State(tree.release, f"fixes/000{number}", build or "default", "c", name) for number, name in enumerate(self.trees, 1)]
        return [replace(found[-1], how=how) for how in ("default", "batch")] if whole else found[-1:] if build else found

    def check(self, what: str, how: str, *_: object) -> int:
        tree = self.trees[int(what[-1]) - 1]
        if tree == self.broken:
            raise StepFailed("tests failed", [])
        self.built.append(f"{tree} {how}")
        return 26

    def run(self, *, whole: bool = False, build: str | None = None,
            which: tuple[str, ...] = ()) -> int:
        return each.execute(argparse.Namespace(release=["0.15.2"], whole=whole, build=build, which=which, mutants=None))


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    return Stand(monkeypatch, tmp_path)


def test_what_has_passed_is_recorded_and_not_done_again(stand: Stand) -> None:
    stand.broken = "t2"
    with pytest.raises(BenchError, match="tests failed"):
        stand.run()
    assert stand.built == ["t1 default"]
    stand.broken = ""
    assert stand.run() == 0
    assert stand.run() == 0
    assert stand.built == ["t1 default", "t2 default"]
    assert each.record_file().read_text() == ("t1 default 0.15.2 fixes/0001: 26 tests, 0 s\n"
                                              "t2 default 0.15.2 fixes/0002: 26 tests, 0 s\n")


def test_one_patch_is_tried_alone(stand: Stand) -> None:
    with pytest.raises(BenchError, match="release 0.15.2 has no fixes/0003"):
        stand.run(which=("fixes/0002", "fixes/0003"))
    assert stand.run(which=("fixes/0002",)) == 0
    assert stand.built == ["t2 default"]


def test_whole_series_are_tried_in_every_mode_but_for_what_has_passed(stand: Stand) -> None:
    stand.run()
    assert stand.run(whole=True) == 0
    assert stand.built == ["t1 default", "t2 default", "t2 batch"]


def test_another_build_is_another_state(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.run()
    for build in ("autotools", "clang", "clang"):
        assert stand.run(build=build) == 0
    assert stand.built == ["t1 default", "t2 default", "t2 autotools", "t2 clang"]
    assert capsys.readouterr().out.splitlines()[-1] == "each of 1 states builds and passes"


def test_a_patch_that_changed_is_done_again(stand: Stand) -> None:
    stand.run()
    stand.trees = ["t1", "new"]
    assert stand.run() == 0
    assert stand.built == ["t1 default", "t2 default", "new default"]


def test_what_make_check_passed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy, which is gone after it; a second time, too, and where one fails."""
    source = tmp_path / "source"
    source.mkdir()
    script = "#!/bin/sh\nexit 0\n"
    (source / "configure").write_text(script)
    (source / "Makefile").write_text("all:\ncheck:\n\tfor t in a b; do echo ':test-result: PASS' >$$t.trs; done\n"
                                     "\techo ':test-result: SKIP' >c.trs; test ! -e wrong\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/autoreconf").write_text(script)
    for file in (source / "configure", tmp_path / "bin/autoreconf"):
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    def made() -> int:
        return builds.check("0.15.2 after all", builds.AUTOTOOLS, source, tmp_path / "build", Steps(tmp_path / "log"), {})

    assert [made(), made()] == [2, 2] and sorted(file.name for file in source.iterdir()) == ["Makefile", "configure"]
    assert not (tmp_path / builds.AUTOTOOLS).exists()
    (source / "wrong").touch()
    with pytest.raises(StepFailed, match="tests of 0.15.2 after all with autotools failed"):
        made()


def test_what_there_is_to_try(tmp_path: Path) -> None:
    """Each series at its end, in every mode that it has."""
    upstream.fetch(upstream.DEFAULT, Steps(tmp_path / "log"))
    files = upstream.series(of=upstream.exported())
    last = {file.parent.name: f"{file.parent.name}/{file.name[:4]}" for file in files}
    every = {"default", *modes.MODES} - {modes.STOCK}
    whole = list(each.states(export.Mails(upstream.DEFAULT, tmp_path / "tree", patchtree.SERIES), None, True))
    ways = {patch: {one.how for one in whole if one.patch == patch} for patch in last.values()}
    assert list(ways) == list(dict.fromkeys(one.patch for one in whole)) and ways[last["fixes"]] == {"default"}
    assert {"default", "batch"} <= ways[last["tls"]] < every
    assert all(ways[patch] == every for name, patch in last.items() if name not in ("fixes", "tls", "modes"))
    assert len({one.tree for one in whole}) == len(last)


def test_each_patch_is_tried_and_other_builds_are_of_ends(tmp_path: Path) -> None:
    files = upstream.series(of=upstream.exported())
    last = {file.parent.name: f"{file.parent.name}/{file.name[:4]}" for file in files}
    (tmp_path / "configure.ac").touch()
    tree = SimpleNamespace(release=upstream.DEFAULT, folder=tmp_path, add=lambda _: None, git=lambda *_, **__: "")

    def tried(build: str | None) -> list[str]:
        return [one.patch for one in each.states(tree, build, False)]    # type: ignore[arg-type]

    assert tried(None) == [f"{file.parent.name}/{file.name[:4]}" for file in files]
    assert tried("autotools") == list(last.values()) and tried("clang") == [last[upstream.built()[-1]]]


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


def test_a_tree_says_its_modes(tmp_path: Path) -> None:
    """The default, with which it is built, first: not with that of the state built before it in the same folder."""
    options = tmp_path / "meson_options.txt"
    options.write_text("option('a', value : 'x')\noption('stream-mode', type : 'combo',\n    choices : ['batch', 'cork'],\n"
                       "    value : 'cork',\n    description : 'y')\n")
    assert builds.modes(tmp_path) == ["cork", "batch"]
    options.write_text("option('a', value : 'x')\n")
    assert builds.modes(tmp_path) == []


def test_another_architecture_is_built_for_the_default_release_alone(tmp_path: Path) -> None:
    (tmp_path / "configure.ac").touch()
    [*_, last] = upstream.built()
    assert {how: [version for version in upstream.RELEASES
                  if each._ways(SimpleNamespace(folder=tmp_path, release=version), last, how)]   # type: ignore[arg-type]
            for how in ("i386", "clang", "autotools")} == {
                "i386": [upstream.DEFAULT], "clang": list(upstream.RELEASES), "autotools": list(upstream.RELEASES)}


def test_the_root_has_what_the_library_needs_and_no_emulator() -> None:
    named = builds.packages()
    assert {"g++", "meson", "libpixman-1-dev", "libgdk-pixbuf-2.0-dev"} <= set(named) and "qemu-system-x86" not in named


def test_what_is_not_built_this_way_is_no_success(stand: Stand) -> None:
    for which, build in ((("tls",), None), (("fixes/0001",), "clang")):
        with pytest.raises(BenchError, match=f"nothing of {which[0]} is built this way"):
            stand.run(which=which, build=build)
