# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export: a series as mails. Each patch adds its new files and their lines in both build systems."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.build import brings, patchfile, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import buildlists, faults, patchtree
from bench.series.patchtree import Author

# The modes of each series that a table of its cover letter compares.
MODES = {"tls": ["stock", "cork", "batch"], "modes": ["stock", "normal", "gather", "more", "window"]}


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


class Mails(patchtree.Tree):
    """A tree in which each commit is as it is sent. New tests are not listed beside one of away_from, whose lines somebody else
    changes."""

    def __init__(self, version: str, folder: Path, who: Author, away_from: Sequence[str] = ()) -> None:
        super().__init__(folder, who)
        self.release, self.who, self._away_from = version, who, away_from
        self.begin(version)

    def add(self, file: Path, placed: Sequence[str] = (), contexts: Sequence[int] = ()) -> list[str]:
        """Commits one patch with all files that it adds. Returns its changes to other files as a diff for each of `contexts`, in lines.
        placed: those of CONTEXTS, if patches before it are missing, as the patch's own lines could be found in another place."""
        patch = patchfile.read(file)
        try:
            self._place(placed, patch.diff) if placed and patch.diff else self.apply(patch.diff)
            found = [self.git("diff", "--cached", f"-U{lines}") for lines in contexts]
            buildlists.add(self.folder, self.bring(file), self._away_from)
            buildlists.tell(self.folder, self.release, brings.changes(patch.body))
        except BenchError as error:
            raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {self.release}: {error}") from None
        self.commit(f"{patch.subject}\n\n{brings.without(patch.body)}\n\nSigned-off-by: {self.who.signature}\n")
        return found

    def _place(self, placed: Sequence[str], diff: str) -> None:
        """Applies the first that changes the right functions; git tries all lines of its context before fewer."""
        for least, one in [(least, one) for least in (3, 2, 1) for one in (*placed[:-1], diff)]:
            try:
                self.apply(one, least)
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
    files = upstream.series(version, upstream.below(name)[-1:])
    found = [file for file in files if number in ("", file.name[:4])]
    if not found:
        raise BenchError(f"{name} has no patch {number}: " + (f"they are {files[0].name[:4]} to {files[-1].name[:4]}" if files else
                                                              "it is empty"), 2)
    return found


def make(version: str, which: Sequence[str], folder: Path, who: Author) -> tuple[Mails, str]:
    """The tree with series or single patches, in this order, on what the first needs; also the commit before them."""
    files = [file for one in which for file in _patches(version, one)]
    placed = _placed(version, dict.fromkeys(one.partition("/")[0] for one in which if "/" in one), who)
    tree = Mails(version, folder, who)
    for file in upstream.series(version, upstream.below(which[0].partition("/")[0])[:-1]):
        tree.add(file)
    base = tree.git("rev-parse", "HEAD").strip()
    for file in files:
        tree.add(file, placed.get(file, ()))
    return tree, base


def _placed(version: str, names: Iterable[str], who: Author) -> dict[Path, list[str]]:
    """The diffs of each patch of these series, where all of them are applied."""
    found: dict[Path, list[str]] = {}
    for name in names:
        with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
            tree = Mails(version, Path(work, "tree"), who)
            for file in upstream.series(version, upstream.below(name)):
                found[file] = tree.add(file, contexts=CONTEXTS)
    return found


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
    if name == faults.SERIES:
        return f"Who can trigger each:\n\n{faults.rows()}"
    if name not in MODES:
        return ""
    others = {mode for of, modes in MODES.items() for mode in modes if of != name} | {"flow"}
    [posted] = re.findall(r"^For comparison, figures posted (?:.+\n)+", (paths.ROOT / "results/README.md").read_text(encoding="utf-8"),
                          re.MULTILINE)
    return ("Protocol overhead of each mode over TLS on a LAN, at full speed: TLS, TCP/IP and Ethernet bytes in percent of the\n"
            "message bytes; in brackets the bytes on the wire in percent of those of `stock`, the release. All columns but stock's\n"
            "were measured with all series of the repository built: `batch` then also delays drawings of a burst, for up to 2 ms, to\n"
            f"send them together.\n\n{_table('modes', lambda head: head in MODES[name] or not others & {*head.split()})}\n"
            "The lower bound is the release without TLS:\n\n"
            f"{_table('overhead', lambda head: head in ('session', 'stock, no TLS'))}\n{posted}\n"
            "In the repository of this series, this command measures the first four rows:\n\n"
            "    ./run compare vga-text-boot linux-boot linux-desktop linux-video --transports tls \\\n"
            f"        --modes {','.join(MODES[name])}\n")


def _cover(which: Sequence[str], name: str, tree: Mails, base: str) -> str:
    """The cover letter: the series' README without links, and the figures."""
    title, _, text = (paths.ROOT / "patches" / name / "README.md").read_text(encoding="utf-8").partition("\n")
    count = tree.git("rev-list", "--count", f"{base}..HEAD").strip()
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return (f"From: {tree.who.signature}\nSubject: [PATCH 0/{count}] {title.removeprefix('# ')}\n\n{text.strip()}\n\n"
            f"{_figures(name)}\n\nFor spice {tree.release}{_with(which)}.\n\n{tree.git('diff', '--shortstat', base, 'HEAD').strip()}\n")


def mails(tree: Mails, version: str, which: Sequence[str], base: str, folder: Path) -> None:
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
        tree, base = make(version, which, Path(work, "tree"), who)
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
    parser.add_argument("which", metavar="SERIES[/NUMBER]", nargs="+", help=f"{', '.join(upstream.exported())}; "
                        "one patch of it: fixes/0009")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"upstream's (default {upstream.DEFAULT})")
    parser.add_argument("folder", type=Path, metavar="DIR", help="for the mails")


def execute(args: argparse.Namespace) -> int:
    upstream.fetch(args.release, Steps(paths.build_dir() / "export.log"))
    count = len(export(args.release, args.which, args.folder, author()))
    print(f"{args.folder}: {count} {'patch' if count == 1 else 'patches'} for spice {args.release}{_with(args.which)}")
    return 0
