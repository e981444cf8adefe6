# SPDX-License-Identifier: LGPL-2.1-or-later
"""Response time at --pace user: how much later than on the guest's own screen the client shows everything drawn
between two pauses. Both ends read CLOCK_MONOTONIC, so they must be on one machine.

The client has shown a burst when the marker behind it has arrived and the picture is right, JPEG losses aside; it
looks every 10 ms. A server that sends a slow client the current screen may send the marker first, or drop it. Then
the player draws another marker after 30 ms, and again each time 1/8 of the time has passed, so the error is at most
the larger of the two. A picture that is missing 20 s after its marker is counted as missed, and the session
continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.measure import stats

Burst = Sequence[int]       # command, when its last drawing was due, when the client's answer had come; ns
Shown = Mapping[str, Any]   # of a burst by the client: time_ns; missed, whether its picture did not come


def waited(bursts: Sequence[Burst], shown: Sequence[Shown]) -> int:
    """Nanoseconds that the client's answers took through the bench to the player. A person's eye would not need them."""
    return sum(max(0, burst[2] - one["time_ns"]) for burst, one in zip(bursts, shown, strict=True))


def report(bursts: Sequence[Burst] | None, shown: Sequence[Shown]) -> dict[str, Any] | None:
    """For a run's record, in ms; None without bursts, or when the two do not fit together. What was played before the session's
    time began, with nothing due, is no response."""
    if not bursts or len(bursts) != len(shown):
        return None
    counted = [((one["time_ns"] - due) / 1e6, one["missed"]) for (_, due, _), one in zip(bursts, shown, strict=True) if due]
    values = [round(value, 3) for value, _ in counted]
    if not counted or min(counted)[0] < 0:
        return None
    return {"bursts": len(values), "missed": sum(missed for _, missed in counted), "p50": round(stats.quantile(values, 0.5), 3), "p95": round(stats.quantile(values, 0.95), 3),
            "max": max(values), "values": values}
