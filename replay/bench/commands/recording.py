# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record info|verify|trim ARGUMENTS: spice-recording with the same arguments; shipped recordings may be given by name."""

from __future__ import annotations

import argparse
import os

from bench.common import paths
from bench.runs import recordings

VERBATIM = True


def _named(argument: str) -> str:
    """The path of a shipped recording; anything else is left alone."""
    return str(recordings.find(argument).path) if argument in recordings.manifest() else argument


_HELP = """\
usage: ./run record info|verify [--json] FILE...
       ./run record trim --from SECONDS --to SECONDS -o OUT FILE
       ./run record trim --commands A:B -o OUT FILE

Says what is in a recording, whether it is whole, keeps a part of it. FILE may be a shipped recording's name. ./run setup builds
spice-recording, which does it.

Example: ./run record info linux-desktop
"""


def execute(args: argparse.Namespace) -> int:
    if {"-h", "--help"} & set(args.arguments):
        print(_HELP, end="")
        return 0
    tool = str(paths.recording_tool())
    os.execv(tool, [tool, *map(_named, args.arguments)])
