# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run tree: the series as commits of a git tree of upstream, and back.

`plant` makes the tree: the release, then one commit per patch, with the files that it brings. `harvest` takes each commit apart
again: hunks of upstream's files are the patch, all other files are kept in server/. A line of each message names the patch file,
while it is in the tree.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import brings, newfiles, patchfile, upstream
from bench.source.patchfile import Patch

_ORIGIN = "Series-patch: "
_WAITING = "SERIES_MESSAGE"
_RELEASE = "release "


@dataclass(frozen=True)
class Author:
    name: str
    email: str
    date: str = ""      # of all commits, if not the current one

    @property
    def signature(self) -> str:
        return f"{self.name} <{self.email}>"


SERIES = Author("series", "series", "@0 +0000")


class Tree:
    """A git tree. The output of git is the same whatever its configuration."""

    def __init__(self, folder: Path, who: Author = SERIES) -> None:
        self.folder = folder
        self._environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C.UTF-8",
                             **{f"GIT_{person}_{what}": value for person in ("AUTHOR", "COMMITTER")
                                for what, value in (("NAME", who.name), ("EMAIL", who.email), ("DATE", who.date)) if value}}

    def git(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(["git", "-C", self.folder, "-c", "diff.noprefix=false", *arguments], input=given, capture_output=True,
                              text=True, check=False, env=self._environment)
        if done.returncode:
            said = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")]
            raise BenchError((said or done.stderr.strip().splitlines() or [f"git {arguments[0]} in {self.folder} failed"])[-1])
        return done.stdout

    def begin(self, version: str) -> None:
        """The release as the first commit."""
        upstream.unpack(version, self.folder)
        self.git("init", "-q")
        (self.folder / ".git/info/exclude").write_text("*.rej\n*.orig\n/build*/\n")
        self.git("add", "-Af")
        self.commit(f"{_RELEASE}{version}\n")
        self.git("tag", version)

    def apply(self, diff: str, how: str = "-C1") -> None:
        if diff:
            self.git("apply", "--index", how, given=diff)

    def bring(self, file: Path) -> list[brings.New]:
        """Puts the new files of a patch into the tree."""
        kept = newfiles.sources()
        new = brings.files(file, [place for place in kept if (self.folder / place).exists()])
        for entry in new:
            if entry.file not in kept:
                raise BenchError(f"no folder of server/ has {entry.file.relative_to('server')}, which it brings")
            (self.folder / entry.file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / entry.file).write_bytes((paths.ROOT / kept[entry.file]).read_bytes())
        if new:
            self.git("add", "-f", "--", *(str(entry.file) for entry in new))
        return new

    def commit(self, message: str) -> None:
        self.git("commit", "-qa", "--allow-empty", "--cleanup=verbatim", "-F", "-", given=message)

    def check_clean(self, *how: str) -> None:
        if self.git("status", "--porcelain", *how):
            raise BenchError(f"{self.folder} has changes that are not committed: commit them first")

    def root(self) -> str:
        return self.git("rev-list", "--max-parents=0", "HEAD").strip()

    def version(self) -> str:
        """The release from which the tree was made."""
        try:
            subject = self.git("log", "-1", "--format=%s", self.root()).strip()
        except BenchError:
            subject = ""
        if not subject.startswith(_RELEASE):
            raise BenchError(f"{self.folder} is not a tree made by ./run tree", 2)
        return subject.removeprefix(_RELEASE)

    def commits(self) -> list[tuple[str, str, list[str]]]:
        """Hash, message and changed files of each commit after the release."""
        text = self.git("log", "--reverse", "--no-renames", "--name-only", "--format=%x01%H%x00%B%x00", f"{self.root()}..HEAD")
        parts = [part.split("\0") for part in text.split("\x01")[1:]]
        return [(commit, message, names.split()) for commit, message, names in parts]


def _origin(message: str) -> str:
    """The patch from which a commit was made: series and file name."""
    return next((line.removeprefix(_ORIGIN) for line in message.splitlines() if line.startswith(_ORIGIN)), "")


def plant(version: str, folder: Path) -> int:
    """Makes the tree, or continues one after a patch that did not apply was fixed. Returns the number of patches."""
    tree = Tree(folder)
    if not folder.exists() or not any(folder.iterdir()):
        if folder.exists():
            folder.rmdir()
        tree.begin(version)
    elif tree.version() != version:
        raise BenchError(f"{folder} is a tree of spice {tree.version()}: choose another folder", 2)
    tree.check_clean()
    there = {_origin(message) for _, message, _ in tree.commits()}
    patches = upstream.series()
    for named, file in zip(patches, upstream.series(version), strict=True):     # which may be a variant
        origin = f"{named.parent.name}/{named.name}"
        if origin in there:
            continue
        patch = patchfile.read(file)
        message = f"{patch.message}\n\n{_ORIGIN}{origin}\n"
        try:
            tree.bring(file)
            tree.apply(patch.diff)
        except BenchError as error:
            subprocess.run(["git", "-C", folder, "apply", "-C1", "--reject"], input=patch.diff, capture_output=True, text=True, check=False)
            (folder / ".git" / _WAITING).write_text(message)
            raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {version}: {error}; in {folder}, apply the *.rej by "
                             f"hand, git add -A, git commit -F .git/{_WAITING}, then run this command again") from None
        tree.commit(message)
    return len(patches)


