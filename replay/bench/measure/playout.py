# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gaps and lateness of sound packets without numbers, as a live guest sends them: a model of a player that fills a
buffer first, and is silent while it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure.channels import BUFFER_MS


@dataclass(frozen=True)
class Heard:
    seconds: float          # of sound that came
    gaps: int               # times that nothing was left to play; then the player fills its buffer again
    silence: float          # seconds that these took
    late: list[float]       # of each packet: seconds behind the fastest since the last gap


def heard(arrivals: Sequence[int], period: float, buffer: float = BUFFER_MS / 1e3) -> Heard:
    """`arrivals`: ns, rising; `period`: seconds of sound in each packet."""
    gaps, silence, late = 0, 0.0, []
    began = due = fastest = 0.0     # of what is played without a gap: when its first packet came, and when the next one is needed
    for number, when in enumerate(at / 1e9 for at in arrivals):
        if not number or when > due:
            if number:
                gaps += 1
                silence += when + buffer - due
            began, due, fastest = when, when + buffer, 0.0
        behind = when - began       # what it is behind its time by, if the first packet since the gap was on time
        fastest = min(fastest, behind)
        late.append(behind - fastest)
        began += period
        due += period
    return Heard(len(arrivals) * period, gaps, silence, late)
