# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of README.md: response time and bytes of stock, this library and VNC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench.common import table
from bench.runs import modes
from live.page import UNKNOWN, Record, Row, by_link, libraries, p95
from live.scenarios import SCENARIOS
from live.ways import VNC

WAYS = {modes.STOCK: "stock", "flow": "this library", VNC: "QEMU's VNC"}
_LINKS = ("lan", "20M40ms", "2M100ms")


def _waited(one: Row | None) -> str:
    if one is None or one.median is None:
        return UNKNOWN
    high = UNKNOWN if one.p95 is None else p95(one, f"{one.p95:.2f}")
    failed = f", {one.failed} of {one.waits} not shown" if one.failed else ""
    return f"{one.median:.2f} / {high} s{failed}"


def _bytes(one: Row | None, drew: bool) -> str:
    if one is None:
        return UNKNOWN
    return f"{one.wire / 1e3:.{1 if one.wire < 10_000 else 0}f} kB{'/s' if drew else ''}"


def _cells(found: Mapping[str, Row], drew: bool) -> list[str]:
    return [*(_waited(found.get(way)) for way in WAYS), *(_bytes(found.get(way), drew) for way in WAYS)]


def short(records: Iterable[Record]) -> str | None:
    """None if none of it was measured. A row without one of the ways that README.md compares is left out. Rows say of which
    state of this library they are, if there are several."""
    records = list(records)
    mixed = len(libraries(records)) > 1
    lines: list[Sequence[str]] = []
    for guest, scenario, found in by_link(records):
        for link, ways in found.items():
            shown = [ways[way] for way in WAYS if way in ways]
            if link in _LINKS and len(shown) == len(WAYS):
                lines.append([guest, scenario, link, str(min(one.waits for one in shown)), *_cells(ways, SCENARIOS[scenario].figure == "lag"),
                              *([ways["flow"].library] if mixed else [])])
    head = ["guest", "scenario", "link", "n", *WAYS.values(), *(f"wire, {name}" for name in WAYS.values()),
            *(["measured with"] if mixed else [])]
    return table.markdown(head, lines, left=3) if lines else None