def state() -> dict[Path, bytes]:
    """What plant() makes a tree from."""
    return {file: file.read_bytes() for file in (*map(paths.ROOT.joinpath, newfiles.sources().values()),
                                                 *(paths.ROOT / "patches").glob("*/**/*.patch"))}


def harvest(folder: Path, planted: dict[Path, bytes] | None = None) -> set[Path]:
    """Writes server/ and the patches of a tree, numbered in their order; for another release than the default, those patches that
    are not the same there. Of a new file the last state counts, whichever commit made it; a commit without anything else makes no
    patch, and one without _ORIGIN belongs to the series of the one before it. Writes nothing if state() is not `planted` any more.
    Returns the files that are new, gone or changed."""
    tree = Tree(folder)
    version, patches = tree.version(), paths.ROOT / "patches"
    tree.check_clean("-uno")
    released = set(tree.git("ls-tree", "-r", "--name-only", tree.root()).splitlines())
    waiting = set(tree.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()) - released
    there = {paths.ROOT / kept for kept in newfiles.sources().values()}
    kept: dict[Path, bytes] = {}
    wanted: dict[Path, bytes] = {}
    renamed: dict[str, str] = {}
    count = dict.fromkeys(upstream.names(), 0)
    name = next(iter(count))
    for commit, message, names in tree.commits():
        origin = _origin(message)
        name = Path(origin).parent.name or name
        if name not in count:
            raise BenchError(f"{commit[:8]} is of the series {name}, which patches/series does not name")
        theirs, new = [file for file in names if file in released], [Path(file) for file in names if file in waiting]
        waiting -= set(names)
        for file in new:
            if file.parts[0] != "server":
                raise BenchError(f"{commit[:8]} adds {file}: new files are in server/ only")
            kept[paths.ROOT / "server" / name / file.relative_to("server")] = (folder / file).read_bytes()
        if not theirs and not new:
            continue
        patch, stat = _patch(tree, commit, message, theirs, new)
        text = patchfile.text(patch, stat).encode()
        if version == upstream.DEFAULT:
            count[name] += 1
            renamed[origin] = f"{name}/{patch.name(count[name])}"
            wanted[patches / renamed[origin]] = text
        elif not patch.same_as(patchfile.read(patches / origin)):
            wanted[patches / Path(origin).parent / version / Path(origin).name] = text
    if version == upstream.DEFAULT:     # variants go along
        for file in patches.glob("*/*/*.patch"):
            if to := renamed.get(f"{file.parents[1].name}/{file.name}"):
                wanted[patches / Path(to).parent / file.parent.name / Path(to).name] = file.read_bytes()
    there |= set(patches.glob("*/**/*.patch" if version == upstream.DEFAULT else f"*/{version}/*.patch"))
    gone = there - wanted.keys() - kept.keys()
    if planted is not None and state() != planted:
        raise BenchError("server/ or patches/ was changed meanwhile, so nothing was written: run the command again")
    for file in gone:
        file.unlink()
    return gone | _write(kept) | _write(wanted)


def _write(wanted: dict[Path, bytes]) -> set[Path]:
    """Returns the files that differed."""
    differ = {file for file, data in wanted.items() if not file.is_file() or file.read_bytes() != data}
    for file in differ:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wanted[file])
    return differ


def _patch(tree: Tree, commit: str, message: str, theirs: list[str], new: list[Path]) -> tuple[Patch, str]:
    """What a commit changes of upstream's files, with little context, and its size as git prints it. The message names the new
    files."""
    head, *body = [line for line in message.strip().splitlines() if not line.startswith(_ORIGIN)] or [""]
    shown = tree.git("show", "--format=", "--no-color", "--no-ext-diff", "--no-renames", "-U1", "--stat=78", "--patch", commit, "--",
                     *theirs) if theirs else ""
    stat, found, diff = shown.partition("\ndiff --git ")
    # blob hashes change with every earlier patch, and are not needed
    diff = re.sub(r"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", "", found.lstrip("\n") + diff, flags=re.MULTILINE)
    return Patch(head, brings.corrected("\n".join(body), new), diff), stat


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Makes a git tree of a release with one commit per patch. Change, rebase and add commits there, then: "
                          "./run refresh DIR. Stops at a patch that does not apply; fix it, and call it again to continue.")
    parser.add_argument("tree", type=Path, metavar="DIR", help="folder to make")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"default {upstream.DEFAULT}")


def execute(args: argparse.Namespace) -> int:
    upstream.fetch(args.release, Steps(paths.build_dir() / "tree.log"))
    print(f"{args.tree}: {plant(args.release, args.tree)} patches on spice {args.release}")
    return 0
