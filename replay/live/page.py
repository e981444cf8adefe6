# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of ./run live: a table per guest and scenario, with a row per link and way of showing the guest. Repeats
share a row. And the table of README.md, and the rows that miss the goals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.common import page as pages
from bench.common import table as tables
from bench.common.table import UNKNOWN
from bench.lab import links
from bench.measure.stats import quantile
from bench.runs import modes, store
from bench.runs.store import Run
from live.scenarios import SCENARIOS
from live.user import LIMIT
from live.ways import BROWSERS, VNC

OURS = "flow"
FEWEST = 20         # smallest number of waits for a 95th percentile
_ENOUGH = 100       # with fewer it is in brackets
_HELD_UP = 0.95     # of the lines per second of the table's best row: below, the guest was held up
# The goals: as quick as the better of the others, but for this; no more bytes than VNC, and at most this many times stock's.
_FACTOR, _SECONDS = 1.1, 0.02
_BYTES = 1.05
_SHORT_WAYS = {modes.STOCK: "stock", OURS: "this library", VNC: "QEMU's VNC"}
_SHORT_LINKS = ("lan", "20M40ms", "2M100ms")


@dataclass(frozen=True)
class Row:
    """Medians of the records of one cell; None if unknown."""

    link: str
    way: str
    waits: int              # actions, or stops of a guest that drew by itself
    failed: int             # of these, the ones whose picture was not shown
    median: float | None    # seconds
    p95: float | None
    changes: float | None   # changes of the client's picture per second, while the guest drew
    lines: float | None     # lines per second that the guest drew
    wire: float             # bytes from the server per wait, or per second of drawing
    per_line: float | None  # bytes
    worker: float           # ms of CPU of the encoding and sending threads, for the same
    qemu: float             # ms of CPU of QEMU without the guest's processor, for the same
    inexact: float          # largest share of the pixels that differ at rest
    gaps: float | None = None       # gaps in sound per minute
    silence: float | None = None    # share of the time
    late: float | None = None       # seconds: p95 of the packets' lateness, largest of the runs
    library: str = ""               # states of this tree's library; "" for others
    waited: Sequence[float] = ()    # seconds of every wait; a picture that was not shown: LIMIT


def libraries(runs: Iterable[Run]) -> list[str]:
    """The states of this tree's library that were measured."""
    return list(dict.fromkeys(run.library for run in runs if run.library is not None))


def shown(kept: Iterable[Run]) -> list[Run]:
    """The last run of each case that counts."""
    return [run for run in store.latest(kept) if run.counts]


def row(runs: Sequence[Run]) -> Row:
    def total(name: str) -> float:
        return float(sum(run.figures[name] for run in runs))

    waits = [wait for run in runs for wait in (run.figures["responses"] or run.figures["lags"])]
    shown = [wait for wait in waits if wait is not None]
    drawing, lines = total("drawing"), total("lines")
    times = drawing or len(waits) or 1
    worker, rest = (1e3 * sum(run.figures["cpu"][kind] for run in runs) / times for kind in ("worker", "rest"))
    return Row(runs[0].case.link, runs[0].case.mode, len(waits), len(waits) - len(shown),
               quantile(shown, 0.5) if shown else None, quantile(shown, 0.95) if len(shown) >= FEWEST else None,
               total("changes") / drawing if drawing else None, lines / drawing if drawing and lines else None,
               total("bytes") / times, total("bytes") / lines if lines else None, worker, worker + rest,
               max(run.figures["inexact"] for run in runs), *_heard(runs), ", ".join(libraries(runs)),
               [LIMIT if wait is None else wait for wait in waits])


def _heard(runs: Sequence[Run]) -> tuple[float | None, float | None, float | None]:
    sounds = [run.figures["sound"] for run in runs if "sound" in run.figures]
    if not sounds:
        return None, None, None
    gaps, silence, played = (sum(sound[name] for sound in sounds) for name in ("gaps", "silence", "seconds"))
    return gaps / played * 60, silence / (silence + played), max(sound["late"] for sound in sounds)


