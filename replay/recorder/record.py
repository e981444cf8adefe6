# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record: makes recordings anew, unattended, or takes in one's own."""
from __future__ import annotations

import argparse
import lzma
import shutil
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import recordings
from recorder import manifest, sessions
from recorder.describe import describe
from recorder.guest import Guest, mirror
from recorder.reader import RecordingError, open_recording

GUEST_SECONDS = 240          # building the guest takes about so long
SLOWNESS = 3                 # a session without KVM, of one with
SHARE_BOUND = 0.15           # a type's share of all commands may differ so much from the shipped recording's
COUNT_BOUND = 2.0            # and the number of commands by this factor

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

    ./run record --attach session.rec --name NAME --what TEXT --driver TEXT --licence TEXT"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Adds a recording of your own (--attach), or makes the shipped ones anew: a Debian guest, as root."
    parser.add_argument("names", nargs="*", metavar="SESSION", help=f"{', '.join(sessions.SESSIONS)} (default: those shipped)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="folder for the recordings (.cache/record/out)")
    parser.add_argument("--ship", action="store_true", help="replace the shipped recordings")
    parser.add_argument("--rebuild", action="store_true", help="build the guest even if there is one")
    parser.add_argument("--mirror", metavar="URL", help="for the guest's packages (default: this machine's)")
    parser.add_argument("--attach", nargs="?", const="", metavar="FILE",
                        help="check, pack and add FILE; without FILE: how to record one")
    for field, says in (("name", "its name"), ("what", "what happens in it"), ("driver", "the guest's display driver"),
                        ("licence", "of what is shown"), ("upstream", "the spice-server that recorded it")):
        parser.add_argument(f"--{field}", metavar="TEXT", help=f"with --attach: {says}")


def execute(args: argparse.Namespace) -> int:
    if args.attach == "":
        print(ATTACH)
        return 0
    if args.attach:
        return attach(args)
    return make(args)


def pack(raw: Path, packed: Path) -> None:
    part = packed.with_name(packed.name + ".part")
    with open_recording(raw) as source, lzma.open(part, "wb", preset=9) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    part.rename(packed)


def verify(path: Path) -> None:
    """By the checker the player uses where it is built, by the reader in Python otherwise."""
    try:
        paths.recording_tool()
    except BenchError:
        try:
            describe(path)
        except RecordingError as error:
            raise BenchError(f"{path}: {error}", 2) from None
        return
    recordings.check(path)


def attach(args: argparse.Namespace) -> int:
    source = Path(args.attach)
    if not source.is_file():
        raise BenchError(f"{source}: no such file", 2)
    lacking = [field for field in ("name", "what", "driver", "licence") if not getattr(args, field)]
    if lacking:
        raise BenchError(f"say about the recording: {', '.join('--' + field for field in lacking)}", 2)
    if "/" in args.name or args.name.startswith("."):
        raise BenchError(f"'{args.name}' is no name for a recording", 2)
    if any(entry["name"] == args.name for entry in manifest.load()):
        raise BenchError(f"there is a recording {args.name} already", 2)
    verify(source)
    ship(args.name, source, {"what": args.what, "driver": args.driver, "licence": args.licence,
                             "upstream": args.upstream or "unknown", "made": "recorded by its contributor"})
    print(f"{args.name} is now one of the recordings; `python3 -m recorder.pictures {args.name} --note` notes its picture")
    return 0


def ship(name: str, raw: Path, written: dict[str, str]) -> None:
    file = f"{name}.rec.xz"
    pack(raw, manifest.FOLDER / file)
    manifest.put({"name": name, "file": file, "kind": "real", **written})


def shares(made: dict[str, Any], shipped: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """What part of all commands is of a type, here and in the shipped recording."""
    return {kind: (made["types"].get(kind, 0) / made["commands"], shipped["types"].get(kind, 0) / shipped["commands"])
            for kind in sorted({*made["types"], *shipped["types"]})}


def unlikeness(made: dict[str, Any], shipped: dict[str, Any]) -> list[str]:
    """Where two recordings of the same session differ by more than chance."""
    found = []
    ratio = made["commands"] / shipped["commands"]
    if not 1 / COUNT_BOUND <= ratio <= COUNT_BOUND:
        found.append(f"{made['commands']} commands, shipped: {shipped['commands']}")
    return found + [f"{kind} is {here:.0%} of the commands, shipped: {there:.0%}"
                    for kind, (here, there) in shares(made, shipped).items() if abs(here - there) > SHARE_BOUND]


def make(args: argparse.Namespace) -> int:
    shipped = {entry["name"]: entry for entry in manifest.load()}
    names = args.names or [name for name in sessions.SESSIONS if name in shipped]
    unknown = [name for name in names if name not in sessions.SESSIONS]
    if unknown:
        raise BenchError(f"no session {', '.join(unknown)}: there are {', '.join(sessions.SESSIONS)}", 2)
    if missing := sessions.missing_programs():
        raise BenchError(f"missing: apt-get install --no-install-recommends {' '.join(missing)}")
    folder = paths.cache_dir() / "record"
    out = args.output or folder / "out"
    out.mkdir(parents=True, exist_ok=True)
    steps = Steps(folder / "log")
    guest = Guest(folder, steps)
    build = args.rebuild or not guest.built
    slow = sessions.accelerator() == "tcg"
    estimate = GUEST_SECONDS * build + sum(2 * sessions.SESSIONS[name].seconds for name in names) * (SLOWNESS if slow else 1)
    steps.say(f"about {estimate / 60:.0f} minutes" + (", for there is no KVM here" if slow else ""))
    if build:
        guest.build(args.mirror or mirror())
    differences = 0
    for number, name in enumerate(names, 1):
        steps.say(f"[{number}/{len(names)}] {name}: {sessions.SESSIONS[name].what}")
        differences += make_one(name, guest, out, args, shipped.get(name), steps)
    return 1 if differences else 0


def make_one(name: str, guest: Guest, out: Path, args: argparse.Namespace, shipped: dict[str, Any] | None, steps: Steps) -> int:
    """Records, finishes, packs and checks one session; returns in how many ways it differs from the shipped one."""
    raw = out / f"{name}.rec"
    sessions.record(name, guest, raw, steps.say)
    finished = sessions.finish(name, raw)
    verify(finished)
    packed = out / f"{name}.rec.xz"
    pack(finished, packed)
    finished.unlink()
    facts = describe(packed)
    steps.say(f"{packed}: {facts['commands']} commands, {facts['seconds']:.0f} s, {facts['packed_bytes'] / 1e6:.1f} MB")
    found = []
    if shipped:
        parts = ", ".join(f"{kind} {here:.2%} ({there:.2%})" for kind, (here, there) in shares(facts, shipped).items())
        steps.say(f"{name}: in parentheses those of the shipped one: {facts['commands']} commands ({shipped['commands']}), {parts}")
        found = unlikeness(facts, shipped)
        for line in found or ["alike"]:
            steps.say(f"{name}: {line}")
    if args.ship and shipped:
        shutil.copy(packed, manifest.FOLDER / shipped["file"])
        manifest.put(shipped)
    return len(found)
