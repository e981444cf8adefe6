# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run clients soak: well-behaved and misbehaving clients connect to one QEMU for an hour. Its memory must not grow, and the well-behaved ones
must keep getting messages and show the right picture."""

from __future__ import annotations

import argparse
import random
import ssl
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import environment, modes
from bench.source import setup
from clients import machine, packages, target, wire
from clients.command import environment_of
from clients.drivers.gtk import SpiceGtk
from clients.machine import Machine
from clients.target import Target
from clients.world import FROZEN, World
from guest import qemu
from guest.errors import Failed

_TRANSPORTS = (target.PLAIN, target.TLS, target.WS, target.RELAY)
_SEED = 1  # of the random choices
_LONGEST = 4.0  # longest visit in seconds, about
_CHECK_EVERY = 12  # number of visits between two checks
_SECONDS = 4                # for which a well-behaved client is watched
_TINY = 2048  # bytes of a receive buffer
_GROWTH = 32 << 20  # growth in bytes that is no leak: pages that the guest touches late
_WARM = 0.25  # warm-up: part of the time in which growth is ignored


class Visitor:
    """A well-behaved or misbehaving client: opens its channels, and reads them in one thread."""

    def __init__(self, where: Target, style: str, receive_buffer: int = 0) -> None:
        def channel(kind: int, session: int = 0) -> wire.Channel:
            made = wire.Channel(where, kind, session, counting=wire.STYLES[style](), receive_buffer=receive_buffer)
            self.channels.append(made)
            return made

        self.channels: list[wire.Channel] = []
        main = channel(wire.MAIN)
        session = int(struct.unpack_from("<I", main.wait(wire.MAIN_INIT))[0])
        self.display = channel(wire.DISPLAY, session)
        self.display.send(wire.DISPLAY_INIT, struct.pack("<BqBi", 1, 1 << 20, 1, 1 << 23))
        channel(wire.CURSOR, session)

    def read(self, seconds: float, pause: float = 0.0) -> int:
        """The number of display messages read in that time, with a pause after each."""
        ends, before = time.monotonic() + seconds, self.display.messages
        while time.monotonic() < ends:
            for channel in self.channels:
                if channel.next(0.2 if channel is self.display else 0.001) and pause:
                    time.sleep(pause)
        return self.display.messages - before

    def leave(self, reset: bool = False) -> None:
        for channel in self.channels:
            channel.close(reset)


def _visit(where: Target, style: str = "spice-gtk", buffer: int = 0, *, read: float, pause: float = 0.0, stay: float = 0.0,
           reset: bool = False) -> None:
    """Reads for so many seconds, with a pause after each message; then stays connected for so many, without reading or writing."""
    visitor = Visitor(where, style, buffer)
    visitor.read(read, pause)
    time.sleep(stay)
    visitor.leave(reset)


def _half(where: Target, chance: random.Random) -> None:
    """Disconnects in the middle of its link message."""
    stream = wire.Stream(where)
    stream.send(b"REDQ\2\0\0\0"[: chance.randrange(1, 8)])
    stream.socket.close()


KINDS: dict[str, Callable[[Target, random.Random], None]] = {
    "well-behaved": lambda where, chance: _visit(where, chance.choice(list(wire.STYLES)), read=_LONGEST * chance.random()),
    "reset": lambda where, chance: _visit(where, read=_LONGEST * chance.random(), reset=True),
    "slow": lambda where, chance: _visit(where, read=_LONGEST, pause=0.05 * chance.random(), reset=chance.random() < 0.5),
    "small receive buffer": lambda where, chance: _visit(where, buffer=_TINY, read=_LONGEST * chance.random()),
    "never read": lambda where, chance: _visit(where, buffer=chance.choice((0, _TINY)), read=0.5, stay=2 * _LONGEST * chance.random(), reset=True),
    "incomplete link message": _half,
}


@dataclass
class Record:
    """Connections, checks and memory so far."""

    visits: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    memory: list[tuple[float, int]] = field(default_factory=list)  # (part of the time that had passed, bytes)

    def growth(self) -> int:
        """Bytes from the end of the warm-up to the later maximum."""
        early = [size for passed, size in self.memory if passed <= _WARM] or [self.memory[0][1]]
        late = [size for passed, size in self.memory if passed > _WARM]
        return max(late, default=early[-1]) - max(early)

    def told(self, mode: str, minutes: float) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.visits.items()))
        return (
            f"{mode}, {minutes:g} minutes: {self.visits.total()} connections ({kinds}), {self.checks} checks of messages and picture, "
            f"memory {self.memory[0][1] >> 20} to {self.memory[-1][1] >> 20} MB, of which {max(self.growth(), 0) >> 20} MB grew after the first "
            "quarter of the time"
        )


def visit(where: Target, kind: str, chance: random.Random) -> None:
    """One connection of that kind. The server must accept it, with its TLS handshake, and may close it."""
    try:
        KINDS[kind](where, chance)
    except (ConnectionRefusedError, ssl.SSLError) as error:
        raise Failed(f"a client ({kind}) was not accepted over {where.transport}: {error}") from None
    except OSError:
        pass


def no_stall(where: Target) -> int:
    """Checks that a well-behaved client gets messages in every second while the guest draws; returns their number."""
    visitor = Visitor(where, "spice-gtk")
    try:
        steps = [visitor.read(1) or visitor.read(FROZEN) for _ in range(_SECONDS)]
    finally:
        visitor.leave()
    if not all(steps):
        raise Failed(f"a good client got {steps} messages, one second after the other")
    return sum(steps)


def soak(where: Machine, seconds: float, folder: Path, say: Callable[[str], None]) -> Record:
    """Raises Failed at the first failed check."""
    chance, record = random.Random(_SEED), Record()
    began = told = time.monotonic()
    where.order("draw")
    while (passed := (time.monotonic() - began) / seconds) < 1 or record.checks == 0:
        for _ in range(_CHECK_EVERY):
            kind = chance.choice(list(KINDS))
            visit(where.target(chance.choice(_TRANSPORTS)), kind, chance)
            record.visits[kind] += 1
        no_stall(where.target(chance.choice(_TRANSPORTS)))
        where.order("draw")
        _right_picture(where, chance.choice([each for each in _TRANSPORTS if each in SpiceGtk.transports]), folder)
        where.order("draw")
        record.checks += 1
        record.memory.append((min(passed, 1.0), where.memory()))
        if time.monotonic() - told > 60:
            told = time.monotonic()
            say(f"{passed:.0%}: {record.visits.total()} visits, {where.memory() >> 20} MB")
    if record.growth() > _GROWTH:
        raise Failed(f"QEMU's memory grew by {record.growth() >> 20} MB after the first quarter of the time")
    return record


def _right_picture(where: Machine, transport: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        with World(where, SpiceGtk, transport, Path(name), 0) as world:
            world.must_show(world.client(), world.card())


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Connects clients that read fast, slowly or not at all to one QEMU whose guest draws. After each dozen of them a client "
        "that reads fast must get messages without a pause and show the right picture."
    )
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="duration (%(default)s)")
    qemu.configure(parser)
    parser.add_argument("mode", nargs="?", default="flow", metavar="MODE", help="as for ./run clients --modes (flow)")


def execute(args: argparse.Namespace) -> int:
    if args.minutes <= 0:
        raise BenchError("--minutes must be more than 0", 2)
    mode = modes.check(args.mode)
    steps = Steps(paths.cache_dir() / "clients" / "log")
    packages.require(few=True)
    made = machine.hardware(steps, args.accel)
    setup.current()
    env = environment_of(mode)
    state = qemu.state(made, steps)
    with tempfile.TemporaryDirectory(prefix="spice-soak-", ignore_cleanup_errors=True) as name:
        with Machine(made, env, Path(name, "machine"), state) as where:
            where.booted()
            try:
                record = soak(where, args.minutes * 60, Path(name), steps.say)
            except Failed as error:
                raise BenchError(f"{args.mode}: {error if where.running() else where.ended()}") from None
    print(f"{record.told(args.mode, args.minutes)}; {qemu.qemu_version()} ({args.accel.upper()}), library {environment.library()}")
    return 0
