# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the patched library of a git revision, in a tree of its own in the cache."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError

PREFIX = "git:"


def _git(*arguments: str) -> bytes:
    command = ["git", "-c", "safe.directory=*", "-C", str(paths.ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise BenchError("git is missing: install the package git") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise BenchError(said or f"git {arguments[0]}: no such revision", 2)
    return done.stdout


def _built(tree: Path) -> Path | None:
    found = sorted(tree.glob(f"build/subprojects/spice-*/server/{paths.LIBRARY_FILE}"))
    return found[0].parent if found else None


def library(revision: str) -> tuple[str, Path]:
    """The commit, and the directory of its libspice-server.so.1. Built once, which takes as long as ./run setup."""
    try:
        commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    except BenchError as error:
        raise BenchError(f"library {PREFIX}{revision}: {error}", 2) from None
    tree = paths.cache_dir() / "revisions" / commit
    found = _built(tree)
    if found:
        return commit, found
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
        archive.extractall(tree)
    tarballs = paths.ROOT / "subprojects" / "packagecache"
    if tarballs.is_dir():
        shutil.copytree(tarballs, tree / "subprojects" / "packagecache", dirs_exist_ok=True)
    print(f"building revision {commit[:12]}", file=sys.stderr)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPICE_BENCH_", "PYTHONPATH"))}
    done = subprocess.run([tree / "run", "setup"], env=environment, stdout=subprocess.DEVNULL, check=False)
    found = _built(tree)
    if done.returncode or not found:
        raise BenchError(f"revision {commit[:12]} does not build: see {tree}")
    return commit, found
