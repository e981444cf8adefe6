# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record trim: cuts a part out of a recording (cutting.py)."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path

from bench.common.errors import BenchError
from recordings import catalogue
from recordings.cutting import Range, cut, seconds


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Keeps a range of a recording: by time, or commands A (counted from 0) to B (not included), either of "
                          "which may be left out. Begins with the commands on which the range depends, to be played without delay. Of a "
                          "recording that was cut off, or is damaged, it keeps what comes before that.")
    parser.add_argument("file", metavar="FILE", help="name of a shipped recording, or a path; a part of it: FILE@FROM-TO (s)")
    parser.add_argument("--commands", metavar="A:B", help="range in commands")
    parser.add_argument("--output", "-o", metavar="FILE", type=Path, required=True, help="compressed if the name ends in .xz or .gz")


def execute(args: argparse.Namespace) -> int:
    recording = catalogue.find(args.file)
    part = seconds(*(recording.part or (0, math.inf)))
    if args.commands is not None:
        first, colon, last = args.commands.partition(":")
        if recording.part or not colon or not (first + last).isdecimal() and first + last:
            raise BenchError("trim takes FILE@FROM-TO in seconds, or --commands A:B", 2)
        part = Range(int(first or 0), int(last) if last else math.inf, by_command=True)
        if part.first > part.last:
            raise BenchError("the range ends before it begins", 2)
    ends = catalogue.check(recording.path, damaged=True)
    if args.commands is not None:
        catalogue.begins(args.file, part.first, ends["commands"], "commands")
    elif recording.part:
        catalogue.begins(args.file, recording.part[0], ends["seconds"], "s")
    cut(recording.path, replace(part, whole=ends["bytes"]), args.output)
    if ends["error"]:
        print(f"bench: {args.file} is damaged ({ends['error']}): what is kept is of its first {ends['seconds']:.1f} s, {ends['commands']} "
              f"commands, {ends['bytes']} bytes unpacked; all after that is lost", file=sys.stderr)
    return 0
