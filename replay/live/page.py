# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of ./run live: a table per guest and scenario, with a row per link and way of showing the guest. Repeats
share a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.lab import links
from bench.measure.stats import quantile
from bench.runs import modes
from live.scenarios import SCENARIOS
from live.user import LIMIT
from live.ways import BROWSERS, of_tree

Record = dict[str, Any]
UNKNOWN = "–"
FEWEST = 20         # smallest number of waits for a 95th percentile
_ENOUGH = 100       # with fewer it is in brackets
_HELD_UP = 0.95     # of the lines per second of the table's best row: below, the guest was held up


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


def library(record: Record) -> str:
    """The state of this tree's library that was measured; "" for another library. Old records have only the commit."""
    return record.get("library") or f"commit {record.get('tree', 'unknown')}" if of_tree(record["way"]) else ""


def libraries(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(found for record in records if (found := library(record))))


def row(records: Sequence[Record]) -> Row:
    def total(name: str) -> float:
        return sum(record[name] for record in records)

    waits = [wait for record in records for wait in (record["responses"] or record["lags"])]
    shown = [wait for wait in waits if wait is not None]
    drawing, lines = total("drawing"), total("lines")
    times = drawing or len(waits) or 1
    worker, rest = (1e3 * sum(record["cpu"][kind] for record in records) / times for kind in ("worker", "rest"))
    return Row(records[0]["link"], records[0]["way"], len(waits), len(waits) - len(shown),
               quantile(shown, 0.5) if shown else None, quantile(shown, 0.95) if len(shown) >= FEWEST else None,
               total("changes") / drawing if drawing else None, lines / drawing if drawing and lines else None,
               total("bytes") / times, total("bytes") / lines if lines else None, worker, worker + rest,
               max(record["inexact"] for record in records), *_heard(records), ", ".join(libraries(records)),
               [LIMIT if wait is None else wait for wait in waits])


def _heard(records: Sequence[Record]) -> tuple[float | None, float | None, float | None]:
    sounds = [record["sound"] for record in records if "sound" in record]
    if not sounds:
        return None, None, None
    gaps, silence, played = (sum(sound[name] for sound in sounds) for name in ("gaps", "silence", "seconds"))
    return gaps / played * 60, silence / (silence + played), max(sound["late"] for sound in sounds)


def rows(records: Iterable[Record]) -> list[Row]:
    """Rows of one table, in the order of links and modes."""
    cells: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        cells.setdefault((record["link"], record["way"]), []).append(record)
    order = list(modes.MODES)

    def rank(cell: tuple[str, str]) -> tuple[Any, ...]:
        mode = cell[1].partition(" ")[0].partition(":")[0]
        return links.rank(cell[0]), order.index(mode) if mode in order else len(order), cell[1]

    return [row(cells[cell]) for cell in sorted(cells, key=rank)]


def by_link(records: Iterable[Record]) -> Iterator[tuple[str, str, dict[str, dict[str, Row]]]]:
    """Guest, scenario, and their rows: of each link, in order, those of each way."""
    tables: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        tables.setdefault((record["guest"], record["scenario"]), []).append(record)
    for (guest, scenario), mine in tables.items():
        found: dict[str, dict[str, Row]] = {}
        for one in rows(mine):
            found.setdefault(one.link, {})[one.way] = one
        yield guest, scenario, found


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _number(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def p95(one: Row, text: str) -> str:
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
    sound = any(one.gaps is not None for one in found)
    stock = {one.link: one.wire for one in found if one.way == modes.STOCK}
    head = ["link", "way", "n", "failed", *(("lag p50, s", "p95") if lag else ("response p50, s", "p95")),
            *(("changes/s", "lines/s", "held up", "wire kB/s", "kB/line") if lag else ("wire kB/action",)), "bytes/stock",
            *(("worker CPU ms/s", "QEMU CPU ms/s") if lag else ("worker CPU ms/action", "QEMU CPU ms/action")), "exact at rest",
            *(("sound: gaps/min", "silent", "late p95, ms") if sound else ()), *(("this library",) if mixed else ())]
    text = [f"| {' | '.join(head)} |", "|---|---|" + "--:|" * (len(head) - 2)]
    for one in found:
        ratio = one.wire / stock[one.link] if stock.get(one.link) else None
        cells = [one.link, one.way, str(one.waits), str(one.failed or "0"), _seconds(one.median), p95(one, _seconds(one.p95)),
                 *((_number(one.changes), _number(one.lines, 1), held_up(one, best), _number(one.wire / 1e3), _number(
                     one.per_line and one.per_line / 1e3, 1)) if lag else (_number(one.wire / 1e3, 1),)),
                 _number(ratio, 2), _number(one.worker, 1), _number(one.qemu, 1),
                 "yes" if not one.inexact else f"no: {one.inexact:.2%} of the pixels",
                 *((_number(one.gaps, 1), UNKNOWN if one.silence is None else f"{one.silence:.1%}",
                    UNKNOWN if one.late is None else f"{one.late * 1e3:.0f}") if sound else ()),
                 *((one.library or UNKNOWN,) if mixed else ())]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)


