# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export: a series as mails. Each patch adds its new files and their lines in both build systems."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, overlay, patchfile, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import buildlists, faults

_COST = "<!-- modes: the first table of results/modes -->\n"
_DISTANCE = "<!-- distance: of results/distance and results/staleness -->\n"
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


class Tree:
    """A git tree of a release to which patches are added as they are exported; new tests are not listed beside one of
    away_from."""

    def __init__(self, version: str, folder: Path, who: Author, away_from: Sequence[str] = ()) -> None:
        self.version, self.folder, self._who, self._away_from = version, folder, who, away_from
        upstream.unpack(version, folder)
        self.git("init", "-q")
        self.git("add", "-Af")
        self.git("commit", "-qm", f"spice {version}")
        self.there: set[Path] = set()

    def git(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(["git", "-C", self.folder, "-c", "diff.noprefix=false", *arguments], input=given,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
                                   "LC_ALL": "C.UTF-8", **self._who.environment})
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("error: ")] or [done.stderr.strip()]
            raise BenchError(said[-1].removeprefix("error: "))
        return done.stdout

    def add(self, file: Path) -> None:
        """Commits one patch with all files that it adds."""
        patch = patchfile.read(file)
        try:
            if patch.diff:
                self.git("apply", "--index", "-C1", given=patch.diff)
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
            f"{patch.subject}\n\n{brings.without(patch.body)}\n\nSigned-off-by: {self._who.signature}\n"))


def make(version: str, name: str, folder: Path, who: Author, number: str = "") -> tuple[Tree, str]:
    """The tree with a series, or with one patch of it, on its base; also the commit before the series."""
    if name == NOT_EXPORTED:
        raise BenchError(f"{NOT_EXPORTED} is only for this repository: choose another series", 2)
    below = upstream.below(name)[:-1]
    files = upstream.series(version, [name])
    if number and number not in {file.name[:4] for file in files}:
        raise BenchError(f"{name} has no patch {number}: they are {files[0].name[:4]} to {files[-1].name[:4]}", 2)
    tree = Tree(version, folder, who)
    for file in upstream.series(version, below):
        tree.add(file)
    base = tree.git("rev-parse", "HEAD").strip()
    for file in files:
        if number in ("", file.name[:4]):
            tree.add(file)
    return tree, base


def _with(name: str) -> str:
    """The base of a series, for a sentence."""
    below = upstream.below(name)[:-1]
    return f" with {', '.join(below[:-1])}{' and ' if below[1:] else ''}{below[-1]}" if below else ""


def _figures(name: str) -> str:
    """The figures for the cover letter; of fixes, who can trigger them."""
    if name == "tls":
        modes = (paths.ROOT / "docs/modes.md").read_text(encoding="utf-8")
        cost, distance = (modes.split(marker)[1].split("<!-- end -->")[0] for marker in (_COST, _DISTANCE))
        return ("Protocol overhead of each mode over TLS on a LAN: TLS, TCP/IP and Ethernet bytes in percent of the message bytes.\n\n"
                f"{cost}\nA desktop session over TLS and long round trips, with all series:\n\n{distance}")
    if name == faults.SERIES:
        return f"Who can trigger each:\n\n{faults.rows()}"
    return ""


def _cover(name: str, tree: Tree, base: str, who: Author) -> str:
    """The cover letter: the series' README without links, and the figures."""
    title, _, text = (paths.ROOT / "patches" / name / "README.md").read_text(encoding="utf-8").partition("\n")
    count = tree.git("rev-list", "--count", f"{base}..HEAD").strip()
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return (f"From: {who.signature}\nSubject: [PATCH 0/{count}] {title.removeprefix('# ')}\n\n{text.strip()}\n\n"
            f"{_figures(name)}\n\nFor spice {tree.version}{_with(name)}.\n\n{tree.git('diff', '--shortstat', base, 'HEAD').strip()}\n")


def export(version: str, name: str, target: Path, who: Author, number: str = "") -> list[Path]:
    """Writes the mails of a series into an empty or new folder; returns those that are patches. A single patch gets no cover
    letter, as that describes the whole series."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BenchError(f"{target} exists and is not empty: choose another folder", 2)
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree, base = make(version, name, Path(work, "tree"), who, number)
        mails = Path(work, "mails")
        tree.git("format-patch", "-q", "-n", "--no-renames", "-o", str(mails), base)
        if not number:
            Path(mails, "0000-cover-letter.txt").write_text(_cover(name, tree, base, who), encoding="utf-8")
        target.mkdir(parents=True, exist_ok=True)
        for mail in sorted(mails.iterdir()):
            shutil.move(mail, target / mail.name)
    return sorted(target.glob("*.patch"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Writes a series as mails for git am, with a cover letter (0000-cover-letter.txt). fixes applies to a "
                          "release, every other series on the series it needs.")
    parser.add_argument("which", metavar="SERIES[/NUMBER]", help=f"{', '.join(name for name in upstream.bases() if name != NOT_EXPORTED)}; "
                        "one patch of it: fixes/0009")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"upstream's (default {upstream.DEFAULT})")
    parser.add_argument("folder", type=Path, metavar="DIR", help="for the mails")


def execute(args: argparse.Namespace) -> int:
    name, _, number = args.which.partition("/")
    upstream.fetch(args.release, Steps(paths.build_dir() / "export.log"))
    mails = export(args.release, name, args.folder, author(), number)
    print(f"{args.folder}: {len(mails)} {'patch' if len(mails) == 1 else 'patches'} for spice {args.release}{_with(name)}")
    return 0
