# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two network namespaces and the cable between them.

A namespace has no name: it lives as long as the process that holds it, and that process ends when the bench closes its
pipe or dies. So there is nothing to clean up after a crash and any number of labs can exist at once."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import proc
from bench.errors import BenchError

MTU = 1500
LARGEST_FRAME = MTU + 14
SERVER_ADDRESS = "10.83.0.1"
CLIENT_ADDRESS = "10.83.0.2"
SERVER_DEVICE = "spice0"
CLIENT_DEVICE = "spice1"
_OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload",
             "gro": "generic-receive-offload", "lro": "large-receive-offload"}


@dataclass(frozen=True)
class Lab:
    """Where the two ends are. The device is the server's: captures are taken there."""
    server: Path
    client: Path
    server_pid: int
    client_pid: int
    server_address: str = SERVER_ADDRESS
    client_address: str = CLIENT_ADDRESS
    device: str = SERVER_DEVICE


@contextlib.contextmanager
def _namespace() -> Iterator[int]:
    """A new network namespace with loopback and without IPv6; yields the pid of the process that holds it."""
    script = ("for f in /proc/sys/net/ipv6/conf/all/disable_ipv6 /proc/sys/net/ipv6/conf/default/disable_ipv6 "
              "/proc/sys/net/ipv4/tcp_no_metrics_save; do if [ -e $f ]; then echo 1 > $f; fi; done; "
              "ip link set lo up && echo ready && exec cat")
    argv = proc.inside(None, [proc.require("unshare", "util-linux"), "--net", "sh", "-c", script])
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert holder.stdin and holder.stdout and holder.stderr
    try:
        if holder.stdout.readline() != "ready\n":
            holder.stdin.close()
            message = holder.stderr.read().strip().split("\n")[-1]
            raise BenchError(f"cannot make a network namespace ({message or 'no reason given'}): root or unprivileged "
                             "user namespaces are needed")
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        for stream in (holder.stdin, holder.stdout, holder.stderr):
            stream.close()


def _netns(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net")


def offloads_on(features: str) -> list[str]:
    """Which of the offloads that hide the real packets are on, from the output of ethtool -k."""
    states = dict(line.strip().split(": ", 1) for line in features.splitlines() if ": " in line)
    return [short for short, long in _OFFLOADS.items() if states.get(long, "off").split()[0] != "off"]


def disable_offloads(netns: Path, device: str) -> None:
    """Turns segmentation and receive offloads off, one by one (lro is often fixed), and checks that they are."""
    ethtool = proc.require("ethtool", "ethtool")
    for short in offloads_on(proc.call([ethtool, "-k", device], netns)):
        proc.call([ethtool, "-K", device, short, "off"], netns)
    left = offloads_on(proc.call([ethtool, "-k", device], netns))
    if left:
        raise BenchError(f"{device}: {', '.join(left)} cannot be turned off, so packets cannot be counted")


def _plug(netns: Path, device: str, address: str) -> None:
    ip = proc.require("ip", "iproute2")
    proc.call([ip, "address", "add", f"{address}/24", "dev", device], netns)
    proc.call([ip, "link", "set", device, "mtu", str(MTU), "up"], netns)


@contextlib.contextmanager
def namespaces() -> Iterator[tuple[int, int]]:
    """Two namespaces with nothing between them: the pids of their holders, the server's first."""
    proc.require("ip", "iproute2")
    with _namespace() as server, _namespace() as client:
        yield server, client


@contextlib.contextmanager
def cable() -> Iterator[Lab]:
    """Two namespaces joined by a veth pair that carries real packets: MTU 1500, no offloads."""
    with namespaces() as (server, client):
        ip = proc.require("ip", "iproute2")
        lab = Lab(_netns(server), _netns(client), server, client)
        proc.call([ip, "link", "add", SERVER_DEVICE, "type", "veth", "peer", "name", CLIENT_DEVICE,
                   "netns", str(client)], lab.server)
        for netns, device, address in ((lab.server, SERVER_DEVICE, SERVER_ADDRESS),
                                       (lab.client, CLIENT_DEVICE, CLIENT_ADDRESS)):
            disable_offloads(netns, device)
            _plug(netns, device, address)
        yield lab
