# SPDX-License-Identifier: LGPL-2.1-or-later
"""The layout of the measurement of 2017 (spice-devel), line by line, beside its figures.

That mail compared TLS, TLS with small pieces gathered ("tls opt") and plain TCP ("normal"), then plain TCP with a cork and
with further changes ("hacks-2"); each against normal. Its percentages are quoted, none of its recordings are shipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.common import table
from bench.measure import stats
from bench.report import report

Run = dict[str, Any]


@dataclass(frozen=True)
class Line:
    called: str             # in the mail
    transport: str
    mode: str
    packets: float | None   # what the mail says, against normal
    bytes: float | None


_BLOCKS: tuple[tuple[Line, ...], ...] = (
    (Line("tls", "tls", "normal", 0.30, 0.075), Line("tls opt", "tls", "gather", 0.12, 0.052),
     Line("normal", "plain", "normal", None, None)),
    (Line("normal", "plain", "normal", None, None), Line("cork", "plain", "cork", -0.56, -0.11),
     Line("hacks-2", "plain", "window", -0.67, -0.14)),
)

WHY = """\
Both count what the server sends, headers included, against *normal* on plain TCP. They differ for known reasons. The mail's
packets average 2969 bytes, more than a network of its kind carries: it counted frames before the network card cut them up,
so several real packets were one; here offloads are off and a packet is what is on the wire. That hides most of what TLS
without gathering costs, and part of what a cork saves. The recordings are others: the more small messages one has, the more
there is to save. *hacks-2* was a set of trials; *window* is what became of their idea. TLS was 1.2 then."""


def _median(runs: list[Run], line: Line, name: str) -> float | None:
    return stats.median(run["server"][name] for run in runs if run["valid"] and run["mode"] == line.mode
                        and run["transport"] == line.transport and run["library"] == "patched")


def _change(value: float | None, base: float | None) -> str:
    return table.UNKNOWN if value is None or not base else f"{round((value / base - 1) * 100, 1) + 0.0:+.1f} %"


def _said(value: float | None) -> str:
    return "" if value is None else f"{value * 100:+.3g} %"


def _row(runs: list[Run], line: Line, normal: Line) -> list[str] | None:
    packets, wire = _median(runs, line, "packets"), _median(runs, line, "wire_bytes")
    if packets is None or wire is None:
        return None
    first = line == normal
    return [line.called, line.transport, line.mode, table.count(packets), table.megabytes(wire), table.count(wire / packets),
            "" if first else _change(packets, _median(runs, normal, "packets")), _said(line.packets),
            "" if first else _change(wire, _median(runs, normal, "wire_bytes")), _said(line.bytes)]


_HEAD = ("2017", "transport", "mode", "packets", "bytes", "a packet", "packets", "2017", "bytes", "2017")


def page(runs: list[Run]) -> str:
    """A table a recording and pace, over a lan; empty where normal over plain TCP was not measured."""
    parts = []
    for group, group_runs in report.groups(runs).items():
        if group[1] != "lan":
            continue
        for block in _BLOCKS:
            normal = next(line for line in block if line.packets is None)
            rows = [row for line in block if (row := _row(group_runs, line, normal))]
            if len(rows) > 1 and _median(group_runs, normal, "packets"):
                pace = "as fast as it goes" if group[2] == "max" else f"pace {group[2]}"
                parts.append(f"## {group[0]}, {pace}: {', '.join(line.called for line in block)}\n\n" +
                             table.markdown(_HEAD, rows, left=3))
    if not parts:
        return ""
    return "\n\n".join(("# As it was measured in 2017", *parts, WHY)) + "\n"
