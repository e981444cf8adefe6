# SPDX-License-Identifier: LGPL-2.1-or-later
"""The named links, one line each, and how others are written:

    RATE/DELAY                      20M/40ms
    RATE/DELAY/LOSS                 20M/40ms/1%
    changes of the rate             20M/40ms@10s:1M@20s:20M; `out` as a rate: every packet is lost
    DOWN:UP/DELAY/mtuN/queueT/ipv6  20M:4M/40ms/1%/mtu1280/queue2s/ipv6, in this order

mtu: bytes of an IP packet; queue: time that a full queue takes to drain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bench.common.errors import BenchError

MTU = 1500


@dataclass(frozen=True)
class Change:
    at: float                       # seconds after the session's clock has started
    rate: int | None                # bits per second from then on; None: cable pulled, packets are lost

    @property
    def says(self) -> str:
        return f"{_rate(self.rate)} at {self.at:g} s" if self.rate else f"out at {self.at:g} s"


@dataclass(frozen=True)
class Link:
    name: str
    rate: int | None = None         # bits per second each way; None: unlimited
    delay: float = 0.0              # seconds, round trip
    jitter: float = 0.0             # seconds; round trips take delay - jitter to delay + jitter
    loss: float = 0.0               # share of the packets, each way
    burst: int = 1                  # mean length of a run of lost packets
    changes: tuple[Change, ...] = ()    # sorted by time
    up: int | None = None           # bits per second from the client, if different
    queue: float = 0.0              # seconds that a full queue takes to drain; 0: one round trip
    mtu: int = 1500                 # bytes of an IP packet
    ipv6: bool = False
    relay: bool = False             # with a TCP relay beside the server
    unix: bool = False              # the relay connects to the server's Unix socket

    @property
    def emulated(self) -> bool:
        return self.rate is not None or self.delay > 0 or self.loss > 0 or self.mtu != MTU or self.ipv6

    @property
    def queue_bytes(self) -> int:
        """Size of the queue from the server; by default one round trip at its rate, from 64 KiB to what spice-link can hold."""
        if self.queue:
            return int((self.rate or 0) / 8 * self.queue)
        return min(max(64 * 1024, int((self.rate or 0) / 8 * self.delay)), 1 << 30)

    @property
    def full_round_trip(self) -> float:
        """The longest round trip in seconds: with one queue full, at the lowest rate."""
        slowest = min((change.rate for change in self.changes if change.rate), default=self.rate)
        return self.delay + (self.queue_bytes * 8 / min(slowest, self.rate) if slowest and self.rate else 0)

    @property
    def says(self) -> str:
        return self._says + (f", through a relay beside the server{', from a Unix socket' if self.unix else ''}" if self.relay else "")

    @property
    def _says(self) -> str:
        if not self.emulated:
            return "no limit"
        up = f" ({_rate(self.up)} up)" if self.up else ""
        rates = [_rate(self.rate) + up if self.rate else "no rate limit", *(change.says for change in self.changes)]
        parts = [", then ".join(rates), f"{self.delay * 1e3:g} ms round trip"]
        if self.jitter:
            parts.append(f"jitter {self.jitter * 1e3:g} ms")
        if self.loss:
            parts.append(f"{self.loss * 100:g} % loss" + (f" in runs of {self.burst}" if self.burst > 1 else ""))
        if self.mtu != MTU:
            parts.append(f"MTU {self.mtu}")
        if self.queue:
            parts.append(f"queue of {self.queue:g} s")
        if self.ipv6:
            parts.append("IPv6")
        return ", ".join(parts)


def _rate(bits_a_second: int) -> str:
    return f"{bits_a_second / 1e6:g} Mbit/s"


RELAY, UNIX = "+relay", "+unix"     # after the name of a link

LINKS: dict[str, Link] = {link.name: link for link in (
    Link("lan"),
    Link("100M10ms", rate=100_000_000, delay=0.010),
    Link("20M40ms", rate=20_000_000, delay=0.040),
    Link("2M100ms", rate=2_000_000, delay=0.100),
    Link("50M100ms", rate=50_000_000, delay=0.100),
    Link("1M200ms", rate=1_000_000, delay=0.200),
    Link("wifi-lossy", rate=30_000_000, delay=0.020, jitter=0.005, loss=0.01, burst=2),
    Link("4g", rate=15_000_000, delay=0.060, jitter=0.030),
    Link("20M40ms-loss", rate=20_000_000, delay=0.040, loss=0.01),
    Link("20M-1M-20M", rate=20_000_000, delay=0.040, changes=(Change(5, 1_000_000), Change(10, 20_000_000))),
    Link("20M-outage", rate=20_000_000, delay=0.040, changes=(Change(4, None), Change(9, 20_000_000))),
)}

_WRITTEN = re.compile(r"(?P<rate>[\d.]+[kMG])(?::(?P<up>[\d.]+[kMG]))?/(?P<delay>[\d.]+)ms(?:/(?P<loss>[\d.]+)%)?(?:/mtu(?P<mtu>\d+))?"
                      r"(?:/queue(?P<queue>[\d.]+)s)?(?P<ipv6>/ipv6)?(?P<changes>(?:@[\d.]+s:(?:out|[\d.]+[kMG]))*)")
_SMALLEST_MTU = 1280    # the minimum of IPv6
_LONGEST_QUEUE = 60


def via_relay(link: Link) -> Link:
    if link.ipv6:
        raise BenchError(f"link '{link.name}': the relay has no IPv6: leave out +relay or ipv6", 2)
    return link if link.relay else replace(link, name=link.name + RELAY, relay=True)


def _via_unix(link: Link) -> Link:
    return replace(via_relay(link), name=link.name + UNIX, unix=True)


def direct(name: str) -> str:
    """The name of the link without its relay."""
    return name.removesuffix(RELAY).removesuffix(UNIX)


def rank(name: str) -> tuple[int, str]:
    """Sort key of tables: named links in their order, each followed by the same link with a relay."""
    order = list(LINKS)
    known = direct(name)
    return order.index(known) if known in LINKS else len(order), name


def find(name: str) -> Link:
    if name.endswith(RELAY):
        return via_relay(find(direct(name)))
    if name.endswith(UNIX):
        return _via_unix(find(direct(name)))
    if name in LINKS:
        return LINKS[name]
    written = _WRITTEN.fullmatch(name)
    if not written:
        raise BenchError(f"unknown link '{name}': choose one of {', '.join(LINKS)}, or write 20M/40ms, 20M/40ms/1% (loss) or "
                         "20M/40ms@10s:1M@15s:out@20s:20M (changes) or 20M:4M/40ms/mtu1280/queue2s/ipv6 (up, MTU, queue)", 2)
    try:
        changes = tuple(Change(float(at.removesuffix("s")), None if rate == "out" else _bits(rate)) for at, rate in
                        (change.split(":") for change in written["changes"].split("@")[1:]))
        link = Link(name, rate=_bits(written["rate"]), delay=float(written["delay"]) / 1e3, loss=float(written["loss"] or 0) / 100,
                    changes=changes, up=_bits(written["up"]) if written["up"] else None, queue=float(written["queue"] or 0),
                    mtu=int(written["mtu"] or MTU), ipv6=bool(written["ipv6"]))
    except ValueError:      # 1.2.3
        raise BenchError(f"link '{name}': one of its numbers is malformed", 2) from None
    if not link.rate or link.up == 0 or 0 in (change.rate for change in changes):
        raise BenchError(f"link '{name}': a rate must not be 0 (an outage: 20M/40ms@4s:out)", 2)
    times = [change.at for change in changes]
    if times != sorted(set(times)) or 0 in times:
        raise BenchError(f"link '{name}': write the changes in order of time", 2)
    if link.up and changes:
        raise BenchError(f"link '{name}': a rate up (20M:4M) and changes (@) do not go together", 2)
    if not _SMALLEST_MTU <= link.mtu <= MTU:
        raise BenchError(f"link '{name}': the MTU must be from {_SMALLEST_MTU} to {MTU}", 2)
    if link.queue > _LONGEST_QUEUE or written["queue"] and min(link.rate, link.up or link.rate) / 8 * link.queue < MTU + 14:
        raise BenchError(f"link '{name}': the queue must hold at least one packet and at most {_LONGEST_QUEUE} s", 2)
    if link.loss >= 0.5:
        raise BenchError(f"link '{name}': the loss must be below 50 %", 2)
    return next((known for known in LINKS.values() if replace(known, name=name) == link), link)     # one name for one link


def _bits(written: str) -> int:
    return int(float(written[:-1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[written[-1]])
