# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record info: checks and describes a recording."""

from __future__ import annotations

import argparse
import json
import sys

from bench.common.errors import BenchError
from recordings import catalogue
from recordings.describe import describe


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Validates each recording as the player does and describes it. Exit status 2: one is damaged."
    parser.add_argument("files", metavar="FILE", nargs="+", help="name of a shipped recording, or a path; a part of it: FILE@FROM-TO (s)")
    parser.add_argument("--json", action="store_true", help="one JSON object per recording")


def _text(facts: dict[str, object]) -> str:
    lines = [f"{facts['file']}: {facts['seconds']} s, {facts['commands']} commands, {facts['events']} events, {facts['raw_bytes']} bytes "
             f"({facts['packed_bytes']} packed), screen {facts['resolution']}, at most {facts['most_surfaces']} other surfaces at once"]
    for what in ("types", "images"):
        counts = facts[what]
        assert isinstance(counts, dict)
        lines += [f" {what}", *(f"  {name:30} {count:9}" for name, count in counts.items())]
    return "\n".join(lines)


def execute(args: argparse.Namespace) -> int:
    status = 0
    for name in args.files:
        try:
            wanted = catalogue.find(name)
            path = catalogue.looked_into(wanted).path
            checked = catalogue.check(path)        # before reading, as the reader's error is not meant for users
            shown = name if wanted.part else str(path)      # for a compressed one the player gets "-"
            facts = {**describe(path), **checked, "file": shown}
        except BenchError as error:     # one file after the other
            print(f"bench: {error}", file=sys.stderr)
            status = max(status, error.status)
            continue
        print(json.dumps(facts) if args.json else _text(facts))
    return status
