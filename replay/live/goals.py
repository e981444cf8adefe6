# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where stock or QEMU's VNC is better at a live guest: the rows that miss the goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench.common import table
from bench.measure.stats import quantile
from bench.runs import modes
from live.page import FEWEST, UNKNOWN, Record, Row, by_link
from live.user import LIMIT
from live.ways import VNC

OURS = "flow"
# The goals: as quick as the better of the others, but for this; no more bytes than VNC, and at most this many times stock's.
_FACTOR, _SECONDS = 1.1, 0.02
_BYTES = 1.05


def _slower(ways: Mapping[str, Row]) -> str | None:
    """By the p95; by the median if one of them has too few waits for a p95. A picture that was not shown counts as the limit of a wait."""
    waited = {way: ways[way].waited for way in (OURS, modes.STOCK, VNC) if way in ways and ways[way].waited}
    few = min(map(len, waited.values()), default=0) < FEWEST
    found = {way: quantile(times, 0.5 if few else 0.95) for way, times in waited.items()}
    ours = found.pop(OURS, None)
    if ours is None or not found:
        return None
    best = min(found, key=lambda way: found[way])
    if ours <= found[best] * _FACTOR + _SECONDS:
        return None
    return f"{'median' if few else 'p95'} {ours:.2f} s, {best} {found[best]:.2f} s"


def _larger(ways: Mapping[str, Row], way: str, factor: float) -> str | None:
    ours = ways[OURS].wire
    if way not in ways or ours <= ways[way].wire * factor:
        return None
    ratio = ours / ways[way].wire if ways[way].wire else float("inf")
    return f"{ours / 1e3:.1f} kB, {way} {ways[way].wire / 1e3:.1f} kB ({ratio:.1f} times)"


def _changes(ways: Mapping[str, Row]) -> str:
    found = [f"{way} {ways[way].changes:.0f}" for way in (OURS, modes.STOCK, VNC) if way in ways and ways[way].changes is not None]
    return ", ".join(found) or UNKNOWN


def misses(records: Iterable[Record]) -> tuple[str | None, int, int]:
    """A table of the rows that miss a goal, None if there is none; how many these are, and how many were judged."""
    lines: list[Sequence[str]] = []
    judged = 0
    for guest, scenario, found_links in by_link(records):
        for link, ways in found_links.items():
            if OURS not in ways or not ways.keys() & {modes.STOCK, VNC}:
                continue
            judged += 1
            found = [_slower(ways), _larger(ways, VNC, 1), _larger(ways, modes.STOCK, _BYTES)]
            if any(found):
                lines.append([guest, scenario, link, str(ways[OURS].waits), *(text or "" for text in found), _changes(ways)])
    head = ["guest", "scenario", "link", "n", "slower", "more bytes than VNC", "more bytes than stock", "changes/s"]
    return (table.markdown(head, lines, left=3) if lines else None), len(lines), judged


def text(records: Iterable[Record]) -> str | None:
    """The section of the page; None if there is nothing to compare."""
    found, missed, judged = misses(records)
    if not judged:
        return None
    says = (f"Goals of this library (`{OURS}`): p95 (the median where a way has fewer than {FEWEST} waits; a picture that was not shown "
            f"counts as {LIMIT:.0f} s) at most {(_FACTOR - 1) * 100:.0f} % and {_SECONDS * 1e3:.0f} ms above the better of stock and VNC; no more "
            f"bytes than VNC; at most {(_BYTES - 1) * 100:.0f} % more bytes than stock. {judged - missed} of {judged} rows meet each goal that applies (a way that was not measured, as VNC with sound, sets none)")
    if not found:
        return says + "."
    return (says + "; these do not. *changes/s*: of the client's picture, if the guest draws by itself; more changes take more bytes. Columns are "
            f"empty where the goal is met.\n\n{found}")
