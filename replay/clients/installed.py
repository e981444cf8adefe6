# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run installed: counts what QEMU sends with the installed libspice-server, by tcpdump.

QEMU and client are in a network namespace whose loopback has an Ethernet's MTU and no offloads, so that packets are
counted as on a network, and no other traffic is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import capture
from bench.measure import pcap
from bench.runs import store
from bench.runs.store import Case, Run
from clients import machine, packages, target
from clients.drivers.gtk import SpiceGtk
from clients.machine import Machine
from clients.world import World
from guest import qemu
from guest.errors import Failed

_TRANSPORTS = (target.TLS, target.PLAIN)
_ALONE = "SPICE_BATCH_NETNS"    # environment variable inside the namespace
_LEAST_LINES, _SECONDS = 50, 20.0


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


def page(runs: Sequence[Run]) -> str:
    """The last run of each version (with SPICE_STREAM, if set) and transport."""
    shown = sorted(store.latest(runs), key=lambda run: (run.case.link, run.case.mode), reverse=True)
    lines = ["| libspice-server1 | transport | data packets/line | wire bytes/line | client packets/line | lines |",
             "|---|---|--:|--:|--:|--:|"]
    lines += [f"| {run.case.mode} | {run.case.link} | {run.figures['packets'] / run.figures['lines']:.2f} | "
              f"{run.figures['wire_bytes'] / run.figures['lines']:.0f} | {run.figures['client_packets'] / run.figures['lines']:.2f} | "
              f"{run.figures['lines']} |" for run in shown]
    return "\n".join(lines)


def _alone() -> int:
    """Runs the same command again in a network namespace of its own."""
    made = "ip link set lo mtu 1500 up && ethtool -K lo tso off gso off gro off && exec \"$@\""
    return subprocess.run([proc.require("unshare", "util-linux"), "--net", "sh", "-ec", made, "sh", sys.executable, "-m", "bench",
                           *sys.argv[1:]], env={**os.environ, _ALONE: "1"}, check=False).returncode


def _draw(world: World) -> dict[str, int]:
    """Lines that the guest drew; packets with data and bytes of all packets from the server; packets from the client."""
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
    return {"lines": lines, "packets": found.server.data_packets, "wire_bytes": found.server.wire_bytes, "client_packets": found.client.packets}


def execute(args: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise BenchError("./run installed needs root, for a network namespace and tcpdump")
    steps = Steps(paths.cache_dir() / "clients" / "log")
    kept = store.Store(paths.build_dir() / "installed.jsonl")
    if _ALONE not in os.environ:
        version()
        packages.require(few=True)
    made, env = machine.hardware(steps), dict(os.environ)
    state = qemu.state(made, steps, env=env)
    if _ALONE not in os.environ:
        return _alone()
    with tempfile.TemporaryDirectory(prefix="spice-installed-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Machine(made, env, folder / "machine", state) as host:
            host.booted()
            try:
                with World(host, SpiceGtk, args.transport, folder, _SECONDS) as world:
                    seen = _draw(world)
            except Failed as error:
                raise BenchError(str(error)) from None
    kept.add(Run(Case(("draw",), version(), args.transport), seen, date=store.now()))
    print(page(kept.runs))
    return 0
