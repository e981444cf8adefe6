# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run each: builds and tests after every patch of every exported series, on every release; with --whole at the end
of each series in every mode, or with --build as a distribution builds. What passed is recorded by its tree, so a later run
continues and repeats nothing."""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from pathlib import Path

from bench.build import bases, mesontest, overlay, upstream
from bench.common import paths
from bench.common.alone import alone
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import builds, export, mutants, otherroot

_WHO = export.Author("each", "each")
_DEFAULT = "default"    # without SPICE_STREAM
_AUTOTOOLS = "autotools"    # as _DEFAULT, but by upstream's other build system
_UNBUILT = "CHANGELOG.md"   # no build reads it, and it says what the patches' messages say
_CHOICES = re.compile(r"option\('stream-mode',[^)]*choices *: *\[([^]]*)\]")
_MODE = re.compile(r"option\('stream-mode',[^)]*?\bvalue *: *'([\w-]+)'")


@dataclass(frozen=True)
class Checked:
    """The record that a tree passed: a release after a patch and all before it."""
    release: str
    patch: str
    mode: str
    tree: str           # git's hash of the tree without _UNBUILT
    tests: int
    seconds: int
    when: str


def record_file() -> Path:
    return paths.ROOT / "patches" / "checked.csv"


def recorded() -> list[Checked]:
    if not record_file().is_file():
        return []
    with record_file().open(newline="", encoding="utf-8") as file:
        return [Checked(**{**row, "tests": int(row["tests"]), "seconds": int(row["seconds"])})   # type: ignore[arg-type]
                for row in csv.DictReader(file)]


def record(found: list[Checked]) -> None:
    part = record_file().with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Checked)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in sorted(found, key=lambda one: (one.release, one.patch, one.mode)))
    part.replace(record_file())


@dataclass(frozen=True)
class State:
    """A release after a patch, and a mode to test it in."""
    release: str
    patch: str
    mode: str
    commit: str
    tree: str

    def is_in(self, found: list[Checked]) -> bool:
        return any((one.release, one.patch, one.mode, one.tree) == (self.release, self.patch, self.mode, self.tree)
                   for one in found)


def choices(options: str) -> list[str]:
    """The modes that a tree's meson_options.txt offers; none before there are modes."""
    found = _CHOICES.search(options)
    return re.findall(r"'([\w-]+)'", found[1]) if found else []


def default_mode(options: str) -> list[str]:
    """meson's option for the default mode of a tree. A reused build folder would otherwise keep the mode of the last state, and
    test flow in mode batch."""
    found = _MODE.search(options)
    return [f"-Dstream-mode={found[1]}"] if found else []


def built_tree(tree: export.Tree) -> str:
    """git's hash of what is built of HEAD."""
    kept = [line for line in tree.git("ls-tree", "HEAD").splitlines(keepends=True) if not line.endswith(f"\t{_UNBUILT}\n")]
    return tree.git("mktree", given="".join(kept)).strip()


def states(version: str, folder: Path) -> tuple[export.Tree, list[State], list[State]]:
    """A git tree with every series; the states after each patch, and after each series in every mode that exists by then. Each
    series is based on another one: the last that is not optional contains all."""
    tree = export.Tree(version, folder, _WHO)
    each: list[State] = []
    whole: list[State] = []

    def now(patch: str, mode: str = _DEFAULT) -> State:
        return State(version, patch, mode, tree.git("rev-parse", "HEAD").strip(), built_tree(tree))

    for name, file in export.every_series(tree):
        patch = f"{name}/{file.name[:4]}"
        each.append(now(patch))
        if file == upstream.series(version, [name])[-1]:
            modes = choices((tree.folder / "meson_options.txt").read_text())
            whole += [now(patch, mode) for mode in (_DEFAULT, *modes)]
    # the tarball's times are years old, so files that a removed patch changed would seem up to date in the build folder
    for file in folder.rglob("*"):
        if file.is_file() and ".git" not in file.parts:
            os.utime(file)
    return tree, each, whole


def with_autotools(whole: list[State], tree: export.Tree) -> list[State]:
    """The states at the end of each series, for releases that still have a configure."""
    return [replace(state, mode=_AUTOTOOLS) for state in whole
            if state.mode == _DEFAULT and (tree.folder / "configure.ac").is_file()]


def as_built(whole: list[State], name: str) -> list[State]:
    """The state with all series that are not optional, for this build. A root of another architecture has what the default
    release needs."""
    last = [state for state in whole if state.mode == _DEFAULT and state.patch.split("/")[0] in upstream.built()]
    return [replace(state, mode=name) for state in last[-1:]
            if not builds.BUILDS[name].architecture or state.release == upstream.DEFAULT]


def _make(state: State, tree: export.Tree, folder: Path, steps: Steps, environment: dict[str, str]) -> int:
    """Builds and tests as a packager does, in a tree of its own, since it leaves much behind. Returns how many tests passed."""
    if not shutil.which("autoreconf"):
        raise BenchError("autoreconf is missing: install autoconf, automake, libtool and autoconf-archive", 2)
    if shutil.which("ccache"):
        environment = {"CC": "ccache gcc", "CXX": "ccache g++", **environment}
    what = f"{state.release} after {state.patch} with autotools"
    shutil.rmtree(folder, ignore_errors=True)
    tree.git("worktree", "prune")
    tree.git("worktree", "add", "--detach", str(folder), state.commit)
    jobs = f"-j{os.cpu_count() or 1}"
    for title, argv in ((f"configuring {what}", ["autoreconf", "-fi"]), (f"configuring {what}", ["./configure"]),
                        (f"building {what}", ["make", jobs])):
        steps.run(title, argv, quiet=True, cwd=folder, env=environment)
    steps.run(f"tests of {what}", [*mesontest.own_loopback(), "make", "check", jobs], quiet=True, cwd=folder,
              env=environment)
    passed = sum(":test-result: PASS" in result.read_text() for result in folder.rglob("*.trs"))
    shutil.rmtree(folder)
    return passed


