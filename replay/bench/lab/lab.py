# SPDX-License-Identifier: LGPL-2.1-or-later
"""The server's namespace, the client's namespace, and the link between them: a veth pair if nothing is emulated,
else spice-link."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.lab import netns
from bench.lab.links import MTU, Link

PLAIN_PORT = 5900
TLS_PORT = 5901
LARGEST_FRAME = MTU + 14
SERVER_ADDRESS = "10.83.0.1"
CLIENT_ADDRESS = "10.83.0.2"
SERVER_ADDRESS_6, CLIENT_ADDRESS_6 = "fd83::1", "fd83::2"
_SECOND_DEVICE, _SECOND_ADDRESSES = "spice1", ("10.83.1.1", "10.83.1.2")
LOOPBACK = "127.0.0.1"
_DEVICE = "spice0"      # at either end
_OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload",
             "gro": "generic-receive-offload", "lro": "large-receive-offload"}


SPICE_LINK, NO_EMULATOR = "spice-link", "none"
CONGESTION = "cubic"    # the default of Linux


@dataclass
class Lab:
    """The two endpoints of a link. Captures are taken on `device` in the server's namespace. `counters` are those of spice-link,
    set when the lab has ended."""
    server: Path
    client: Path
    link: Link
    emulator: str       # spice-link, or none
    server_address: str = SERVER_ADDRESS
    client_address: str = CLIENT_ADDRESS
    device: str = _DEVICE
    ports: tuple[int, int] = (PLAIN_PORT, TLS_PORT)
    congestion: str = ""    # congestion control of the server's TCP
    begin_changes: Callable[[], None] = lambda: None        # of the link test
    counters: dict[str, Any] | None = None
    link_tests: int = 0     # number of link tests until one passed

    @property
    def listens_at(self) -> str:
        """The server's address, for the client or for the relay beside the server."""
        return LOOPBACK if self.link.relay else self.server_address


def offloads_on(features: str) -> list[str]:
    """Which of the offloads that hide the real packets are on, from the output of ethtool -k."""
    states = dict(line.strip().split(": ", 1) for line in features.splitlines() if ": " in line)
    return [short for short, long in _OFFLOADS.items() if states.get(long, "off").split()[0] != "off"]


def disable_offloads(where: Path, device: str) -> None:
    """Turns segmentation and receive offloads off, one by one (lro is often fixed), and checks that they are."""
    ethtool = proc.require("ethtool", "ethtool")
    for short in offloads_on(proc.call([ethtool, "-k", device], where)):
        proc.call([ethtool, "-K", device, short, "off"], where)
    left = offloads_on(proc.call([ethtool, "-k", device], where))
    if left:
        raise BenchError(f"{device}: {', '.join(left)} cannot be turned off, so packets cannot be counted")


def _ip(where: Path, *arguments: str) -> None:
    proc.call([proc.require("ip", "iproute2"), *arguments], where)


def _ends(server: Path, client: Path) -> tuple[tuple[Path, str, str], ...]:
    """Namespace, address, address of the other."""
    return (server, SERVER_ADDRESS, CLIENT_ADDRESS), (client, CLIENT_ADDRESS, SERVER_ADDRESS)


def _cable(server: Path, client: Path) -> None:
    """A veth pair for real packets only. Each end has its address and reaches the other's by its device."""
    _ip(server, "link", "add", _DEVICE, "type", "veth", "peer", "name", _DEVICE, "netns", netns.holder_of(client))
    for where, _, _ in _ends(server, client):
        disable_offloads(where, _DEVICE)
        _ip(where, "link", "set", _DEVICE, "mtu", str(MTU), "up")
    for where, mine, peer in _ends(server, client):
        _ip(where, "address", "add", f"{mine}/32", "dev", _DEVICE)
        _ip(where, "route", "add", peer, "dev", _DEVICE, "src", mine)


def emulator_options(link: Link) -> list[str]:
    """The link in spice-link's plain numbers: bits per second, bytes, microseconds, lost packets per million."""
    numbers = {"rate": link.rate, "queue": link.rate and link.queue_bytes,
               "rate-up": link.up, "queue-up": link.up and replace(link, rate=link.up).queue_bytes,
               "mtu": link.mtu, "delay": link.delay * 1e6, "jitter": link.jitter * 1e6,
               "loss": link.loss * 1e6, "burst": link.burst if link.loss else None}
    return [*(f"--{name}={number:.0f}" for name, number in numbers.items() if number),
            *(f"--then={change.at * 1e6:.0f}:{change.rate or 0}" for change in link.changes)]


