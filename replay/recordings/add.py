# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record add: adds a recording of one's own to the shipped ones."""
from __future__ import annotations

import argparse
import lzma
import shutil
from pathlib import Path

from bench.common import atomic, packed, paths
from bench.common.errors import BenchError
from recordings import catalogue, manifest
from recordings.play import WITHOUT_STREAMS, play

_LONGEST = 600      # timeout of playing it at pace max, in seconds


def pack(raw: Path, target_file: Path) -> None:
    with atomic.replaced(target_file) as part, packed.opened(raw) as source, lzma.open(part, "wb", preset=9) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Checks and packs a recording, and adds it to the manifest."
    parser.add_argument("file", type=Path, metavar="FILE", help="named as the recording is to be called")
    for field, says in (("what", "what happens in it"), ("driver", "the guest's display driver, and the spice-server that recorded it"),
                        ("licence", "of what is shown")):
        parser.add_argument(f"--{field}", required=True, metavar="TEXT", help=says)


def execute(args: argparse.Namespace) -> int:
    source = args.file
    if not source.is_file():
        raise BenchError(f"{source}: no such file", 2)
    name = catalogue.find(str(source.resolve())).name
    if not name or name.startswith("."):
        raise BenchError(f"'{source.name}' is not a name for a recording: begin it with another character than a dot", 2)
    if any(entry["name"] == name for entry in manifest.load()):
        raise BenchError(f"a recording {name} exists: rename the file", 2)
    catalogue.check(source)
    played = play(source, library=paths.stock_library(), seconds=_LONGEST, options=WITHOUT_STREAMS)
    if not played.good:
        raise BenchError(f"{source} was not played to its end: {played.reason}")
    file = f"{name}.rec.xz"
    pack(source, manifest.FOLDER / file)
    try:
        manifest.add({"name": name, "file": file, "kind": "real", "what": args.what, "driver": args.driver, "licence": args.licence,
                      "upstream": "unknown", "made": "recorded by its contributor", "picture_sha256": played.client["sha256"]})
    except BaseException:
        (manifest.FOLDER / file).unlink()
        raise
    print(f"{name} is now one of the recordings")
    return 0
