# SPDX-License-Identifier: LGPL-2.1-or-later
"""For test_link.py: namespaces, a running spice-link, packets and their arrival times."""

import itertools
import json
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bench.common import paths
from bench.lab import lab, links, netns

T = TypeVar("T")
Report = dict[str, Any]

ADDRESS_A = "10.77.0.1"
ADDRESS_B = "10.77.0.2"
SO_RCVBUFFORCE = 33  # not in the socket module
SO_TIMESTAMPNS = 35
ETHERNET = 14
IP_UDP = 28
PING_FRAME = 84 + ETHERNET
FULL_FRAME, MSS = 1500 + ETHERNET, 1448
ICMP_ECHO, ICMP_ECHO_REPLY = 8, 0

LINKS = {  # bits per second, round trip in seconds
    "100M/10ms": (100e6, 0.010),
    "20M/40ms": (20e6, 0.040),
    "2M/100ms": (2e6, 0.100),
    "50M/100ms": (50e6, 0.100),
}

# For flood(): all of it waits in the queue at once, so the link is busy whether or not the sender
# gets the CPU. At 100 Mbit/s it is less than the TUN device holds.
FLOOD_SECONDS = 0.4
DEEP_QUEUE = "/queue0.5s"      # behind the name of a link

_numbers = itertools.count()


def binary() -> str:
    """The program under test."""
    return str(paths.build_dir() / "replay/link/spice-link")


def link_options(name: str) -> list[str]:
    """The options for a link as bench.lab.links writes it."""
    return lab.emulator_options(links.find(name))


