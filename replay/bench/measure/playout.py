# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gaps and lateness of sound packets without numbers, as a live guest sends them: a model of a player that fills a
buffer first, and is silent while it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure.channels import BUFFER_MS


@dataclass(frozen=True)
class Heard:
    seconds: float          # of the sound that arrived
    gaps: int               # times that the buffer ran empty; the player then fills it again
    silence: float          # seconds, total length of the gaps
    late: list[float]       # per packet: seconds later than the fastest one since the last gap


def heard(arrivals: Sequence[int], period: float, buffer: float = BUFFER_MS / 1e3) -> Heard:
    """Plays packets that arrived at these times (ns, rising), each with `period` seconds of sound."""
    gaps, silence, late = 0, 0.0, []
    began = due = fastest = 0.0     # of what is played without a gap: when its first packet came, and when the next one is needed
    for number, when in enumerate(at / 1e9 for at in arrivals):
        if not number or when > due:
            if number:
                gaps += 1
                silence += when + buffer - due
            began, due, fastest = when, when + buffer, 0.0
        behind = when - began       # its lateness, if the first packet since the gap was on time
        fastest = min(fastest, behind)
        late.append(behind - fastest)
        began += period
        due += period
    return Heard(len(arrivals) * period, gaps, silence, late)
