# SPDX-License-Identifier: LGPL-2.1-or-later
"""Comparisons that are kept in a folder, such as results/, and the tables of documents that are made of several. A table that was not
measured is empty."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.common import paths, table
from bench.lab import links
from bench.report import grouping, report
from bench.report.grouping import Run
from bench.runs import modes, results

OURS = "flow"
SESSIONS = {"linux-boot": "recorded boot of Linux", "linux-desktop": "Linux desktop", "linux-video": "desktop with video",
            "vga-text-boot": "scrolling text (VGA)"}
# to compare with results/README.md's table: in today's terms
POSTED = """\
For comparison, figures posted to spice-devel in February 2017, relative to `normal` over plain TCP (today's modes in brackets): `tls` (normal,
TLS) packets +30 %, bytes +7.5 %; `tls opt` (gather, TLS) +12 %, +5.2 %; `cork` (plain) -56 %, -11 %; `hacks-2` (window, plain) -67 %, -14 %.
The packets of 2017 were counted before segmentation offload; here offloads are off.
"""
_CPU_MODES = (modes.STOCK, "cork", "batch", OURS)
_LEAST_GAIN = 0.1       # of stock's CPU: parts of a smaller gain would be noise
_RELAYED = {"distance": "distance/links", "staleness": "staleness/links"}
_DISTANCES: tuple[tuple[str, str, str, str, Callable[[float], str]], ...] = (   # says, folder, link, metric, how it is written
    *((f"{link}: seconds", where, link, "wall", lambda value: f"{value:.1f} s") for where, link in
      (("distance", "20M40ms"), ("distance/links", "50M100ms"), ("distance/links", "100M10ms"), ("distance/links", "2M100ms"))),
    ("20M40ms, beside a bulk download: share of the link", "distance/download", "20M40ms", "own_share", lambda value: f"{value * 100:.0f} %"),
    ("2M100ms, recorded pace: p95 latency", "staleness", "2M100ms", "latency_p95", lambda value: f"{value / 1e3:.2f} s"),
    ("2M100ms, recorded pace: p95 staleness", "staleness", "2M100ms", "staleness_p95", lambda value: f"{value / 1e3:.1f} s"),
    ("20M40ms: bytes on the wire", "distance", "20M40ms", "wire_bytes", table.megabytes),
    ("2M100ms, recorded pace: bytes on the wire", "staleness", "2M100ms", "wire_bytes", table.megabytes))


class Stored:
    """The results below a folder, each read when it is asked for."""

    def __init__(self, folder: Path = paths.RESULTS, known: dict[str, dict[str, Any] | None] | None = None) -> None:
        self.folder = folder
        self._known = known or {}

    def result(self, where: str) -> dict[str, Any] | None:
        if where not in self._known:
            files = [self.folder / where / name for name in ("compare.json.xz", "compare.json")]
            self._known[where] = next((results.load(file) for file in files if file.is_file()), None)
        return self._known[where]

    def all_runs(self, where: str) -> list[Run]:
        return list((self.result(where) or {"runs": []})["runs"])

    def runs(self, where: str, link: str, mode: str, session: str, transport: str = "tls") -> list[Run]:
        """Of a session, or of a part of it."""
        return [run for run in self.all_runs(where) if (run["link"], run["mode"], run["recording"].partition("@")[0], run["transport"])
                == (link, mode, session, transport)]

    def values(self, metric: str, where: str, link: str, mode: str, session: str, transport: str = "tls") -> list[float]:
        return grouping.values(self.runs(where, link, mode, session, transport), metric)


def by_session(stored: Stored, where: str, link: str, metric: str, written: Callable[[float], str], plain: str = "") -> str:
    """A figure over TLS, with bytes. plain: the folder of the same without TLS, if that is to be shown beside it."""
    lines, shown = [], {}
    for session, says in SESSIONS.items():
        shown = {"stock, no TLS": stored.values(metric, plain, link, modes.STOCK, session, "plain")} if plain else {}
        shown |= {name: stored.values(metric, where, link, mode, session) for name, mode in (("stock", modes.STOCK), ("this library", OURS))}
        sent = [stored.values("wire_bytes", where, link, mode, session) for mode in (modes.STOCK, OURS)]
        if not all((*shown.values(), *sent)):
            return ""
        *others, ours = (written(statistics.median(each)) for each in shown.values())
        stock, mine = map(statistics.median, sent)
        lines.append([says, *others, f"**{ours}**", f"{stock / 1e6:.2f}", f"{mine / 1e6:.2f}", f"{mine / stock * 100:.0f} %",
                      str(min(map(len, (*shown.values(), *sent))))])
    return table.markdown(["session", *shown, "stock, MB", "this library, MB", "of stock's bytes", "n"], lines, padded=False)


def seconds(stored: Stored) -> str:
    return by_session(stored, "distance", "20M40ms", "wall", lambda value: f"{value:.1f} s")


def overhead(stored: Stored) -> str:
    return by_session(stored, "modes", "lan", "overhead_ratio", table.percent, "modes/plain")


def overheads(stored: Stored, *folders: str) -> str:
    """Of each mode."""
    return report.overheads(*map(stored.all_runs, folders))


def cpu(stored: Stored) -> str:
    """CPU seconds of the modes that tell sending apart from the rest."""
    lines = []
    for session, says in SESSIONS.items():
        values = [stored.values("cpu", "modes", "lan", mode, session) for mode in _CPU_MODES]
        if not all(values):
            return ""
        stock, cork, _, ours = used = [statistics.median(each) for each in values]
        part = f"{(stock - cork) / (stock - ours) * 100:.0f} %" if stock - ours > _LEAST_GAIN * stock else table.UNKNOWN
        lines.append([says, *map(table.seconds, used), part, str(min(map(len, values)))])
    return table.markdown(["session", *_CPU_MODES, "part of the gain that is not sending", "n"], lines, padded=False)


def distances(stored: Stored) -> str:
    """linux-desktop, direct and through a relay, as far as measured with the library of the first page: rows and columns without a figure
    are left out."""
    def library(where: str) -> str | None:
        return results.library(stored.result(where))

    def values(where: str, link: str, metric: str, mode: str) -> Sequence[float]:
        through = _RELAYED.get(where, where) if link.endswith(links.RELAY) else where
        return stored.values(metric, through, link, mode, "linux-desktop") if library(through) == library("distance") else ()

    rows = []
    for says, where, link, metric, written in _DISTANCES if stored.result("distance") else ():
        found = [values(where, through, metric, mode) for through in (link, link + links.RELAY) for mode in (modes.STOCK, OURS)]
        if any(found):
            rows.append([says, *(written(statistics.median(each)) if each else table.UNKNOWN for each in found),
                         str(min(len(each) for each in found if each))])
    columns = [column for column in zip(("linux-desktop", "stock", "`flow`", "stock, relay", "`flow`, relay", "n"), *rows, strict=True)
               if any(cell != table.UNKNOWN for cell in column[1:])]
    head, *lines = zip(*columns, strict=True) if rows else [()]
    return table.markdown(head, lines) if lines else ""
