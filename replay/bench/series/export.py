# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export: a series as mails. Each patch adds its new files and their lines in both build systems."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, overlay, patchfile, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import buildlists, faults

_MEASURE = ("./run compare vga-text-boot linux-boot linux-desktop linux-video --transports tls \\\n"
            "        --modes stock,normal,gather,cork,more,window,batch")
NOT_EXPORTED = upstream.DEVEL


@dataclass(frozen=True)
class Author:
    name: str
    email: str

    @property
    def signature(self) -> str:
        return f"{self.name} <{self.email}>"

    @property
    def environment(self) -> dict[str, str]:
        return {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", self.name), ("EMAIL", self.email))}


def author() -> Author:
    """The author of an export, from git's configuration."""
    found = [subprocess.run(["git", "-C", paths.ROOT, "config", f"user.{key}"], capture_output=True, text=True,
                            check=False).stdout.strip() for key in ("name", "email")]
    if not all(found):
        raise BenchError("the mails are signed off: set user.name and user.email with git config", 2)
    return Author(*found)


# Lines of context that tell where a change goes if patches before it are missing: more of them join hunks, between which nothing may be
# missing then. The last diff tells only which functions it changes.
CONTEXTS = (10, 6, 4, 0)


class Tree:
    """A git tree of a release to which patches are added as they are exported; new tests are not listed beside one of
    away_from."""

    def __init__(self, version: str, folder: Path, who: Author, away_from: Sequence[str] = ()) -> None:
        self.version, self.folder, self.who, self._away_from = version, folder, who, away_from
        upstream.unpack(version, folder)
        self.git("init", "-q")
        self.git("add", "-Af")
        self.git("commit", "-qm", f"spice {version}")
        self.there: set[Path] = set()
        self._ends: dict[str, set[Path]] = {}       # of the series that are there, each tagged with its name
        self._end(upstream.RELEASE)
        self.placed: dict[Path, list[str]] = {}     # the diffs of their patches

    def _end(self, name: str) -> None:
        self.git("tag", name)
        self._ends[name] = set(self.there)

    def at(self, name: str) -> None:
        """Checks out the end of a series, or the release."""
        for _ in self.grow(name):
            pass

    def grow(self, name: str) -> Iterator[Path]:
        """The same; what is not there yet is made on its base. Yields each patch after its commit."""
        if name not in self._ends:
            yield from self.grow(upstream.bases()[name])
            for file in upstream.series(self.version, [name]):
                self.placed[file] = self.add(file, contexts=CONTEXTS)
                yield file
            self._end(name)
        self.git("checkout", "-qf", name)
        self.there = set(self._ends[name])

    def git(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(["git", "-C", self.folder, "-c", "diff.noprefix=false", *arguments], input=given,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
                                   "LC_ALL": "C.UTF-8", **self.who.environment})
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("error: ")] or [done.stderr.strip()]
            raise BenchError(said[-1].removeprefix("error: "))
        return done.stdout

    def add(self, file: Path, placed: Sequence[str] = (), contexts: Sequence[int] = ()) -> list[str]:
        """Commits one patch with all files that it adds. Returns its changes to other files as a diff for each of `contexts`, in lines.
        placed: those of CONTEXTS, if patches before it are missing, as the patch's own lines could be found in another place."""
        patch = patchfile.read(file)
        try:
            if placed and patch.diff:
                self._place(placed, patch.diff)
            elif patch.diff:
                self.git("apply", "--index", "-C1", given=patch.diff)
            found = [self.git("diff", "--cached", f"-U{lines}") for lines in contexts]
            new = brings.said(patch.body)
            new += brings.headers(paths.ROOT, new, self.there | {entry.file for entry in new})
            kept = overlay.sources(paths.ROOT)
            for entry in new:
                upstream.copy_new(kept[entry.file], self.folder / entry.file)
            buildlists.add(self.folder, new, self._away_from)
            buildlists.tell(self.folder, self.version, brings.changes(patch.body))
        except BenchError as error:
            raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {self.version}: {error}") from None
        self.there |= {entry.file for entry in new}
        self.git("add", "-Af")
        self.git("commit", "-q", "--cleanup=verbatim", "-F", "-", given=(
            f"{patch.subject}\n\n{brings.without(patch.body)}\n\nSigned-off-by: {self.who.signature}\n"))
        return found

    def _place(self, placed: Sequence[str], diff: str) -> None:
        """Applies the first that changes the right functions; git tries all lines of its context before fewer."""
        for least, one in [(least, one) for least in (3, 2, 1) for one in (*placed[:-1], diff)]:
            try:
                self.git("apply", "--index", f"-C{least}", given=one)
            except BenchError:
                continue
            if functions(self.git("diff", "--cached", "-U0")) == functions(placed[-1]):
                return
            self.git("reset", "-q", "--hard")
        raise BenchError("it needs patches before it")