def rows(runs: Iterable[Run]) -> list[Row]:
    """Rows of one table, in the order of links and modes."""
    cells: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.case.link, run.case.mode), []).append(run)
    order = list(modes.MODES)

    def rank(cell: tuple[str, str]) -> tuple[Any, ...]:
        mode = cell[1].partition(" ")[0].partition(":")[0]
        return links.rank(cell[0]), order.index(mode) if mode in order else len(order), cell[1]

    return [row(cells[cell]) for cell in sorted(cells, key=rank)]


def _by_table(runs: Iterable[Run]) -> dict[tuple[str, ...], list[Run]]:
    """By guest and scenario."""
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        found.setdefault(run.case.what, []).append(run)
    return found


def _by_link(runs: Iterable[Run]) -> Iterator[tuple[str, str, str, dict[str, Row]]]:
    """Guest, scenario, link, and the row of each way."""
    for (guest, scenario), mine in _by_table(runs).items():
        found: dict[str, dict[str, Row]] = {}
        for one in rows(mine):
            found.setdefault(one.link, {})[one.way] = one
        for link, ways in found.items():
            yield guest, scenario, link, ways


def _number(value: float | None, digits: int = 0, unit: float = 1) -> str:
    return UNKNOWN if value is None else f"{value * unit:.{digits}f}"


def _seconds(value: float | None) -> str:
    return _number(value, 2 if value is None or value >= 0.1 else 3)


def _p95(one: Row, text: str) -> str:
    """`text`, the 95th percentile, in brackets if it is of few waits."""
    return text if one.p95 is None or one.waits - one.failed >= _ENOUGH else f"({text})"


def held_up(one: Row, best: float | None) -> str:
    """Whether the display kept the guest from drawing; `best`: lines per second of a guest that was not."""
    if one.lines is None or not best:
        return UNKNOWN
    return "no" if one.lines >= _HELD_UP * best else f"to {one.lines / best:.0%}"


def table(found: Sequence[Row], lag: bool, mixed: bool = False) -> str:
    """`lag`: for a guest that draws by itself; otherwise for actions. `mixed`: rows say of which library they are."""
    best = max((one.lines for one in found if one.lines is not None), default=None)
    stock = {one.link: one.wire for one in found if one.way == modes.STOCK}
    figure, per = ("lag", "s") if lag else ("response", "action")
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("link", lambda one: one.link), ("way", lambda one: one.way), ("n", lambda one: str(one.waits)), ("failed", lambda one: str(one.failed)),
        (f"{figure} p50, s", lambda one: _seconds(one.median)), ("p95", lambda one: _p95(one, _seconds(one.p95)))]
    if lag:
        columns += [("changes/s", lambda one: _number(one.changes)), ("lines/s", lambda one: _number(one.lines, 1)),
                    ("held up", lambda one: held_up(one, best)), ("wire kB/s", lambda one: _number(one.wire, 0, 1e-3)),
                    ("kB/line", lambda one: _number(one.per_line, 1, 1e-3))]
    else:
        columns += [("wire kB/action", lambda one: _number(one.wire, 1, 1e-3))]
    columns += [("bytes/stock", lambda one: _number(one.wire / stock[one.link] if stock.get(one.link) else None, 2)),
                (f"worker CPU ms/{per}", lambda one: _number(one.worker, 1)), (f"QEMU CPU ms/{per}", lambda one: _number(one.qemu, 1)),
                ("exact at rest", lambda one: f"no: {one.inexact:.2%} of the pixels" if one.inexact else "yes")]
    if any(one.gaps is not None for one in found):
        columns += [("sound: gaps/min", lambda one: _number(one.gaps, 1)),
                    ("silent", lambda one: UNKNOWN if one.silence is None else f"{one.silence:.1%}"),
                    ("late p95, ms", lambda one: _number(one.late, 0, 1e3))]
    if mixed:
        columns += [("this library", lambda one: one.library or UNKNOWN)]
    return tables.of(found, columns, left=2, padded=False)


