# SPDX-License-Identifier: LGPL-2.1-or-later
"""Response times of a session at the user's pace: how much later than on the guest's own screen the client shows all of what was
drawn between two pauses. Both ends read CLOCK_MONOTONIC, so they must be on one machine.

The client has shown it when the marker after it has come and the picture is right, but for what JPEG loses: it looks every 10 ms.
A server that shows a client that is behind what is there may send the marker before the rest, or leave it out: the player then
draws another, after 30 ms, and again when an eighth of the time until then has passed, so that what is measured is too long by
no more than the larger of the two. A picture that has not come 20 s after its marker is missed: the session goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.measure import stats

Burst = Sequence[int]       # command, when its last drawing was due, when the client's answer had come; ns
Shown = Mapping[str, Any]   # of a burst by the client: time_ns; missed, whether its picture did not come


def waited(bursts: Sequence[Burst], shown: Sequence[Shown]) -> int:
    """Nanoseconds that answers took from the client to the player by way of the bench, where a person's eye takes none."""
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
