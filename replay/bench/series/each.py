# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run each: builds and tests after every patch of every exported series, on every release. What passed is recorded by its tree,
so a later run continues and repeats nothing."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps, alone
from bench.series import builds, export, patchtree
from bench.series.builds import AUTOTOOLS, BUILDS, DEFAULT, I386
from bench.source import bases, upstream

_UNBUILT = "CHANGELOG.md"   # no build reads it, and it says what the patches' messages say


@dataclass(frozen=True)
class State:
    """A release after a patch, and how to build and test it."""
    release: str
    patch: str
    how: str
    commit: str
    tree: str           # git's hash of the tree without _UNBUILT


def record_file() -> Path:
    """One line per state that passed: tree, how, and for people the rest."""
    return paths.cache_dir() / "each" / "passed.txt"


def passed() -> set[tuple[str, ...]]:
    lines = record_file().read_text(encoding="utf-8").splitlines() if record_file().is_file() else []
    return {tuple(line.split()[:2]) for line in lines}


def built_tree(tree: patchtree.Tree) -> str:
    """git's hash of what is built of HEAD."""
    kept = [line for line in tree.git("ls-tree", "HEAD").splitlines(keepends=True) if not line.endswith(f"\t{_UNBUILT}\n")]
    return tree.git("mktree", given="".join(kept)).strip()


def states(tree: export.Mails, build: str | None, whole: bool) -> Iterator[State]:
    """Adds each patch to a git tree; yields what there is to build and test after it."""
    for name in upstream.exported():
        files = upstream.series(tree.release, [name])
        for file in files:
            tree.add(file)
            ways = [DEFAULT] if not (whole or build) else _ways(tree, name, build) if file == files[-1] else []
            for how in ways:
                yield State(tree.release, f"{name}/{file.name[:4]}", how, tree.git("rev-parse", "HEAD").strip(), built_tree(tree))


def _ways(tree: export.Mails, name: str, build: str | None) -> list[str]:
    """How to build the end of a series."""
    if not build:
        return [DEFAULT, *builds.modes(tree.folder)]
    if build == AUTOTOOLS:      # which newer releases do not have
        return [build] if (tree.folder / "configure.ac").is_file() else []
    return [build] if name == upstream.built()[-1] and (build != I386 or tree.release == upstream.DEFAULT) else []


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


def execute(args: argparse.Namespace) -> int:
    for name in args.which:
        upstream.below(name.split("/")[0])
    with alone("each"):
        count = sum(_release(version, args) for version in args.release or upstream.RELEASES)
    if not count:
        raise BenchError(f"nothing of {', '.join(args.which or args.release)} is built this way", 2)
    print(f"each of {count} states builds and passes")
    return 0


def _release(version: str, args: argparse.Namespace) -> int:
    """Checks what has not passed; returns the number of states."""
    steps = Steps(paths.build_dir() / "each.log")
    upstream.fetch(version, steps)
    home = paths.cache_dir() / "each"
    source = home / "source"    # release by release, so that ccache finds what two states have in common
    shutil.rmtree(source, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    tree = export.Mails(version, source, patchtree.SERIES)
    known = list(states(tree, args.build, args.whole))
    unknown = {name for name in args.which if "/" in name} - {state.patch for state in known}
    if unknown and not (args.build or args.whole):
        raise BenchError(f"release {version} has no {', '.join(sorted(unknown))}", 2)
    chosen = [state for state in known if not args.which or {state.patch, state.patch.split("/")[0]} & set(args.which)]
    # the tarball's times are years old, so files that a removed patch changed would seem up to date in the build folder
    for file in source.rglob("*"):
        if file.is_file() and ".git" not in file.parts:
            os.utime(file)
    env = {**upstream.protocol_environment(version, steps), **bases.LINKER}
    for state in chosen:
        if (state.tree, state.how) not in passed():
            began = time.monotonic()
            tree.git("checkout", "-q", state.commit)
            tests = builds.check(f"{version} after {state.patch}", state.how, source, home / version, steps, env)
            with record_file().open("a", encoding="utf-8") as file:
                file.write(f"{state.tree} {state.how} {version} {state.patch}: {tests} tests, {time.monotonic() - began:.0f} s\n")
    shutil.rmtree(source)
    return len(chosen)
