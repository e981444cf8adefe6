# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record: says how to record a guest of your own, and adds such a recording."""
from __future__ import annotations

import argparse
import lzma
import os
import shutil
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from recordings import catalogue, manifest
from recordings.play import WITHOUT_STREAMS, play
from recordings.reader import open_recording

_LONGEST = 600      # timeout of playing it at pace max, in seconds

ATTACH = """\
To record a guest of your own, start its QEMU with

    SPICE_WORKER_RECORD_FILENAME=/somewhere/with/room/session.rec

in its environment, a QXL device and SPICE (-device qxl-vga -spice ...). With libvirt, in `virsh edit NAME`:

    <domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
      ...
      <qemu:commandline>
        <qemu:env name='SPICE_WORKER_RECORD_FILENAME' value='/var/lib/libvirt/qemu/session.rec'/>
      </qemu:commandline>

It records from start to power-off; a minute of desktop work is some 100 MB. SPICE_WORKER_RECORD_FILTER='xz -3' compresses while
recording. The file holds everything that was on the screen, passwords included. Then

    ./run record info session.rec                                              # is it whole, and what is in it
    ./run compare session.rec --links 20M/40ms --modes stock,flow --repeat 1   # compare modes; pages in results/own
    ./run compare session.rec --pace recorded --modes stock,flow               # latency and staleness

To ship it with this tree (checks and packs it, adds it to the manifest; all it shows must be free to ship):

    ./run record --attach NAME.rec --what TEXT --driver TEXT --licence TEXT"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Shows how to record a guest of your own; with --attach FILE adds such a recording to the shipped ones."
    parser.add_argument("--attach", nargs="?", const="", default="", metavar="FILE",
                        help="check, pack and add FILE, named as it is to be called; without FILE: how to record one")
    for field, says in (("what", "what happens in it"), ("driver", "the guest's display driver, and the spice-server that recorded it"),
                        ("licence", "of what is shown")):
        parser.add_argument(f"--{field}", metavar="TEXT", help=f"with --attach: {says}")


def execute(args: argparse.Namespace) -> int:
    if args.attach:
        return attach(args)
    if args.what or args.driver or args.licence:
        raise BenchError("these options describe the recording that --attach FILE names: give FILE", 2)
    print(ATTACH)
    return 0


def pack(raw: Path, packed: Path) -> None:
    part = packed.with_name(f".{packed.name}.{os.getpid()}.part")
    try:
        with open_recording(raw) as source, lzma.open(part, "wb", preset=9) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        part.rename(packed)
    except OSError as error:
        raise BenchError(f"{packed}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def attach(args: argparse.Namespace) -> int:
    source = Path(args.attach)
    if not source.is_file():
        raise BenchError(f"{source}: no such file", 2)
    lacking = [field for field in ("what", "driver", "licence") if not getattr(args, field)]
    if lacking:
        raise BenchError(f"these options describe the recording and are missing: {', '.join('--' + field for field in lacking)}", 2)
    name = catalogue.find(str(source.resolve())).name
    if not name or name.startswith("."):
        raise BenchError(f"'{source.name}' is not a name for a recording: begin it with another character than a dot", 2)
    if any(entry["name"] == name for entry in manifest.load()):
        raise BenchError(f"a recording {name} exists: rename the file", 2)
    catalogue.check(source)
    played = play(source, library=paths.stock_library(), seconds=_LONGEST, options=WITHOUT_STREAMS)
    if not played.good:
        told = (played.player_log + played.client_log).strip().splitlines() or ["no reason told"]
        raise BenchError(f"{source} was not played to its end: {told[-1]}")
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