def functions(diff: str) -> list[str]:
    """The files and functions that the hunks of a diff without context change. Of a function the name, as arguments may be others."""
    found = []
    for line in diff.splitlines():
        if line.startswith("+++ "):
            found.append(line)
        elif line.startswith("@@ "):
            found.append("".join(re.findall(r"[\w:~]+", line.split(" @@", 1)[1].partition("(")[0])[-1:]))
    return found


def _patches(version: str, one: str) -> list[Path]:
    """Those of a series, or one of them: fixes/0009."""
    name, _, number = one.partition("/")
    if name == NOT_EXPORTED:
        raise BenchError(f"{NOT_EXPORTED} is only for this repository: choose another series", 2)
    if name not in upstream.bases():
        raise BenchError(f"unknown series {name}: choose one of {', '.join(one for one in upstream.bases() if one != NOT_EXPORTED)}", 2)
    files = upstream.series(version, [name])
    found = [file for file in files if number in ("", file.name[:4])]
    if not found:
        raise BenchError(f"{name} has no patch {number}: they are {files[0].name[:4]} to {files[-1].name[:4]}", 2)
    return found


def make(tree: Tree, which: Sequence[str]) -> str:
    """Commits series or single patches, in this order, on the base of the first; returns the commit before them."""
    chosen = {one: _patches(tree.version, one) for one in which}
    series = {one: one.partition("/")[0] for one in which}
    single = {series[one] for one in which if "/" in one}
    for name in sorted(single):     # where all of its patches are applied tells where one belongs
        tree.at(name)
    tree.at(upstream.bases()[series[which[0]]])
    base = tree.git("rev-parse", "HEAD").strip()
    for one, files in chosen.items():
        for file in files:
            tree.add(file, tree.placed[file] if series[one] in single else ())
    return base


def every_series(tree: Tree) -> Iterator[tuple[str, Path]]:
    """Commits each series on its base, which is tagged with its name, and tags the end of it. Yields the name and the patch after
    each commit; the tag of a series comes after its last one."""
    for name in upstream.bases():
        if name != NOT_EXPORTED:
            for file in tree.grow(name):
                yield name, file


def _with(which: Sequence[str]) -> str:
    """The base of the first, for a sentence."""
    below = upstream.below(which[0].partition("/")[0])[:-1]
    return f" with {', '.join(below[:-1])}{' and ' if below[1:] else ''}{below[-1]}" if below else ""


def _table(mark: str, wanted: Callable[[str], bool]) -> str:
    """The columns of a table of docs/modes.md whose headings are wanted."""
    text = (paths.ROOT / "docs/modes.md").read_text(encoding="utf-8").split(f"<!-- {mark}:")[1].split("<!-- end -->")[0]
    rows = [line[1:-1].split("|") for line in text.splitlines()[1:]]
    kept = [number for number, head in enumerate(rows[0]) if wanted(head.strip())]
    return "".join(f"|{'|'.join(row[number] for number in kept)}|\n" for row in rows)


