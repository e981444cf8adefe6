# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run recording ARGUMENTS: spice-recording with the same arguments; shipped recordings may be given by name."""

from __future__ import annotations

import argparse
import os

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import recordings

VERBATIM = True


def _named(argument: str) -> str:
    """The path of a shipped recording; anything else is left alone."""
    return str(recordings.find(argument).path) if argument in recordings.manifest() else argument


_HELP = """\
usage: ./run recording info|verify|trim ARGUMENTS

The same as spice-recording: says what is in a recording, whether it is whole, keeps a part of it. FILE may be a shipped recording's
name. ./run setup builds it; then this shows its own help.

Example: ./run recording info linux-desktop
"""


def execute(args: argparse.Namespace) -> int:
    try:
        tool = str(paths.recording_tool())
    except BenchError:
        if args.arguments and not {"-h", "--help"} & set(args.arguments):
            raise
        print(_HELP, end="")
        return 0
    os.execv(tool, [tool, *map(_named, args.arguments)])