_LIMITS = """\
- Guests: a Linux text console and an X desktop. No Windows guest, no Wayland desktop.
- KVM: the guest's processor is emulated (TCG), so its own part of a response is larger than with KVM.
- Real links: they are emulated on one host with one kernel and one QEMU release. Client, QEMU and link share the host's processors.
- Clients on a screen: a figure ends when the client's library has decoded the picture. remote-viewer and spice-gtk widgets draw it later.
- Whether the guest was held up: known of scrolling text only. Elsewhere a guest that waits for its display has a longer response or lag,
  or a video with fewer changes/s.
- The client's CPU. Columns of CPU are of the host of the guest, without the guest's own processor.
- Habits: one action at a time, the next one 0.25 s after the picture. Nobody types ahead, holds a key down or uses two devices at once.
- Spread between runs: unless repeated, a row is a single run from one state of the guest; n counts its actions.
- Small differences: the client's screen is logged every 10 ms, and pictures count as equal if the means of 8x8 pixels are within 6 of 255.
- Differences below 30 ms: QEMU reads the frame buffer of VGA every 30 ms. As the think time is constant, the actions of a run keep their phase to
  that: `editor` was shown after 65 or after 95 ms with every server, in shares that differed from run to run.
- CPU of rows of different days: these may be of different machines. live.json has the date of each row.
- Load: one session at a time, and one display. Several clients or displays, and outages: `--set deployment`; many sessions: `--sessions`.
"""


def _of(states: Sequence[str]) -> str:
    """When this library changes, only its rows are measured again."""
    if len(states) > 1:
        return f"**The rows of this library are of {len(states)} states of it**: see the last columns. Rows of stock and VNC do not depend on it."
    return (f"All rows of this library (`flow`) are of {states[0]} (hash of patches/ and server/); those of stock and VNC do not depend on "
            "it.") if states else ""


def _more(records: Sequence[Record]) -> list[str]:
    """Tables that only some pages have."""
    text = []
    if any(record["way"].partition(" ")[0] in BROWSERS for record in records):
        text.append("*html5-stock*, *html5* (this library, mode flow), *novnc*: spice-html5 and noVNC in Chromium, through websockify beside the "
                    "server. The browser's own time is in the response.\n")
    if any("sound" in record for record in records):
        text.append("*sound*: the guest plays noise; a model of a player with a 100 ms buffer receives it. *gaps*: times that the buffer was "
                    "empty; *silent*: share of the time without sound; *late*: p95 delay of packets, relative to the fastest one since the "
                    "last gap. The emulated guest leaves gaps of its own.\n")
    return text


def page(records: Sequence[Record], thrown_out: Sequence[Record], facts: Mapping[str, Any], short: str | None = None,
         worse: str | None = None) -> str:
    """The page; `short` is the table that README.md shows, `worse` says where others are better."""
    states, dates = libraries(records), sorted(record["date"][:10] for record in records if "date" in record)
    text = [
        "# Live guests: response time\n",
        f"Written by `./run live`, {facts['date']}: {facts['qemu']} (TCG), {facts['machine']}; spice-server {facts['release']} from "
        f"{facts['tree']}. TLS, links emulated on one host. {len(records)} runs"
        f"{f' of {dates[0]} to {dates[-1]}' if dates else ''}; {len(thrown_out) or 'none'} more discarded. {_of(states)}\n",
        "Closed loop: the next action comes 0.25 s after the client shows what the guest's frame buffer holds. *vnc* is QEMU's own server with "
        "TigerVNC's viewer. The SPICE client is spice-client-glib without a window, so its time to draw on a screen is not in the figures. "
        "*way*: stock, flow (this library) or vnc. Links: 20M40ms is 20 Mbit/s and a round trip of 40 ms; wifi-lossy: 30 Mbit/s, 20 ms, jitter, "
        "1 % loss.\n",
        "\n".join((
            "| column | meaning |", "|---|---|",
            "| response | seconds from the action until the client shows the result; includes the guest's own time (its processor is emulated) |",
            "| lag | for a guest that draws without input: seconds from the moment it stops drawing until the client shows its last picture |",
            "| n; failed | n: actions (response) or stops (lag). failed: how many of them were not shown within 30 s; percentiles leave "
            f"these out. p95 in brackets: of {FEWEST} to {_ENOUGH - 1}; none of fewer |",
            "| changes/s | for a guest that draws without input: changes of the client's picture per second; 100 at most, as it is logged every 10 ms |",
            f"| lines/s; held up | lines of text that the guest drew. held up, by its display: *no* if it drew at least {_HELD_UP:.0%} of the lines of "
            "the table's best row |",
            "| wire, bytes/stock | Ethernet bytes from the server; relative to stock on that link |",
            "| worker, QEMU CPU | of the threads that encode and send (VNC sends from QEMU's main thread); of all of QEMU except the guest's processor |",
            "| exact at rest | whether the client's picture equals the guest's, pixel by pixel, at the end of the run |")) + "\n",
        *_more(records)]
    if short:
        text += ["## In short\n", "Median / p95; bytes per action, or per second of drawing.\n", short + "\n"]
    if worse:
        text += ["## Where others are better\n", worse + "\n"]
    for guest, scenario in dict.fromkeys((record["guest"], record["scenario"]) for record in records):
        mine = [record for record in records if (record["guest"], record["scenario"]) == (guest, scenario)]
        text += [f"## {guest}, {scenario}\n", f"{SCENARIOS[scenario].says[0].upper()}{SCENARIOS[scenario].says[1:]}.\n",
                 table(rows(mine), mine[0]["figure"] == "lag", len(states) > 1) + "\n",
                 *(f"Not run by {way}: {why}.\n" for way, why in SCENARIOS[scenario].not_by.items())]
    if thrown_out:
        text += ["## Runs that do not count\n", *(f"- {each['guest']}, {each['scenario']}, {each['link']}, {each['way']}: {each['invalid']}"
                                      for each in thrown_out), ""]
    text += ["## What this page cannot show\n", _LIMITS]
    loads = [load for record in records for load in record["load"]]
    if loads:
        text.append(f"Load average during the runs: {min(loads):.1f} to {max(loads):.1f} on {facts['processors']} processors"
                    f"{'; times are preliminary' if max(loads) > 1.5 * facts['processors'] else ''}.")
    return "\n".join(text).rstrip() + "\n"
