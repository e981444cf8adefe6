# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run installed: counts what QEMU sends with the installed libspice-server, by tcpdump.

QEMU and client are in a network namespace whose loopback has an Ethernet's MTU and no offloads, so that packets are
counted as on a network, and no other traffic is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.common import atomic, paths, proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import capture
from bench.measure import pcap
from clients import machine, packages, table, target
from clients.drivers.gtk import SpiceGtk
from clients.machine import INSTALLED, Library, Machine
from clients.world import World
from guest import qemu
from guest.errors import Failed

_TRANSPORTS = (target.TLS, target.PLAIN)
_ALONE = "SPICE_BATCH_NETNS"    # environment variable inside the namespace
_LEAST_LINES, _SECONDS = 50, 20.0


@dataclass(frozen=True)
class Seen:
    version: str            # version of the package, and SPICE_STREAM if set
    transport: str
    lines: int              # lines that the guest drew
    packets: int            # packets with data from the server
    wire_bytes: int         # bytes of all packets from the server
    client_packets: int
    date: str


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Starts a test guest that draws text in a QEMU (TCG) with the installed libspice-server, and counts with "
                          "tcpdump what is sent to spice-gtk (most bytes of a line of text are images, as the guest scrolls). Prints the counts beside those of earlier runs, of other versions: "
                          "run it before and after you install. At the end the client must show QEMU's screen, pixel by pixel.")
    parser.add_argument("transport", nargs="?", choices=_TRANSPORTS, default=_TRANSPORTS[0], metavar="TRANSPORT", help="tls or plain (tls)")


def version() -> str:
    told = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libspice-server1"], capture_output=True, text=True, check=False)
    if told.returncode:
        raise BenchError("libspice-server1 is not installed: apt-get install qemu-system-x86")
    mode = os.environ.get("SPICE_STREAM")
    return told.stdout + (f", SPICE_STREAM={mode}" if mode else "")


def page(seen: list[Seen]) -> str:
    lines = ["| libspice-server1 | transport | data packets/line | wire bytes/line | client packets/line | lines |",
             "|---|---|--:|--:|--:|--:|"]
    lines += [f"| {each.version} | {each.transport} | {each.packets / each.lines:.2f} | {each.wire_bytes / each.lines:.0f} "
              f"| {each.client_packets / each.lines:.2f} | {each.lines} |" for each in seen]
    return "\n".join(lines)


def kept(file: Path) -> list[Seen]:
    """Results of earlier runs."""
    with suppress(FileNotFoundError):
        try:
            return [Seen(**each) for each in json.loads(file.read_text())]
        except (ValueError, TypeError):
            raise BenchError(f"{file} is damaged: remove it") from None
    return []


def _alone() -> int:
    """Runs the same command again in a network namespace of its own."""
    made = "ip link set lo mtu 1500 up && ethtool -K lo tso off gso off gro off && exec \"$@\""
    return subprocess.run([proc.require("unshare", "util-linux"), "--net", "sh", "-ec", made, "sh", sys.executable, "-m", "bench",
                           *sys.argv[1:]], env={**os.environ, _ALONE: "1"}, check=False).returncode


def _draw(world: World, transport: str) -> Seen:
    ports = [world.machine.port, world.machine.tls_port]
    client = world.client()
    world.machine.order("draw")
    world.must_flow(client, 2)
    file = world.folder / "capture.pcap"
    with capture.capturing(None, "lo", file, ports) as captured:
        before = world.lines()
        world.must_flow(client, world.seconds)
        lines = world.lines() - before
        told = captured.stop()
    if told.error or told.dropped:
        raise BenchError(f"tcpdump did not see everything: {told.error or f'{told.dropped} packets dropped'}")
    if lines < _LEAST_LINES:
        raise BenchError(f"the guest drew only {lines} lines in {_SECONDS:.0f} s: run it again when the machine is idle")
    world.must_show(client, world.card())
    found = pcap.analyse(file, ports)
    return Seen(version(), transport, lines, found.server.data_packets, found.server.wire_bytes, found.client.packets, table.now())


def execute(args: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise BenchError("./run installed needs root, for a network namespace and tcpdump")
    steps = Steps(paths.cache_dir() / "clients" / "log")
    file = paths.build_dir() / "installed.json"
    if _ALONE not in os.environ:
        version()
        kept(file)
        packages.require(few=True)
    made, env = machine.hardware(steps), Library(None, INSTALLED).environment()
    steps.say("booting the guest, once")
    state = qemu.state(made, env)
    if _ALONE not in os.environ:
        return _alone()
    with tempfile.TemporaryDirectory(prefix="spice-installed-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Machine(made, env, folder / "machine", state) as host:
            host.booted()
            try:
                with World(host, SpiceGtk, args.transport, folder, _SECONDS) as world:
                    seen = _draw(world, args.transport)
            except Failed as error:
                raise BenchError(str(error)) from None
    others = [each for each in kept(file) if (each.version, each.transport) != (seen.version, seen.transport)]
    everything = sorted([*others, seen], key=lambda each: (each.transport, each.version), reverse=True)
    atomic.write_text(file, json.dumps([asdict(each) for each in everything], indent=1) + "\n")
    print(page(everything))
    return 0