class Namespaces:
    """Two network namespaces, gone at the end of the with block."""

    def __enter__(self) -> "Namespaces":
        name = f"spice-link-{os.getpid()}-{next(_numbers)}"
        self.a, self.b = f"{name}a", f"{name}b"
        for namespace in (self.a, self.b):
            subprocess.run(["ip", "netns", "add", namespace], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in (self.a, self.b):
            subprocess.run(["ip", "netns", "del", namespace], check=True)


def inside(namespace: str, make: Callable[[], T]) -> T:
    return netns.inside(Path("/run/netns", namespace), make)


def devices(namespace: str) -> list[str]:
    output = subprocess.run(["ip", "-netns", namespace, "-json", "link"], check=True,
                            capture_output=True, text=True).stdout
    return [link["ifname"] for link in json.loads(output) if link["ifname"] != "lo"]


def command(namespaces: Namespaces, *options: str, address_a: str = ADDRESS_A, address_b: str = ADDRESS_B) -> list[str]:
    return [binary(), "--ns-a", namespaces.a, "--addr-a", f"{address_a}/24",
            "--ns-b", namespaces.b, "--addr-b", f"{address_b}/24", *options]


class Link:
    """A running spice-link. finish() ends it, checks its counters and returns its report."""

    def __init__(self, namespaces: Namespaces, *options: str, **addresses: str) -> None:
        self.process = subprocess.Popen(command(namespaces, *options, **addresses), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.communicate()[1])
        self.ready: Report = json.loads(line)
        assert self.ready["event"] == "ready"

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def finish(self) -> Report:
        self.process.terminate()
        output, errors = self.process.communicate(timeout=10)
        assert self.process.returncode == 0, errors
        assert errors == ""
        report: Report = json.loads(output)
        assert report["event"] == "done"
        for way in (report["a_to_b"], report["b_to_a"]):
            assert way["packets_in"] == (way["packets_out"] + way["dropped_queue"] + way["refused"]
                                         + way["dropped_loss"] + way["under_way"])
            assert way["missed"] == 0
        return report


def udp(namespace: str, address: str, port: int = 0) -> socket.socket:
    """A datagram socket with kernel receive times, and a large receive buffer."""
    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.bind((address, port))
        return made
    return inside(namespace, make)


def receive(receiver: socket.socket, quiet: float) -> list[tuple[float, bytes]]:
    """All datagrams, with times of arrival (CLOCK_REALTIME), until none arrives for `quiet` seconds."""
    receiver.settimeout(quiet)
    packets = []
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(2048, 64)
        except TimeoutError:
            return packets
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        packets.append((seconds + nanoseconds / 1e9, data))


def send_numbered(sender: socket.socket, to: tuple[str, int], count: int, size: int,
                  rate: float) -> None:
    """count datagrams of size bytes that start with their number, at about rate bits a second on
    the wire."""
    start = time.monotonic()
    for number in range(count):
        sender.sendto(number.to_bytes(4) + bytes(size - 4), to)
        ahead = (number + 1) * (size + IP_UDP + ETHERNET) * 8 / rate - (time.monotonic() - start)
        if ahead > 0.002:
            time.sleep(ahead)


def numbers(packets: list[tuple[float, bytes]]) -> list[int]:
    return [int.from_bytes(data[:4]) for _, data in packets]


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ping(namespace: str, address: str, count: int, interval: float) -> list[float]:
    """Round trip times in seconds, from before the request is sent to the kernel's receive time of the reply. So Python's wake-up
    after the reply is not included."""
    def make() -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    with inside(namespace, make) as icmp:
        icmp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sent = []
        for number in range(count):
            request = struct.pack("!BBHHH", ICMP_ECHO, 0, 0, 77, number) + bytes(56)
            request = request[:2] + _checksum(request).to_bytes(2) + request[4:]
            sent.append(time.clock_gettime(time.CLOCK_REALTIME))
            icmp.sendto(request, (address, 0))
            time.sleep(interval)
        times = []
        for when, data in receive(icmp, 0.5):
            if data[20] == ICMP_ECHO_REPLY:
                times.append(when - sent[int.from_bytes(data[26:28])])
        return times


def slope(points: list[tuple[float, float]]) -> float:
    """Slope of the points: the median over all pairs that are half of them apart, so that one pause of the machine does not
    change it."""
    half = len(points) // 2
    slopes = sorted((points[i + half][1] - points[i][1]) / (points[i + half][0] - points[i][0])
                    for i in range(len(points) - half))
    return slopes[len(slopes) // 2]


def flood(sender: socket.socket, receiver: socket.socket, rate: float) -> float:
    """Sends full packets at once, as many as the link carries in FLOOD_SECONDS. Returns for how many seconds at most the link was
    idle between first and last, because the sender waited for a CPU."""
    idle = busy_until = 0.0
    for number in range(int(rate * FLOOD_SECONDS / 8 / FULL_FRAME)):
        payload = number.to_bytes(4) + bytes(FULL_FRAME - ETHERNET - IP_UDP - 4)
        before = time.monotonic()
        sender.sendto(payload, receiver.getsockname())
        if number:
            idle += max(0, time.monotonic() - busy_until)
        busy_until = max(busy_until, before) + FULL_FRAME * 8 / rate    # or later, if the emulator was late
    return idle


def flooded(namespaces: Namespaces, rate: float, address_a: str = ADDRESS_A,
            address_b: str = ADDRESS_B) -> tuple[list[tuple[float, bytes]], float]:
    """The packets that arrive of a flood from a to b, and for how long the link was idle."""
    with udp(namespaces.b, address_b) as receiver, udp(namespaces.a, address_a) as sender:
        idle = flood(sender, receiver, rate)
        return receive(receiver, 0.3), idle


def wire_rate(packets: list[tuple[float, bytes]]) -> float:
    """Bits per second, with Ethernet headers, at which the packets arrived."""
    points = []
    bits = 0
    for when, data in packets:
        bits += (len(data) + IP_UDP + ETHERNET) * 8
        points.append((when, float(bits)))
    return slope(points)


def off_by(packets: list[tuple[float, bytes]], rate: float) -> float:
    """Seconds by which the packets took longer than at that rate, from the first quarter of them to the last; negative if
    shorter. In each quarter the packet that was least late counts, as waiting for a CPU only adds."""
    bits, late = 0, []
    for when, data in packets:
        late.append(when - packets[0][0] - bits / rate)
        bits += (len(data) + IP_UDP + ETHERNET) * 8
    quarter = max(len(late) // 4, 1)
    return min(late[-quarter:]) - min(late[:quarter])


def free_processors() -> float:
    """Idle CPU seconds since boot, without steal time."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()[1:]
    return (int(fields[3]) + int(fields[4])) / os.sysconf("SC_CLK_TCK")


def tcp_transfer(namespaces: Namespaces, seconds: float) -> list[tuple[float, float]]:
    """A bulk transfer from a to b: (seconds since the start, received bytes)."""
    listener = inside(namespaces.b, lambda: socket.create_server((ADDRESS_B, 0)))

    def make() -> socket.socket:
        made = socket.socket()
        # set explicitly, as machines have different defaults
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        return made

    sender = inside(namespaces.a, make)
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    start = time.monotonic()

    def send() -> None:
        block = bytes(65536)
        try:
            while True:
                sender.sendall(block)
        except OSError:
            pass  # the receiver has had enough

    thread = threading.Thread(target=send)
    thread.start()
    points = []
    bits = 0
    while (now := time.monotonic() - start) < seconds:
        bits += 8 * len(receiver.recv(1 << 20))
        points.append((now, float(bits)))
    receiver.shutdown(socket.SHUT_RDWR)
    receiver.close()  # closing with unread data resets the sender
    thread.join()
    sender.close()
    listener.close()
    return points
