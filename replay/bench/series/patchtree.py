# SPDX-License-Identifier: LGPL-2.1-or-later
"""The series as commits of a git tree of upstream, and back.

`plant` makes the tree: the release, then one commit per patch, with the files that it brings. `harvest` takes each commit apart
again: hunks of upstream's files are the patch, all other files are kept in server/. A line of each message names the patch file,
while it is in the tree.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, newfiles, patchfile, upstream
from bench.build.patchfile import Patch
from bench.common import paths
from bench.common.errors import BenchError

_FROM = "Series-patch: "
_VARIANT = "Series-variant: "
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


_SERIES = Author("series", "series", "@0 +0000")


class Tree:
    """A git tree. The output of git is the same whatever its configuration."""

    def __init__(self, folder: Path, who: Author = _SERIES) -> None:
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

    def apply(self, diff: str, least: int = 1) -> None:
        """`least`: lines of context that must match."""
        if diff:
            self.git("apply", "--index", f"-C{least}", given=diff)

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

    def root(self) -> str:
        return self.git("rev-list", "--max-parents=0", "HEAD").strip()

    def commits(self) -> list[tuple[str, str, list[str]]]:
        """Hash, message and changed files of each commit after the release."""
        text = self.git("log", "--reverse", "--no-renames", "--name-only", "--format=%x01%H%x00%B%x00", f"{self.root()}..HEAD")
        parts = [part.split("\0") for part in text.split("\x01")[1:]]
        return [(commit, message, names.split()) for commit, message, names in parts]

    def version(self) -> str:
        """The release from which the tree was made."""
        try:
            subject = self.git("log", "-1", "--format=%s", self.root()).strip()
        except BenchError:
            subject = ""
        if not subject.startswith(_RELEASE):
            raise BenchError(f"{self.folder} is not a tree made by ./run tree", 2)
        return subject.removeprefix(_RELEASE)


def _origin(message: str, key: str = _FROM) -> str:
    return next((line.removeprefix(key) for line in message.splitlines() if line.startswith(key)), "")


def _key(file: Path, version: str) -> str:
    """Identifies a patch and its variants: series and file name."""
    folder = file.parent.parent if file.parent.name == version else file.parent
    return f"{folder.name}/{file.name}"


def plant(version: str, folder: Path) -> int:
    """Makes the tree, or continues one after a patch that did not apply was fixed. Returns the number of patches."""
    tree = Tree(folder)
    if not folder.exists() or not any(folder.iterdir()):
        if folder.exists():
            folder.rmdir()
        tree.begin(version)
    elif tree.version() != version:
        raise BenchError(f"{folder} is a tree of spice {tree.version()}: choose another folder", 2)
    if tree.git("status", "--porcelain"):
        raise BenchError(f"{folder} has changes that are not committed: commit them first")
    there = {_origin(message) for _, message, _ in tree.commits()}
    patches = upstream.series(version)
    for file in patches:
        key = _key(file, version)
        if key in there:
            continue
        patch = patchfile.read(file)
        message = f"{patch.message}\n\n{_FROM}{key}\n"
        variant = f"{_VARIANT}yes\n"
        try:
            tree.bring(file)
            tree.apply(patch.diff)
        except BenchError as error:
            if patch.diff:      # leave what applies
                subprocess.run(["git", "-C", folder, "apply", "-C1", "--reject"], input=patch.diff, capture_output=True, text=True,
                               check=False)
            (folder / ".git" / _WAITING).write_text(message + (variant if version != upstream.DEFAULT else ""))
            raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {version}: {error}; in {folder}, apply the *.rej by "
                             f"hand, git add -A, git commit -F .git/{_WAITING}, then run this command again") from None
        tree.commit(message + (variant if file.parent.name == version else ""))
    return len(patches)


@dataclass(frozen=True)
class _Commit:
    hash: str
    message: str
    series: str
    theirs: list[str]       # the files of upstream that it changes
    new: list[Path]         # those that it adds, and that are in the tree to the end


def _commits(tree: Tree) -> list[_Commit]:
    """The commits of a tree. One without the name of a patch belongs to the series of the one before it."""
    released = set(tree.git("ls-tree", "-r", "--name-only", tree.root()).splitlines())
    waiting = set(tree.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()) - released
    name, *_ = upstream.names()
    found = []
    for commit, message, changed in tree.commits():
        name = Path(_origin(message)).parent.name or name
        if name not in upstream.names():
            raise BenchError(f"{commit[:8]} is of the series {name}, which patches/series does not name")
        new = [file for file in changed if file in waiting]
        waiting -= set(new)
        for file in new:
            if not file.startswith("server/"):
                raise BenchError(f"{commit[:8]} adds {file}: new files are in server/ only")
        found.append(_Commit(commit, message, name, [file for file in changed if file in released], [Path(file) for file in new]))
    return found


def harvest(folder: Path) -> list[Path]:
    """Writes server/ and the patches of a tree, numbered in their order; for another release than the default, the variants. Of a
    new file the last state counts, whichever commit made it; a commit without anything else makes no patch. Returns the files that
    are new, gone or changed."""
    tree = Tree(folder)
    version = tree.version()
    if tree.git("status", "--porcelain", "-uno"):
        raise BenchError(f"{folder} has changes that are not committed: commit them first")
    commits = _commits(tree)
    kept = {paths.ROOT / "server" / commit.series / file.relative_to("server"): (folder / file).read_bytes()
            for commit in commits for file in commit.new}
    changed = _replace([paths.ROOT / file for file in newfiles.sources().values()], kept)
    patches = paths.ROOT / "patches"
    wanted: dict[Path, bytes] = {}
    renamed: dict[str, str] = {}
    count = dict.fromkeys(upstream.names(), 0)
    for commit in commits:
        if not commit.theirs and not commit.new:
            continue
        patch, stat = _patch(tree, commit)
        text = patchfile.text(patch, stat).encode()
        origin = _origin(commit.message)
        if version == upstream.DEFAULT:
            count[commit.series] += 1
            renamed[origin] = f"{commit.series}/{patch.name(count[commit.series])}"
            wanted[patches / renamed[origin]] = text
        elif _origin(commit.message, _VARIANT):
            wanted[patches / Path(origin).parent / version / Path(origin).name] = text
    changed += _replace(list(patches.glob("*/*.patch" if version == upstream.DEFAULT else f"*/{version}/*.patch")), wanted)
    if version == upstream.DEFAULT:
        _move_variants(patches, renamed)
    return changed


def _patch(tree: Tree, commit: _Commit) -> tuple[Patch, str]:
    """Its changes to upstream's files, with little context, and their size as git prints it. The message names the new
    files."""
    head, *body = [line for line in commit.message.strip().splitlines() if not line.startswith((_FROM, _VARIANT))] or [""]
    shown = (tree.git("show", "--format=", "--no-color", "--no-ext-diff", "--no-renames", "-U1", "--stat=78", "--patch", commit.hash,
                      "--", *commit.theirs) if commit.theirs else "")
    stat, found, diff = shown.partition("\ndiff --git ")
    # blob hashes change with every earlier patch, and are not needed
    diff = re.sub(r"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", "", found.lstrip("\n") + diff, flags=re.MULTILINE)
    return Patch(head, brings.corrected("\n".join(body), commit.new), diff), stat


def _replace(there: list[Path], wanted: dict[Path, bytes]) -> list[Path]:
    before = {file: file.read_bytes() for file in there}
    changed = [file for file in before.keys() | wanted.keys() if before.get(file) != wanted.get(file)]
    for file in changed:
        if file in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(wanted[file])
        else:
            file.unlink()
    return sorted(changed)


def _move_variants(folder: Path, renamed: dict[str, str]) -> None:
    """Renames variants along with their patches, all at once, as one may get the old name of another."""
    texts = {}
    for file in folder.glob("*/*/*.patch"):
        origin = f"{file.parents[1].name}/{file.name}"
        if renamed.get(origin) != origin:
            texts[file] = file.read_text(encoding="utf-8")
            file.unlink()
    for file, text in texts.items():
        origin = f"{file.parents[1].name}/{file.name}"
        if origin in renamed:
            target = folder / Path(renamed[origin]).parent / file.parent.name / Path(renamed[origin]).name
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
