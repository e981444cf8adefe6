# SPDX-License-Identifier: LGPL-2.1-or-later
"""The links a recording is played over, as data: one line describes one. Another can be written on the command line as
RATE/DELAY, 20M/40ms for example."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bench.common.errors import BenchError


@dataclass(frozen=True)
class Link:
    name: str
    rate: int | None = None         # bits a second each way; None: as fast as the machine
    delay: float = 0.0              # seconds, the round trip
    jitter: float = 0.0             # seconds, the round trip takes delay - jitter to delay + jitter
    loss: float = 0.0               # part of the packets, each way
    burst: int = 1                  # mean length of a run of lost packets
    host: str = ""                  # the client is there, reached by ssh; what lies between is what it is
    relay: bool = False             # a TCP relay beside the server stands between it and the link

    @property
    def emulated(self) -> bool:
        return self.rate is not None or self.delay > 0 or self.loss > 0

    @property
    def may_be_slow(self) -> bool:
        """A server may take it for a slow link."""
        return self.emulated or bool(self.host)

    @property
    def queue_bytes(self) -> int:
        """What may wait before the slow part: one round trip's worth, 64 KiB at least."""
        return max(64 * 1024, int((self.rate or 0) / 8 * self.delay))

    @property
    def full_round_trip(self) -> float:
        """Seconds, with what may wait before the slow part one way."""
        return self.delay + (self.queue_bytes * 8 / self.rate if self.rate else 0)

    @property
    def says(self) -> str:
        return self._says + (", through a relay beside the server" if self.relay else "")

    @property
    def _says(self) -> str:
        if self.host:
            return "another machine"
        if not self.emulated:
            return "no limit"
        parts = [f"{self.rate / 1e6:g} Mbit/s" if self.rate else "no rate limit", f"{self.delay * 1e3:g} ms round trip"]
        if self.jitter:
            parts.append(f"jitter {self.jitter * 1e3:g} ms")
        if self.loss:
            parts.append(f"{self.loss * 100:g} % loss in runs of {self.burst}")
        return ", ".join(parts)


HOST = "host:"      # before the name of another machine
RELAY = "+relay"    # after the name of a link

LINKS: dict[str, Link] = {link.name: link for link in (
    Link("lan"),
    Link("100M10ms", rate=100_000_000, delay=0.010),
    Link("20M40ms", rate=20_000_000, delay=0.040),
    Link("2M100ms", rate=2_000_000, delay=0.100),
    Link("50M100ms", rate=50_000_000, delay=0.100),
    Link("wifi-lossy", rate=30_000_000, delay=0.020, jitter=0.005, loss=0.01, burst=2),
)}


def via_relay(link: Link) -> Link:
    return link if link.relay else replace(link, name=link.name + RELAY, relay=True)


def direct(name: str) -> str:
    """The name of the same link without a relay."""
    return name.removesuffix(RELAY)


def rank(name: str) -> tuple[int, str]:
    """For tables: the known ones in their order, what goes through a relay right after what does not."""
    order = list(LINKS)
    known = direct(name)
    return order.index(known) if known in LINKS else len(order), name


def find(name: str) -> Link:
    if name.endswith(RELAY):
        return via_relay(find(direct(name)))
    if name in LINKS:
        return LINKS[name]
    if name.startswith(HOST) and len(name) > len(HOST):
        return Link(name, host=name.removeprefix(HOST))
    written = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG])/(\d+(?:\.\d+)?)ms", name)
    if not written:
        raise BenchError(f"unknown link '{name}': it is one of {', '.join(LINKS)} or written as 20M/40ms", 2)
    rate = int(float(written[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[written[2]])
    if not rate:
        raise BenchError(f"link '{name}' carries nothing", 2)
    return Link(name, rate=rate, delay=float(written[3]) / 1e3)
