# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run each: builds and tests after every patch of every exported series, on every release; with --whole at the end
of each series in every mode, or with --build as a distribution builds. What passed is recorded by its tree, so a later run
continues and repeats nothing."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.build import bases, upstream
from bench.common import paths
from bench.common.alone import alone
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import builds, export
from bench.series.builds import AUTOTOOLS, BUILDS, DEFAULT

_WHO = export.Author("each", "each")
_UNBUILT = "CHANGELOG.md"   # no build reads it, and it says what the patches' messages say


@dataclass(frozen=True)
class State:
    """A release after a patch, and how to build and test it."""
    release: str
    patch: str
    how: str
    commit: str
    tree: str           # git's hash of the tree without _UNBUILT

    @property
    def line(self) -> str:
        """What is recorded of one that passed."""
        return f"{self.tree} {self.how}"


def record_file() -> Path:
    return paths.cache_dir() / "each" / "passed.txt"


def passed() -> set[str]:
    """The first two words of each line; the rest is for people."""
    lines = record_file().read_text(encoding="utf-8").splitlines() if record_file().is_file() else []
    return {" ".join(line.split()[:2]) for line in lines}


def built_tree(tree: export.Mails) -> str:
    """git's hash of what is built of HEAD."""
    kept = [line for line in tree.git("ls-tree", "HEAD").splitlines(keepends=True) if not line.endswith(f"\t{_UNBUILT}\n")]
    return tree.git("mktree", given="".join(kept)).strip()


def states(tree: export.Mails, build: str | None, whole: bool) -> Iterator[State]:
    """Adds each patch to a git tree; yields what there is to build and test after it."""
    last = {name: files[-1] for name in upstream.exported() if (files := upstream.series(tree.release, [name]))}
    for name in last:
        for file in upstream.series(tree.release, [name]):
            tree.add(file)
            if not (whole or build) or file == last[name]:
                for how in _ways(tree, name, build, whole):
                    yield State(tree.release, f"{name}/{file.name[:4]}", how, tree.git("rev-parse", "HEAD").strip(), built_tree(tree))


def _ways(tree: export.Mails, name: str, build: str | None, whole: bool) -> list[str]:
    """How to build the end of a series."""
    if build == AUTOTOOLS:      # which newer releases do not have
        return [build] if (tree.folder / "configure.ac").is_file() else []
    if build:                   # a root of another architecture has what the default release needs
        fits = not BUILDS[build].architecture or tree.release == upstream.DEFAULT
        return [build] if fits and name == upstream.built()[-1] else []
    return [DEFAULT, *(builds.modes(tree.folder) if whole else [])]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Builds each release after every patch of each series, as exported, and runs upstream's tests and those "
                          "brought so far. Skips what has passed on this machine. Stops at the first failure.")
    parser.add_argument("which", nargs="*", metavar="SERIES[/NUMBER]", help="only this series or patch (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--whole", action="store_true",
                     help="only after the last patch of each series, with upstream's tests in every mode")
    how.add_argument("--build", choices=[AUTOTOOLS, *BUILDS], metavar="NAME",
                     help="built another way: autotools, after the last patch of each series; "
                          f"all series together: {', '.join(BUILDS)}")
    parser.add_argument("--release", action="append", choices=list(upstream.RELEASES), metavar="VERSION",
                        help=f"only this one: {', '.join(upstream.RELEASES)}; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="list what is left, build nothing")


def execute(args: argparse.Namespace) -> int:
    for name in args.which:
        upstream.below(name.split("/")[0])
    with alone("each"):
        return _go_on(args)


def _go_on(args: argparse.Namespace) -> int:
    steps = Steps(paths.build_dir() / "each.log")
    home = paths.cache_dir() / "each"
    source = home / "source"    # release by release, so that ccache finds what two states have in common
    home.mkdir(parents=True, exist_ok=True)
    before = passed()
    count, left = 0, []
    for version in args.release or upstream.RELEASES:
        upstream.fetch(version, steps)
        shutil.rmtree(source, ignore_errors=True)
        tree = export.Mails(version, source, _WHO)
        known = list(states(tree, args.build, args.whole))
        chosen = [state for state in known if not args.which or {state.patch, state.patch.split("/")[0]} & set(args.which)]
        unknown = {name for name in args.which if "/" in name} - {state.patch for state in known}
        if unknown and not (args.build or args.whole):
            raise BenchError(f"release {version} has no {', '.join(sorted(unknown))}", 2)
        count += len(chosen)
        # the tarball's times are years old, so files that a removed patch changed would seem up to date in the build folder
        for file in source.rglob("*"):
            if file.is_file() and ".git" not in file.parts:
                os.utime(file)
        for state in chosen:
            if state.line in before:
                continue
            if args.dry_run:
                left.append(f"{state.release} {state.patch}{f' {state.how}' if state.how != DEFAULT or args.whole else ''}")
                continue
            _record(state, _check(state, tree, home / version, steps))
    shutil.rmtree(source)
    if not count:
        raise BenchError(f"nothing of {', '.join(args.which) or ', '.join(args.release)} is built this way", 2)
    for line in left:
        print(line)
    if left:
        print(f"{len(left)} of {count} are left")
        return 1
    what = "whole series and modes" if args.whole else f"builds with {args.build}" if args.build else "patches"
    print(f"each of {count} {what} builds and passes")
    return 0


def _check(state: State, tree: export.Mails, build: Path, steps: Steps) -> str:
    """Builds and tests; returns what to record beside the state."""
    began = time.monotonic()
    tree.git("checkout", "-q", state.commit)
    environment = {**upstream.protocol_environment(state.release, steps), **bases.LINKER}
    tests = builds.check(f"{state.release} after {state.patch}", state.how, tree.folder, build, steps, environment)
    return f"{tests} tests, {time.monotonic() - began:.0f} s"


def _record(state: State, said: str) -> None:
    with record_file().open("a", encoding="utf-8") as file:
        file.write(f"{state.line} {state.release} {state.patch}: {said}\n")