def _figures(name: str) -> str:
    """The figures for the cover letter; of fixes, who can trigger them."""
    if name == "tls":
        [posted] = re.findall(r"^For comparison, figures posted (?:.+\n)+", (paths.ROOT / "results/README.md").read_text(encoding="utf-8"),
                              re.MULTILINE)
        return ("Protocol overhead of each mode over TLS on a LAN, at full speed: TLS, TCP/IP and Ethernet bytes in percent of the\n"
                "message bytes; in brackets the bytes on the wire in percent of those of `stock`, the release. The other columns were\n"
                "measured with all series of the repository built: `batch` then also delays drawings of a burst, for up to 2 ms, to\n"
                f"send them together.\n\n{_table('modes', lambda head: not head.startswith('flow'))}\n"
                "The lower bound is the release without TLS:\n\n"
                f"{_table('overhead', lambda head: head in ('session', 'stock, no TLS'))}\n{posted}\n"
                f"In the repository of this series, this command measures the first four rows:\n\n    {_MEASURE}\n")
    if name == faults.SERIES:
        return f"Who can trigger each:\n\n{faults.rows()}"
    return ""


def _cover(which: Sequence[str], name: str, tree: Tree, base: str) -> str:
    """The cover letter: the series' README without links, and the figures."""
    title, _, text = (paths.ROOT / "patches" / name / "README.md").read_text(encoding="utf-8").partition("\n")
    count = tree.git("rev-list", "--count", f"{base}..HEAD").strip()
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return (f"From: {tree.who.signature}\nSubject: [PATCH 0/{count}] {title.removeprefix('# ')}\n\n{text.strip()}\n\n"
            f"{_figures(name)}\n\nFor spice {tree.version}{_with(which)}.\n\n{tree.git('diff', '--shortstat', base, 'HEAD').strip()}\n")


def mails(tree: Tree, which: Sequence[str], base: str, folder: Path) -> None:
    """Writes the commits since base, and the cover letter of the last whole series, if there is one."""
    tree.git("format-patch", "-q", "-n", "--no-renames", "-o", str(folder), base)
    for name in [one for one in which if "/" not in one][-1:]:
        Path(folder, "0000-cover-letter.txt").write_text(_cover(which, name, tree, base), encoding="utf-8")


def export(version: str, which: Sequence[str], target: Path, who: Author) -> list[Path]:
    """Writes the mails of series or single patches into an empty or new folder; returns those that are patches."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BenchError(f"{target} exists and is not empty: choose another folder", 2)
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree = Tree(version, Path(work, "tree"), who)
        base = make(tree, which)
        written = Path(work, "mails")
        mails(tree, which, base, written)
        _put(sorted(written.iterdir()), target)
    return sorted(target.glob("*.patch"))


def _put(files: Sequence[Path], target: Path) -> None:
    """All files, or none: a folder with a part of a series would be sent."""
    target.mkdir(parents=True, exist_ok=True)
    try:
        for file in files:
            shutil.copy(file, target / file.name)
    except OSError as error:
        for file in files:
            (target / file.name).unlink(missing_ok=True)
        raise BenchError(f"{target}: {error.strerror}") from None


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Writes a series as mails for git am, with a cover letter (0000-cover-letter.txt). fixes applies to a "
                          "release, every other series on the series it needs. Several apply in their order, on what the first one needs.")
    parser.add_argument("which", metavar="SERIES[/NUMBER]", nargs="+", help=f"{', '.join(name for name in upstream.bases() if name != NOT_EXPORTED)}; "
                        "one patch of it: fixes/0009")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"upstream's (default {upstream.DEFAULT})")
    parser.add_argument("folder", type=Path, metavar="DIR", help="for the mails")


def execute(args: argparse.Namespace) -> int:
    upstream.fetch(args.release, Steps(paths.build_dir() / "export.log"))
    count = len(export(args.release, args.which, args.folder, author()))
    print(f"{args.folder}: {count} {'patch' if count == 1 else 'patches'} for spice {args.release}{_with(args.which)}")
    return 0
