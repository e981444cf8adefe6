# SPDX-License-Identifier: LGPL-2.1-or-later
"""Latency from probes: from when the player hands a drawing command to the server until the client library reports
that update; and response time at --pace user. All read CLOCK_MONOTONIC, so both ends must be on one machine.

Probe numbers wrap around, without those that a drawing of the recording looks like: what arrives with a number that nobody sent is such a
drawing. The server may drop a probe that is covered by a later drawing or leaves the pipe in
another way: each received number is the next sent one with that number, and skipped ones were dropped. Exception: a
client that is behind gets the latest change first, and may get a skipped probe soon after.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.measure import stats

Stamp = Sequence[int]       # number, time in ns; of a sent one also its due time


@dataclass(frozen=True)
class Probe:
    sent: int
    due: int                # earlier than sent, if the server delayed the session
    received: int | None    # None: dropped


def first_reports(received: Sequence[Stamp]) -> list[Stamp]:
    """Drops repeated reports. The client reports a probe twice if it redraws the area because a video plays there; the first one
    counts."""
    return [stamp for before, stamp in itertools.pairwise([(None,), *received]) if stamp[0] != before[0]]


UNMATCHED = "the probes that arrived do not fit those that were sent"
_CYCLE = 3600       # MARKER_PROBES of replay/common/marker.h
_OVERTAKEN = 50     # probes: some seconds. A client that is further behind gets all of them at once


def match(sent: Sequence[Stamp], received: Sequence[Stamp], overtaking: bool = False) -> list[Probe] | None:
    """None when the two cannot belong together: a probe that came before it was sent; or after a later one, unless there may be
    overtaking. A client tells numbers apart modulo _CYCLE."""
    probes: list[Probe] = []
    at = 0
    ours = {number % _CYCLE for number, *_ in sent}
    for number, when in received:
        if number % _CYCLE not in ours:
            continue
        recent = range(at - 1, max(at - 2 - _OVERTAKEN, -1), -1) if overtaking else ()
        late = next((place for place in recent if (sent[place][0] - number) % _CYCLE == 0), None)
        if late is not None:
            if when < sent[late][1]:
                return None
            # a repeated report of that one: the client redrew the area
            if probes[late].received is None:
                probes[late] = replace(probes[late], received=when)
            continue
        while at < len(sent) and (sent[at][0] - number) % _CYCLE:
            probes.append(Probe(*sent[at][1:], None))
            at += 1
        if at == len(sent) or when < sent[at][1]:
            return None
        probes.append(Probe(*sent[at][1:], when))
        at += 1
    probes += [Probe(when, due, None) for _, when, due in sent[at:]]
    return probes


def quantiles(values: Sequence[float]) -> dict[str, float | None]:
    parts = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    return {name: round(stats.quantile(values, part), 3) if values else None for name, part in parts}


def report(sent: Sequence[Stamp] | None, received: Sequence[Stamp] | None) -> dict[str, Any] | None:
    """The entry of a run's record, times in ms; None without probes, or if the numbers do not match."""
    if not sent or received is None:
        return None
    probes = match(sent, first_reports(received), overtaking=True)
    if probes is None:
        return None
    values = [(probe.received - probe.sent) / 1e6 for probe in probes if probe.received is not None]
    found: dict[str, Any] = {"sent": len(probes), "received": len(values), "dropped": len(probes) - len(values)}
    found |= quantiles(values)
    found["values"] = [round(value, 3) for value in values]
    return found


Burst = Sequence[int]       # command, when its last drawing was due, when the client's answer had come; ns
Shown = Mapping[str, Any]   # of a burst by the client: time_ns; missed, whether its picture did not come


def waited(bursts: Sequence[Burst], shown: Sequence[Shown]) -> int:
    """Nanoseconds that the client's answers took through the bench to the player. A person's eye would not need them."""
    return sum(max(0, burst[2] - one["time_ns"]) for burst, one in zip(bursts, shown, strict=True))


def response(bursts: Sequence[Burst] | None, shown: Sequence[Shown]) -> dict[str, Any] | None:
    """The entry of a run's record, in ms: how much later than on the guest's own screen the client shows everything drawn between two
    pauses. None without bursts, or when the two do not fit together. What was played before the session's time began, with nothing due, is
    no response.

    The client has shown a burst when the marker behind it has arrived and the picture is right, JPEG losses aside; it looks every 10 ms. A
    server that sends a slow client the current screen may send the marker first, or drop it. Then the player draws another marker after
    30 ms, and again each time 1/8 of the time has passed, so the error is at most the larger of the two. A picture that is missing 20 s
    after its marker is counted as missed, and the session continues."""
    if not bursts or len(bursts) != len(shown):
        return None
    counted = [((one["time_ns"] - due) / 1e6, one["missed"]) for (_, due, _), one in zip(bursts, shown, strict=True) if due]
    values = [round(value, 3) for value, _ in counted]
    if not counted or min(counted)[0] < 0:
        return None
    found = quantiles(values)
    return {"bursts": len(values), "missed": sum(missed for _, missed in counted),
            **{part: found[part] for part in ("p50", "p95", "max")}, "values": values}
