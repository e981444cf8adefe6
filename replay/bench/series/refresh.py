# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run refresh: writes the patches, all in one form."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from bench.series import faults, patchtree
from bench.source import upstream


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Writes server/ and all patches, numbered in order and in one format: from the commits of a tree that ./run tree "
                          "made; without one, from the patch files, variants for other releases included.")
    parser.add_argument("tree", nargs="?", type=Path, metavar="DIR", help="tree made by ./run tree")


def execute(args: argparse.Namespace) -> int:
    changed: set[Path] = set()
    if args.tree:
        changed |= patchtree.harvest(args.tree)
    for version in sorted(upstream.RELEASES, key=lambda name: name != upstream.DEFAULT):
        upstream.fetch(version, Steps(paths.build_dir() / "refresh.log"))
        tree = paths.cache_dir() / "trees" / version
        shutil.rmtree(tree, ignore_errors=True)
        planted = patchtree.state()
        patchtree.plant(version, tree)
        changed |= patchtree.harvest(tree, planted)
        shutil.rmtree(tree)
    upstream.sync_wrap()
    if faults.sync():
        changed.add(paths.ROOT / "patches/FAULTS.md")
    for file in sorted(changed):
        print(file.relative_to(paths.ROOT), "" if file.exists() else "(gone)", file=sys.stderr)
    print(f"{len(upstream.series())} patches, {len(changed)} written again")
    return 0
