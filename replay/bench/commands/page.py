# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run page FILE: tables and pictures of what was measured before."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report import publish
from bench.runs import results


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Writes the page of a result of ./run compare anew, beside its file: as Markdown, HTML and CSV."
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="a compare.json, packed with xz or not")
    publish.add_option(parser)


def execute(args: argparse.Namespace) -> int:
    for file in args.files:
        result = results.load_complete(file)
        written = publish.write(result, file.parent, Path(file.name.removesuffix(".xz")).stem, args.plots)
        print(f"written: {', '.join(map(str, written))}", file=sys.stderr)
    return 0
