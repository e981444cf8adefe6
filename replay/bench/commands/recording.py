# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run recording ARGUMENTS: spice-recording with the same arguments; shipped recordings may be given by name."""

from __future__ import annotations

import argparse
import os

from bench.common import paths
from bench.runs import recordings

VERBATIM = True


def _named(argument: str) -> str:
    """The path of a shipped recording; anything else is left alone."""
    return str(recordings.find(argument).path) if argument in recordings.manifest() else argument


def execute(args: argparse.Namespace) -> int:
    tool = str(paths.recording_tool())
    os.execv(tool, [tool, *map(_named, args.arguments)])
