# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export: a series as mails. Each patch adds its new files and their lines in both build systems."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.common import atomic, commit, paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.report.stored import POSTED, Stored, overhead, overheads
from bench.series import buildlists, faults, patchtree
from bench.series.patchtree import Author
from bench.source import brings, patchfile, upstream

COMPARED = ("tls", "modes")     # the cover letters of these series compare modes
_MEASURE = ("./run compare vga-text-boot linux-boot linux-desktop linux-video --transports tls \\\n"
            "        --modes stock,normal,gather,cork,more,window,batch")


def author() -> Author:
    """The author of an export, from git's configuration."""
    name, email = (commit.git("config", f"user.{key}") for key in ("name", "email"))
    if not name or not email:
        raise BenchError("the mails are signed off: set user.name and user.email with git config", 2)
    return Author(name, email)


class Mails(patchtree.Tree):
    """A tree in which each commit is as it is sent."""

    def __init__(self, version: str, folder: Path, who: Author) -> None:
        super().__init__(folder, who)
        self.release, self.who = version, who
        self.begin(version)
        self.whole: dict[Path, str] = {}        # what each patch of the series that are there changes
        self._ends = {"": self.git("rev-parse", "HEAD").strip()}

    def at(self, names: Sequence[str]) -> str:
        """Checks out the end of the last of these series, which are made once, or the release. Returns the commit."""
        before = ""
        for name in names:
            if name not in self._ends:
                self.git("checkout", "-qf", self._ends[before])
                for file in upstream.series(self.release, [name]):
                    self.whole[file] = self.add(file)
                self._ends[name] = self.git("rev-parse", "HEAD").strip()
            before = name
        self.git("checkout", "-qf", self._ends[before])
        return self._ends[before]

    def add(self, file: Path, elsewhere: str = "") -> str:
        """Commits one patch with all files that it adds. `elsewhere`: what it changes where patches before it are not missing; git
        merges that. Returns what it changes of upstream's files."""
        patch = patchfile.read(file)
        try:
            self.apply(elsewhere or patch.diff, "--3way" if elsewhere else "-C1")
            found = self.git("diff", "--cached", "--full-index")
            buildlists.add(self.folder, self.bring(file))
            buildlists.tell(self.folder, self.release, brings.changes(patch.body))
        except BenchError as error:
            raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {self.release}"
                             f"{' without patches before it' if elsewhere else ''}: {error}") from None
        self.commit(f"{patch.subject}\n\n{brings.without(patch.body)}\n\nSigned-off-by: {self.who.signature}\n")
        return found


def _patches(version: str, one: str) -> list[Path]:
    """Those of a series, or one of them: fixes/0009."""
    name, _, number = one.partition("/")
    files = upstream.series(version, upstream.below(name)[-1:])
    found = [file for file in files if number in ("", file.name[:4])]
    if not found:
        raise BenchError(f"{name} has no patch {number}" + (f": they are {files[0].name[:4]} to {files[-1].name[:4]}" if files else ""), 2)
    return found


def make(tree: Mails, which: Sequence[str]) -> str:
    """Commits series or single patches, in this order, on what the first needs; returns the commit before them."""
    files = {one: _patches(tree.release, one) for one in which}
    series = {one: one.partition("/")[0] for one in which}
    single = {series[one] for one in which if "/" in one}
    for name in single:     # git merges what its patches change where none is missing
        tree.at(upstream.below(name))
    base = tree.at(upstream.below(series[which[0]])[:-1])
    for one in which:
        for file in files[one]:
            tree.add(file, tree.whole[file] if series[one] in single else "")
    return base


def _with(which: Sequence[str]) -> str:
    """The base of the first, for a sentence."""
    below = upstream.below(which[0].partition("/")[0])[:-1]
    return f" with {', '.join(below[:-1])}{' and ' if below[1:] else ''}{below[-1]}" if below else ""


def _figures(name: str) -> str:
    """The figures for the cover letter; of fixes, who can trigger them."""
    if name == faults.SERIES:
        return f"Who can trigger each:\n\n{faults.rows()}"
    if name not in COMPARED:
        return ""
    stored = Stored()
    return ("Protocol overhead of each mode over TLS on a LAN, at full speed: TLS, TCP/IP and Ethernet bytes in percent of the\n"
            "message bytes; in brackets the bytes on the wire in percent of those of `stock`, the release. All other columns were\n"
            "measured with all series of the repository built: `batch` then also delays drawings of a burst, for up to 2 ms, to\n"
            f"send them together; `flow` is a mode of the series flow.\n\n{overheads(stored, 'modes', 'modes/made')}\n\n"
            f"The lower bound is the release without TLS:\n\n{overhead(stored)}\n\n{POSTED}\n"
            f"In the repository of this series, this command measures the first four rows:\n\n    {_MEASURE}\n")


def _cover(which: Sequence[str], name: str, tree: Mails, base: str) -> str:
    """The cover letter: the series' README without links, and the figures."""
    title, _, text = (paths.ROOT / "patches" / name / "README.md").read_text(encoding="utf-8").partition("\n")
    count = tree.git("rev-list", "--count", f"{base}..HEAD").strip()
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return (f"From: {tree.who.signature}\nSubject: [PATCH 0/{count}] {title.removeprefix('# ')}\n\n{text.strip()}\n\n"
            f"{_figures(name)}\n\nFor spice {tree.release}{_with(which)}.\n\n{tree.git('diff', '--shortstat', base, 'HEAD').strip()}\n")


def mails(tree: Mails, which: Sequence[str], base: str, folder: Path) -> None:
    """Writes the commits since base, and the cover letter of the last whole series, if there is one."""
    tree.git("format-patch", "-q", "-n", "--no-renames", "-o", str(folder), base)
    for name in [one for one in which if "/" not in one][-1:]:
        atomic.write_text(folder / "0000-cover-letter.txt", _cover(which, name, tree, base))


def export(version: str, which: Sequence[str], target: Path, who: Author) -> list[Path]:
    """Writes the mails of series or single patches into an empty or new folder; returns those that are patches."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BenchError(f"{target} exists and is not empty: choose another folder", 2)
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree = Mails(version, Path(work, "tree"), who)
        base = make(tree, which)
        target.mkdir(parents=True, exist_ok=True)
        try:
            mails(tree, which, base, target.absolute())
        except BaseException:       # a folder with a part of a series would be sent
            for file in target.iterdir():
                file.unlink()
            raise
    return sorted(target.glob("*.patch"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Writes a series as mails for git am, with a cover letter (0000-cover-letter.txt). fixes applies to a "
                          "release, every other series on the series it needs. Several apply in their order, on what the first one needs.")
    parser.add_argument("which", metavar="SERIES[/NUMBER]", nargs="+", help=f"{', '.join(upstream.exported())}; "
                        "one patch of it: fixes/0009")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"upstream's (default {upstream.DEFAULT})")
    parser.add_argument("folder", type=Path, metavar="DIR", help="for the mails")


def execute(args: argparse.Namespace) -> int:
    upstream.fetch(args.release, Steps(paths.build_dir() / "export.log"))
    count = len(export(args.release, args.which, args.folder, author()))
    print(f"{args.folder}: {count} {'patch' if count == 1 else 'patches'} for spice {args.release}{_with(args.which)}")
    return 0
