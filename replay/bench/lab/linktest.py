# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests a link before a run: a ping and a bulk transfer must be within the bounds below.

Both use UDP and the kernel's receive timestamps, so that neither TCP nor Python's wake-ups affect the figures. A
packet is never early and the rate never exceeded, on any machine; how late the median may be is bounded.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import struct
import threading
import time
from dataclasses import dataclass

from bench.lab import netns
from bench.lab.lab import Lab
from bench.lab.links import Link

_SO_TIMESTAMPNS = 35
_HEADERS = 14 + 20 + 8          # Ethernet, IP, UDP
_IPV6 = 20                      # its header is longer by
_SIZE = 1200                    # fits the smallest MTU
_PINGS = 7
_LATE = 0.005                   # seconds that the median ping may exceed the link's round trip
_RATE_BOUNDS = (0.90, 1.03)     # of the link's rate
_LAN_RATE = 100e6               # bits per second offered to a link without a limit
_LOSS_BOUNDS = (0.1, 4.0)       # times the link's loss; the packets are few, so only the magnitude is checked
_BULK_SECONDS = 0.4
_LOSS_PACKETS = 1200
_TRIES = 3


@dataclass
class Measured:
    ping: float | None          # seconds, the median
    fastest: float | None
    rate: float | None          # bits a second on the wire
    loss: float | None          # share lost of a stream slower than the link
    up: float | None = None     # bits per second from the client, if different


def _udp(where: Lab, at_server: bool) -> socket.socket:
    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET6 if where.link.ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        made.bind((where.server_address if at_server else where.client_address, 0))
        made.settimeout(0.5 + 4 * where.link.delay)
        return made
    return netns.inside(where.server if at_server else where.client, make)


def _receive(at: socket.socket) -> tuple[float, bytes] | None:
    """A datagram and its receive time in the kernel; None on a timeout."""
    try:
        data, ancillary, _, _ = at.recvmsg(2048, 64)
    except TimeoutError:
        return None
    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
    return seconds + nanoseconds / 1e9, data


def _ping(server: socket.socket, client: socket.socket, count: int) -> list[float]:
    """Round trips in seconds, started by the server. The time until the client replies is subtracted."""
    times = []
    for number in range(count):
        sent = time.clock_gettime(time.CLOCK_REALTIME)
        server.sendto(bytes([number]), client.getsockname())
        arrived = _receive(client)
        if arrived is None:
            continue
        answered = time.clock_gettime(time.CLOCK_REALTIME)
        client.sendto(arrived[1], server.getsockname())
        back = _receive(server)
        if back is not None and back[1] == bytes([number]):
            times.append(back[0] - sent - (answered - arrived[0]))
    return times


def _frame(link: Link) -> int:
    """Bytes on the wire per packet of a stream."""
    return _SIZE + _HEADERS + (_IPV6 if link.ipv6 else 0)


def _stream(server: socket.socket, client: socket.socket, packets: int, bytes_per_second: float | None) -> list[float]:
    """Sends packets at a rate (of payload), or as fast as possible. Returns the receive times of those that arrived."""
    times: list[float] = []

    def collect() -> None:
        while len(times) < packets and (arrived := _receive(client)) is not None:
            times.append(arrived[0])

    collector = threading.Thread(target=collect)
    collector.start()
    began = time.monotonic()
    for number in range(packets):
        server.sendto(bytes(_SIZE), client.getsockname())
        if bytes_per_second:
            ahead = began + (number + 1) * _SIZE / bytes_per_second - time.monotonic()
            if ahead > 0.001:
                time.sleep(ahead)
    collector.join()
    return times


def _rate(times: list[float], frame: int) -> float | None:
    """Bits per second of the middle of a stream: its first packets do not queue."""
    part = sorted(times)[len(times) // 10:]
    if len(part) < 10 or part[-1] <= part[0]:
        return None
    return (len(part) - 1) * frame * 8 / (part[-1] - part[0])


def _bulk(source: socket.socket, sink: socket.socket, link: Link, limit: int | None) -> float | None:
    """Bits per second that arrive of an offered load 30 % above the limit, if there is one."""
    rate = (limit or _LAN_RATE) * 1.3
    packets = int(rate / 8 / _frame(link) * _BULK_SECONDS)
    return _rate(_stream(source, sink, packets, rate / 8 * _SIZE / _frame(link) if limit else None), _frame(link))


def measure(where: Lab) -> Measured:
    link = where.link
    with contextlib.closing(_udp(where, True)) as server, contextlib.closing(_udp(where, False)) as client:
        _ping(server, client, 1)    # the first one resolves the neighbour's address
        times = _ping(server, client, _PINGS)
        rate = _bulk(server, client, link, link.rate)
        up = _bulk(client, server, link, link.up) if link.up else None
        loss = None
        if link.loss:
            came = len(_stream(server, client, _LOSS_PACKETS, (link.rate or _LAN_RATE) * 0.7 / 8 * _SIZE / _frame(link)))
            loss = 1 - came / _LOSS_PACKETS
    return Measured(statistics.median(times) if times else None, min(times, default=None), rate, loss, up)


def judge(link: Link, found: Measured) -> str | None:
    """What is wrong with the link, in one line; None when it is as described."""
    if found.ping is None or found.fastest is None:
        return f"link {link.name}: no ping comes back"
    if found.fastest < link.delay - link.jitter:
        return f"link {link.name}: a ping took {found.fastest * 1e3:.2f} ms, less than the link has"
    if found.ping > link.delay + link.jitter + _LATE:
        return f"link {link.name}: the median ping took {found.ping * 1e3:.2f} ms"
    if found.rate is None:
        return f"link {link.name}: the bulk transfer did not arrive"
    kept = 1 - link.loss
    for way, rate, limit in (("carries", found.rate, link.rate), ("carries up", found.up, link.up)):
        # without a limit this only measures how fast this program sends
        if limit is not None and not _RATE_BOUNDS[0] * kept <= (rate or 0) / limit <= _RATE_BOUNDS[1]:
            return f"link {link.name} {way} {(rate or 0) / 1e6:.2f} Mbit/s"
    if link.loss and not (found.loss is not None
                          and _LOSS_BOUNDS[0] * link.loss <= found.loss <= _LOSS_BOUNDS[1] * link.loss):
        return f"link {link.name} loses {(found.loss or 0) * 100:.2f} % of the packets"
    return None


def check(where: Lab) -> str | None:
    """Measures up to _TRIES times: on a busy machine a test may fail once, on a wrong link it always does. The number of tries is
    recorded."""
    reason = None
    for where.link_tests in range(1, _TRIES + 1):
        reason = judge(where.link, measure(where))
        if reason is None:
            return None
    return reason
