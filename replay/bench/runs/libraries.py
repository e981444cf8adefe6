# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the libspice-server.so.1 of a library's name; that of a git revision or of another release is built in the cache."""

from __future__ import annotations

import io
import mmap
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import modes
from bench.source import bases, upstream

STOCK = "stock"
PATCHED = "patched"
REVISION = "git:"      # before a revision
_RELEASE = "@"         # between stock or patched and a release


@dataclass(frozen=True)
class Library:
    name: str           # stock, patched, git:COMMIT, stock@RELEASE, patched@RELEASE, or the directory as the user wrote it
    directory: Path
    patched: bool       # whether it knows SPICE_STREAM

    @property
    def file(self) -> Path:
        return (self.directory / paths.LIBRARY_FILE).resolve()

    @property
    def short(self) -> str:
        """Of a directory, its name without those above it."""
        return Path(self.name).resolve().name


def _knows_modes(file: Path) -> bool:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"SPICE_STREAM\0") >= 0


def _built(tree: Path) -> Path | None:
    return next((found.parent for found in sorted(tree.glob(f"build/subprojects/spice-*/server/{paths.LIBRARY_FILE}"))), None)


def _git(wanted: str, *arguments: str) -> bytes:
    command = [proc.require("git", "git"), "-c", "safe.directory=*", "-C", paths.ROOT, *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise BenchError(f"library {REVISION}{wanted}: {said[-1] if said else 'no such revision'}", 2)
    return done.stdout


def revision(wanted: str) -> tuple[str, Path]:
    """The commit, and the directory of its patched library. Built once, which takes as long as ./run setup."""
    of = _git(wanted, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}").decode().strip()
    tree = paths.cache_dir() / "revisions" / of
    if found := _built(tree):
        return of, found
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(_git(wanted, "archive", of))) as files:
        files.extractall(tree)
    tarballs = paths.ROOT / "subprojects" / "packagecache"
    if tarballs.is_dir():
        shutil.copytree(tarballs, tree / "subprojects" / "packagecache", dirs_exist_ok=True)
    print(f"building revision {of[:12]}", file=sys.stderr)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPICE_BENCH_", "PYTHONPATH"))}
    done = subprocess.run([tree / "run", "setup"], env=environment, stdout=subprocess.DEVNULL, check=False)
    found = _built(tree)
    if done.returncode or not found:
        raise BenchError(f"revision {of[:12]} does not build: see {tree}")
    return of, found


def of_release(patched: bool, version: str, steps: Steps) -> Path:
    """The directory of a release's library, beside the build of ./run test, which has the tests, too. 0.15.1 lacks a script that its
    meson.build names for `meson dist`, and without it nothing is configured."""
    home = paths.cache_dir() / "bases" / f"{version}-{PATCHED if patched else STOCK}"
    if patched:
        return bases.prepare_base(version, steps, tests=False, build=home / "library").library
    upstream.fetch(version, steps)
    upstream.make_tree(version, home / "source", ())
    script = home / "source" / "build-aux" / "meson-dist"
    if not script.exists():
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
    return bases.prepare_base(version, steps, patched=False, tests=False).library


def of_mode(mode: str, given: Library | None = None, release: str = upstream.DEFAULT) -> Library:
    """The library that plays a mode: stock's build, or the patched one of the release, or the given one instead of that."""
    built = "" if release == upstream.DEFAULT else f"{_RELEASE}{release}"
    if mode == modes.STOCK:
        return find(f"{STOCK}{built}")
    library = given or find(f"{PATCHED}{built}")
    if not library.patched:
        raise BenchError(f"library {library.name} is not patched, so it has no mode '{mode}'", 2)
    return library


def find(name: str) -> Library:
    """stock and patched are the two builds in the tree; with @RELEASE behind it, and git:REVISION, a library is built first; anything else
    is a directory holding a libspice-server.so.1."""
    kind, _, version = name.partition(_RELEASE)
    if name == STOCK:
        directory = paths.stock_library()
    elif name == PATCHED:
        directory = paths.patched_library()
    elif kind in (STOCK, PATCHED) and upstream.release(version):
        directory = of_release(kind == PATCHED, version, Steps(paths.cache_dir() / "releases.log"))
    elif name.startswith(REVISION):
        built_from, directory = revision(name.removeprefix(REVISION))
        name = f"{REVISION}{built_from[:12]}"
    else:
        directory = Path(name)
        if not directory.is_dir():
            raise BenchError(f"library {name}: no such directory (give one, or stock, or patched)", 2)
    file = directory / paths.LIBRARY_FILE
    if not file.is_file():
        raise BenchError(f"library {name}: no {paths.LIBRARY_FILE} in {directory}", 2)
    try:
        return Library(name, directory.resolve(), _knows_modes(file))
    except (OSError, ValueError) as error:
        raise BenchError(f"library {file}: {error}", 2) from None