def _check(state: State, tree: export.Tree, build: Path, steps: Steps, environment: dict[str, str]) -> Checked:
    began = time.monotonic()
    if state.mode == _AUTOTOOLS:
        return _passed(state, _make(state, tree, build.with_name(_AUTOTOOLS), steps, environment), began)
    what = f"{state.release} after {state.patch}"
    options = ["-Dmanual=false", "-Ddebug=false"]
    if state.mode in builds.BUILDS:
        kind = builds.BUILDS[state.mode]
        environment = {**environment, **kind.environment()}
        options += kind.options
        build = build.with_name(f"{build.name}-{state.mode}")
        what += f" as {state.mode}"
    tree.git("checkout", "-q", state.commit)
    options += default_mode((tree.folder / "meson_options.txt").read_text())
    if state.mode in builds.BUILDS and kind.architecture:
        return _passed(state, otherroot.check(what, tree.folder, kind.architecture, options, steps), began)
    bases.configure(what, tree.folder, build, options, steps, environment)
    steps.run(f"building {what}", ["ninja", "-C", build], quiet=True, env=environment)
    listed = mesontest.listed(build).keys()
    if state.mode == _DEFAULT or state.mode in builds.BUILDS:
        passed = mesontest.run_suite(f"tests of {what}", build, listed, steps)
    else:   # our tests choose their modes
        passed = mesontest.run_suite(f"upstream's tests of {what} in mode {state.mode}", build,
                                     listed - overlay.tests(), steps, env={"SPICE_STREAM": state.mode})
    if state.mode in builds.BUILDS:     # unlike the folder of a release, this one is not used again
        shutil.rmtree(build)
    return _passed(state, passed, began)


def _passed(state: State, tests: int, began: float) -> Checked:
    return Checked(state.release, state.patch, state.mode, state.tree, tests, round(time.monotonic() - began),
                   datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Builds each release after every patch of each series, as exported, and runs upstream's tests and those "
                          "brought so far. Skips what patches/checked.csv lists as passed. Stops at the first failure.")
    parser.add_argument("which", nargs="*", metavar="SERIES[/NUMBER]", help="only this series or patch (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--whole", action="store_true",
                     help="only after the last patch of each series, with upstream's tests in every mode")
    how.add_argument("--build", choices=[_AUTOTOOLS, *builds.BUILDS], metavar="NAME",
                     help="built another way: autotools, after the last patch of each series; "
                          f"all series together: {', '.join(builds.BUILDS)}")
    how.add_argument("--mutants", metavar="FILE", help="something else: changes this file of server/ one line at a time, and lists the "
                                                       "changes that no test notices; repeat it to continue")
    parser.add_argument("--release", action="append", choices=list(upstream.RELEASES), metavar="VERSION",
                        help=f"only this one: {', '.join(upstream.RELEASES)}; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="list what is left, build nothing")


def execute(args: argparse.Namespace) -> int:
    if args.mutants:
        with alone("each"):
            return mutants.execute(args.mutants)
    for name in args.which:
        upstream.below(name.split("/")[0])
    with alone("each"):
        return _go_on(args)


def _go_on(args: argparse.Namespace) -> int:
    steps = Steps(paths.build_dir() / "each.log")
    home = paths.cache_dir() / "each"
    source = home / "source"    # release by release, so that ccache finds what two states have in common
    kept: list[Checked] = recorded()
    wanted = 0
    left = []
    for version in args.release or upstream.RELEASES:
        upstream.fetch(version, steps)
        shutil.rmtree(source, ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        tree, each, whole = states(version, source)
        made = with_autotools(whole, tree)
        built = {name: as_built(whole, name) for name in builds.BUILDS}
        known = [*each, *whole, *made, *(state for states_of in built.values() for state in states_of)]
        now = [one for one in kept if one.release != version or any(state.is_in([one]) for state in known)]
        chosen = [state for state in ({**built, _AUTOTOOLS: made}[args.build] if args.build else whole if args.whole else each)
                  if not args.which or {state.patch, state.patch.split("/")[0]} & set(args.which)]
        unknown = {name for name in args.which if "/" in name} - {state.patch for state in known}
        if unknown:
            raise BenchError(f"release {version} has no {', '.join(sorted(unknown))}", 2)
        wanted += len(chosen)
        for state in chosen:
            if state.is_in(now):
                continue
            if args.dry_run:
                left.append(f"{state.release} {state.patch}{f' {state.mode}' if state.mode != _DEFAULT or args.whole else ''}")
                continue
            environment = {**upstream.protocol_environment(version, steps), **bases.LINKER}
            now.append(_check(state, tree, home / version, steps, environment))
            record(now)
        kept = now
    shutil.rmtree(source)
    if not wanted:
        raise BenchError(f"nothing of {', '.join(args.which) or ', '.join(args.release)} is built this way", 2)
    for line in left:
        print(line)
    if left:
        print(f"{len(left)} of {wanted} are left")
        return 1
    what = "whole series and modes" if args.whole else f"builds with {args.build}" if args.build else "patches"
    print(f"each of {wanted} {what} builds and passes, "
          f"{sum(one.seconds for one in kept)} s in all for what is recorded")
    return 0