def _waited(one: Row) -> str:
    if one.median is None:
        return UNKNOWN
    high = UNKNOWN if one.p95 is None else _p95(one, f"{one.p95:.2f}")
    return f"{one.median:.2f} / {high} s" + (f", {one.failed} of {one.waits} not shown" if one.failed else "")


def short(runs: Sequence[Run]) -> str | None:
    """Response time and bytes of stock, this library and VNC: rows that all three have; None without any. They say of which state of this
    library they are, if there are several."""
    lines = []
    for guest, scenario, link, ways in _by_link(runs):
        if link in _SHORT_LINKS and _SHORT_WAYS.keys() <= ways.keys():
            shown = [ways[way] for way in _SHORT_WAYS]
            unit = "kB/s" if SCENARIOS[scenario].figure == "lag" else "kB"
            lines.append([guest, scenario, link, str(min(one.waits for one in shown)), *map(_waited, shown),
                          *(f"{_number(one.wire, int(one.wire < 10_000), 1e-3)} {unit}" for one in shown), ways[OURS].library])
    head = ["guest", "scenario", "link", "n", *_SHORT_WAYS.values(), *(f"wire, {name}" for name in _SHORT_WAYS.values()), "measured with"]
    if len(libraries(runs)) <= 1:
        head, lines = head[:-1], [line[:-1] for line in lines]
    return tables.markdown(head, lines, left=3) if lines else None


def _slower(ways: Mapping[str, Row]) -> str | None:
    """By the p95; by the median if one of them has too few waits for a p95. A picture that was not shown counts as the limit of a wait."""
    waited = {way: ways[way].waited for way in _SHORT_WAYS if way in ways and ways[way].waited}
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


def misses(runs: Iterable[Run]) -> tuple[str | None, int, int]:
    """A table of the rows that miss a goal, None if there is none; how many these are, and how many were judged."""
    lines: list[Sequence[str]] = []
    judged = 0
    for guest, scenario, link, ways in _by_link(runs):
        if OURS not in ways or not ways.keys() & {modes.STOCK, VNC}:
            continue
        judged += 1
        found = [_slower(ways), _larger(ways, VNC, 1), _larger(ways, modes.STOCK, _BYTES)]
        if any(found):
            changes = [f"{way} {ways[way].changes:.0f}" for way in (OURS, modes.STOCK, VNC) if way in ways and ways[way].changes is not None]
            lines.append([guest, scenario, link, str(ways[OURS].waits), *(text or "" for text in found), ", ".join(changes) or UNKNOWN])
    head = ["guest", "scenario", "link", "n", "slower", "more bytes than VNC", "more bytes than stock", "changes/s"]
    return (tables.markdown(head, lines, left=3) if lines else None), len(lines), judged


def page(kept: Sequence[Run]) -> str:
    """Of each case the last run that counts."""
    runs = shown(kept)
    states = libraries(runs)
    found, missed, judged = misses(runs)
    return pages.fill(
        "live/live.md.j2", facts=store.facts(runs or kept), runs=len(runs), thrown_out=[run for run in kept if not run.counts],
        states=states, short=short(runs), dates=sorted(run.day for run in runs if run.date),
        loads=sorted(load for run in runs for load in run.figures["load"]),
        misses=found, missed=missed, judged=judged, ours=OURS, limit=LIMIT, factor=_FACTOR, seconds=_SECONDS, bytes=_BYTES, fewest=FEWEST,
        enough=_ENOUGH, held_up=_HELD_UP, browsers=any(run.case.mode.partition(" ")[0] in BROWSERS for run in runs),
        sound=any("sound" in run.figures for run in runs),
        tables=[(guest, SCENARIOS[scenario], table(rows(mine), mine[0].figures["figure"] == "lag", len(states) > 1))
                for (guest, scenario), mine in _by_table(runs).items()])
