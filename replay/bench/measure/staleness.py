# SPDX-License-Identifier: LGPL-2.1-or-later
"""Staleness over time, from the intervals in which the client's screen lacked a change that was due (screens.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# (begin, end, since), in ns: from begin to end the screen lacked a change due at since. The last one has None and covers the whole session.
Stretch = tuple[int, int, int | None]

OLD = 2e9           # ns: a client whose picture is older has fallen behind


def _share_at_most(segments: Sequence[tuple[float, float]], age: float) -> float:
    """Share of the time in which the picture was at most `age` old."""
    total = sum(length for _, length in segments)
    within = 0.0
    for start, length in segments:
        within += length if start < 0 else min(max(age - start, 0.0), length)
    return within / total if total else 1.0


def summary(segments: Sequence[tuple[float, float]]) -> dict[str, float] | None:
    """Of (age at the start, length) of stretches in which the picture grows older; both in ns, age 0 throughout a stretch is
    written as (-length, length). In ms."""
    total = sum(length for _, length in segments)
    if not total:
        return None
    oldest = max(max(start + length, 0.0) for start, length in segments)
    mean = sum(length * (start + length / 2) for start, length in segments if start >= 0) / total
    ages = {"mean": mean, "max": oldest}
    for name, part in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        low, high = 0.0, oldest
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if _share_at_most(segments, middle) >= part else (middle, high)
        ages[name] = high
    return {name: round(value / 1e6, 3) for name, value in ages.items()}


def recovery(stretches: Sequence[Stretch], changes: Sequence[int]) -> list[float]:
    """For each change of the line (its time in ns, rising) that came before the end: seconds until the picture was less than two
    seconds old and remained so until the next change; until that one if it never was."""
    found = []
    end = stretches[-1][1]
    for change, following in zip(changes, [*changes[1:], end], strict=False):
        until = min(following, end)
        if until <= change:
            break
        old = [min(to, until) for begin, to, since in stretches[:-1]
               if begin < until and to > change and since is not None and min(to, until) - since >= OLD]
        found.append(round((max(old, default=change) - change) / 1e9, 3))
    return found


def report(stretches: Sequence[Stretch], changes: Sequence[int] = ()) -> dict[str, Any]:
    """The entry of a run's record."""
    # a stretch begins with the step in which the change was due, slightly before it
    stale = [(float(max(begin - since, 0)), float(end - begin)) for begin, end, since in stretches[:-1] if since is not None]
    begun, ended, _ = stretches[-1]
    fresh = ended - begun - sum(length for _, length in stale)
    return {"age": summary([*stale, (-fresh, fresh)]), "recovery": recovery(stretches, changes)}