def emulator_command(server: Path, client: Path, link: Link, seed: int, device: str = _DEVICE,
                     addresses: tuple[str, str] = (SERVER_ADDRESS, CLIENT_ADDRESS)) -> list[str]:
    """`device` is the server's; both ends' addresses, each in a /24."""
    return [str(paths.link_emulator()), "--ns-a", str(server), "--addr-a", f"{addresses[0]}/24", "--dev-a", device,
            "--ns-b", str(client), "--addr-b", f"{addresses[1]}/24", "--dev-b", _DEVICE, "--seed", str(seed), *emulator_options(link)]


@contextlib.contextmanager
def _emulator(argv: list[str]) -> Iterator[proc.Process]:
    with proc.Process("link", argv) as emulator:
        said = proc.receive(emulator.mailbox, time.monotonic() + 10)
        if not said or not said[1] or said[1].get("event") != "ready":
            emulator.wait(time.monotonic() + 1)
            raise BenchError(f"the link does not come up: {emulator.last_complaint() or 'spice-link says nothing'}")
        yield emulator


@contextlib.contextmanager
def _emulated(server: Path, client: Path, link: Link, seed: int) -> Iterator[Lab]:
    lab = Lab(server, client, link, SPICE_LINK)
    with _emulator(emulator_command(server, client, link, seed)) as emulator:
        for where in (server, client):
            disable_offloads(where, _DEVICE)
        if link.ipv6:
            _address_6(server, client)
            lab.server_address, lab.client_address = SERVER_ADDRESS_6, CLIENT_ADDRESS_6
        lab.begin_changes = lambda: emulator.signal(signal.SIGUSR1)
        yield lab
        emulator.signal(signal.SIGTERM)
        said = proc.receive(emulator.mailbox, time.monotonic() + 5)
        lab.counters = said[1] if said else None


@contextlib.contextmanager
def second_client(lab: Lab, link: Link, seed: int = 1) -> Iterator[Lab]:
    """Another client of the same server, at the same address, over an emulated link of its own."""
    with netns.create() as client, \
            _emulator(emulator_command(lab.server, client, link, seed, _SECOND_DEVICE, _SECOND_ADDRESSES)):
        for where, device in ((lab.server, _SECOND_DEVICE), (client, _DEVICE)):
            disable_offloads(where, device)
        _ip(client, "route", "add", lab.server_address, "dev", _DEVICE)
        _ip(lab.server, "route", "add", _SECOND_ADDRESSES[1], "dev", _SECOND_DEVICE, "src", lab.server_address, "congctl", lab.congestion)
        yield replace(lab, client=client, link=link, emulator=SPICE_LINK, client_address=_SECOND_ADDRESSES[1], device=_SECOND_DEVICE,
                      begin_changes=lambda: None)


def _address_6(server: Path, client: Path) -> None:
    """Addresses of IPv6 as well, and no packet but those that the two ends send each other."""
    for where, mine in ((server, SERVER_ADDRESS_6), (client, CLIENT_ADDRESS_6)):
        _ip(where, "link", "set", _DEVICE, "addrgenmode", "none")
        for name, value in (("accept_ra", 0), ("dad_transmits", 0), ("disable_ipv6", 0)):
            proc.call(["sh", "-c", 'echo "$2" >"/proc/sys/net/ipv6/conf/$0/$1"', _DEVICE, name, str(value)], where)
        _ip(where, "-6", "address", "add", f"{mine}/64", "dev", _DEVICE, "nodad")


def free_port(address: str = LOOPBACK) -> int:
    with socket.create_server((address, 0)) as listener:
        return int(listener.getsockname()[1])


def _control_congestion(server: Path, client: Path, algorithm: str) -> None:
    """Sets the algorithm per route: defaults differ between machines, and a namespace's own default is limited to what the
    machine allows to all."""
    for where, mine, peer in _ends(server, client):
        try:
            _ip(where, "route", "replace", peer, "dev", _DEVICE, "src", mine, "congctl", algorithm)
        except BenchError:
            raise BenchError(f"the kernel has no congestion control '{algorithm}': see sysctl "
                             "net.ipv4.tcp_available_congestion_control, choose with --with congestion=NAME") from None


@contextlib.contextmanager
def connect(link: Link, congestion: str = CONGESTION, seed: int = 1) -> Iterator[Lab]:
    """A new lab with the link in it. congestion: the algorithm of both ends' TCP. seed: of spice-link's losses and jitter."""
    proc.require("ip", "iproute2")
    with contextlib.ExitStack() as stack:
        server, client = stack.enter_context(netns.create()), stack.enter_context(netns.create())
        if link.emulated:
            lab = stack.enter_context(_emulated(server, client, link, seed))
        else:
            lab = Lab(server, client, link, NO_EMULATOR)
            _cable(server, client)
        _control_congestion(server, client, congestion)
        lab.congestion = congestion
        yield lab
