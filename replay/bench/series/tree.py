# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run tree: makes a git tree with one commit per patch."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from bench.series import patchtree
from bench.source import upstream


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Makes a git tree of a release with one commit per patch. Change, rebase and add commits there, then: "
                          "./run refresh DIR. Stops at a patch that does not apply; fix it, and call it again to continue.")
    parser.add_argument("tree", type=Path, metavar="DIR", help="folder to make")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help=f"default {upstream.DEFAULT}")


def execute(args: argparse.Namespace) -> int:
    upstream.fetch(args.release, Steps(paths.build_dir() / "tree.log"))
    print(f"{args.tree}: {patchtree.plant(args.release, args.tree)} patches on spice {args.release}")
    return 0
