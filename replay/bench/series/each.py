# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run each: every patch of every exported series built and tested by itself, on every release; what passed is recorded
by what the tree was, so that it goes on where it was and does nothing twice."""

from __future__ import annotations

import argparse
import csv
import shutil
import time
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path

from bench.build import bases, mesontest, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import export

_WHO = export.Author("each", "each")


@dataclass(frozen=True)
class Checked:
    """That the tree passed which a release is after a patch and all before it."""
    release: str
    patch: str
    tree: str           # git's name of all files in it
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
        writer.writerows(asdict(one) for one in sorted(found, key=lambda one: (one.release, one.patch)))
    part.replace(record_file())


@dataclass(frozen=True)
class State:
    """What a release is after a patch."""
    release: str
    patch: str
    commit: str
    tree: str

    def is_in(self, found: list[Checked]) -> bool:
        return any((one.release, one.patch, one.tree) == (self.release, self.patch, self.tree) for one in found)


def states(version: str, folder: Path) -> tuple[export.Tree, list[State]]:
    """A git tree with every series, and what it is after each patch of each."""
    tree = export.Tree(version, folder, _WHO)
    tree.git("tag", upstream.RELEASE)
    found = []
    brought = {upstream.RELEASE: set(tree.there)}
    for name, base in upstream.bases().items():
        if name == export.NOT_EXPORTED:
            continue
        tree.git("checkout", "-q", base)
        tree.there = set(brought[base])
        for file in upstream.series(version, [name]):
            tree.add(file)
            commit, files = tree.git("rev-parse", "HEAD", "HEAD^{tree}").split()
            found.append(State(version, f"{name}/{file.name[:4]}", commit, files))
        tree.git("tag", name)
        brought[name] = tree.there
    return tree, found


def _check(state: State, tree: export.Tree, build: Path, steps: Steps, environment: dict[str, str]) -> Checked:
    began = time.monotonic()
    what = f"{state.release} after {state.patch}"
    tree.git("checkout", "-q", state.commit)
    bases.configure(what, tree.folder, build, ["-Dmanual=false"], steps, environment)
    steps.run(f"building {what}", ["ninja", "-C", build], quiet=True, env=environment)
    passed = mesontest.run_suite(f"tests of {what}", build, mesontest.listed(build), steps)
    return Checked(state.release, state.patch, state.tree, passed, round(time.monotonic() - began),
                   datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Builds each release after every patch of each series as it is exported, and runs upstream's "
                          "tests and those that have come. What has passed is in patches/checked.csv and is not done again. "
                          "Stops at the first that fails.")
    parser.add_argument("--release", action="append", choices=list(upstream.RELEASES), help="only this one; may be repeated")
    parser.add_argument("--series", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--list", action="store_true", help="say what is left, and do nothing")


def execute(args: argparse.Namespace) -> int:
    for name in args.series or []:
        upstream.below(name)
    steps = Steps(paths.build_dir() / "each.log")
    home = paths.cache_dir() / "each"
    shutil.rmtree(home / "sources", ignore_errors=True)
    kept: list[Checked] = recorded()
    wanted = 0
    left = []
    for version in args.release or upstream.RELEASES:
        upstream.fetch(version, steps)
        source = home / "sources" / version
        source.parent.mkdir(parents=True, exist_ok=True)
        tree, found = states(version, source)
        now = [one for one in kept if one.release != version or any(state.is_in([one]) for state in found)]
        chosen = [state for state in found if not args.series or state.patch.split("/")[0] in args.series]
        wanted += len(chosen)
        for state in chosen:
            if state.is_in(now):
                continue
            if args.list:
                left.append(f"{state.release} {state.patch}")
                continue
            environment = upstream.protocol_environment(version, steps)
            now.append(_check(state, tree, home / version, steps, environment))
            record(now)
        kept = now
    shutil.rmtree(home / "sources")
    for line in left:
        print(line)
    if left:
        print(f"{len(left)} of {wanted} are left")
        return 1
    print(f"each of {wanted} patches builds and passes, {sum(one.seconds for one in kept)} s in all for what is recorded")
    return 0
