# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run rebase: which patches apply to an unknown release, and with which variant."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.build import brings, overlay, patchfile, upstream
from bench.common import paths, table
from bench.common.errors import BenchError
from bench.series import buildlists
from bench.series.export import NOT_EXPORTED

_PLACE = re.compile(r"^error: patch failed: (.+)$", re.MULTILINE)
_REASON = re.compile(r"^error: (.+)$", re.MULTILINE)
_MOVED = re.compile(r"^Hunk #\d+ succeeded at \d+ \(offset (-?\d+) lines?\)", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    patch: Path
    variant: str        # the release whose variant applies, or the default
    says: str
    applies: bool


def _unpack(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    else:
        target.mkdir()
        done = subprocess.run(["tar", "-xf", source, "--strip-components=1", "-C", target], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise BenchError(f"{source} cannot be unpacked: {done.stderr.strip().splitlines()[0].rstrip('; ')}", 2)
    if not (target / "server/meson.build").is_file():
        raise BenchError(f"{source} is not the source of spice-server: it has no server/meson.build", 2)


def _apply(diff: str, tree: Path) -> tuple[bool, str]:
    """Applies a patch completely or not at all; also returns what git says of moved hunks, or where it failed."""
    env = {"GIT_CEILING_DIRECTORIES": str(tree.parent), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["git", "apply", "-C1", "--verbose", "-"], cwd=tree, input=diff, capture_output=True,
                          text=True, env=env, check=False)
    if done.returncode:
        return False, ", ".join(_PLACE.findall(done.stderr) or _REASON.findall(done.stderr))
    moved = [abs(int(lines)) for lines in _MOVED.findall(done.stderr)]
    return True, f"{len(moved)} of its hunks moved, by {max(moved)} lines at most" if moved else ""


def _variants(patch: Path) -> dict[str, Path]:
    """The default, then variants for other releases, newest first. A variant that only adds a test applies anywhere, so it is
    last."""
    found = {upstream.DEFAULT: patch, **{version: file for version in sorted(upstream.RELEASES, reverse=True)
                                         if (file := patch.parent / version / patch.name).is_file()}}
    return dict(sorted(found.items(), key=lambda item: not upstream.changes_files(item[1])))


def _try(patch: Path, tree: Path, there: set[Path]) -> Found:
    first = ""
    for version, file in _variants(patch).items():
        read = patchfile.read(file)
        fits, says = _apply(read.diff, tree) if read.diff else (True, "")
        if fits:
            new = brings.said(read.body)
            new += brings.headers(paths.ROOT, new, there | {entry.file for entry in new})
            taken = [str(entry.file) for entry in new if (tree / entry.file).exists()]
            there |= {entry.file for entry in new}
            try:
                kept = overlay.sources(paths.ROOT)
                for entry in new:
                    upstream.copy_new(kept[entry.file], tree / entry.file)
                buildlists.add(tree, new)
            except BenchError as error:
                return Found(patch, version, str(error), False)
            return Found(patch, version, f"brings what is there: {', '.join(taken)}" if taken else says, not taken)
        first = first or says
    return Found(patch, "", first, False)


def rebase(source: Path) -> list[Found]:
    """Tries every patch of every series; one that does not apply is left out, and the next ones are tried without it."""
    found = []
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree = Path(work, "tree")
        _unpack(source, tree)
        there: set[Path] = set()
        for patch in upstream.series(names=[name for name in upstream.bases() if name != NOT_EXPORTED]):
            found.append(_try(patch, tree, there))
    return found


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Says for each patch whether it applies to another release, with which variant, and where it "
                          "fails. Exit status 1: one does not apply.")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="tarball or source folder of spice-server")


def execute(args: argparse.Namespace) -> int:
    if not args.source.exists():
        raise BenchError(f"{args.source} does not exist", 2)
    found = rebase(args.source)
    rows = [[f"{one.patch.parent.name}/{one.patch.name[:4]}", "yes" if one.applies else "NO",
             one.variant if one.variant != upstream.DEFAULT else "", one.says] for one in found]
    print(table.markdown(["patch", "applies", "variant of", ""], rows, left=4))
    wrong = [one for one in found if not one.applies]
    print(f"{len(found) - len(wrong)} of {len(found)} patches apply to {args.source}")
    return 1 if wrong else 0
