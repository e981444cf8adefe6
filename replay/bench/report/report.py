# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of a comparison, in Markdown. A table without rows is empty."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bench.common import table
from bench.lab import lab, links
from bench.measure import metrics, stats
from bench.report.grouping import LOSSY, Cell, Row, Run, counted, groups, rows
from bench.runs import modes

Written = Callable[[float | None], str]
Figure = tuple[str, str, Written]                   # head, metric, how it is written
Column = tuple[str, Callable[[Row], str]]


def _short(value: float | None) -> str:
    return table.UNKNOWN if value is None else table.short(value)


_COST: tuple[Figure, ...] = (
    ("packets", "packets", table.count), ("with data", "data_packets", table.count),
    ("messages", "message_bytes", table.megabytes), ("payload", "tcp_payload_bytes", table.megabytes),
    ("wire", "wire_bytes", table.megabytes))
_COST_BEYOND: tuple[Figure, ...] = (
    ("overhead", "overhead", table.megabytes), ("%", "overhead_ratio", table.percent), ("x minimum", "over_minimum", table.factor),
    ("records", "tls_records", table.count), ("from client", "client_packets", table.count),
    ("CPU", "cpu", table.seconds), ("seconds", "wall", table.seconds))
_PATH: tuple[Figure, ...] = (("x path", "over_path", table.factor), ("CPU around", "cpu_around", table.seconds))
_LATENCY: tuple[Figure, ...] = (
    ("p50", "latency_p50", table.milliseconds), ("p95", "latency_p95", table.milliseconds),
    ("p99", "latency_p99", table.milliseconds), ("max", "latency_max", table.milliseconds),
    ("staleness p95", "staleness_p95", table.milliseconds), ("staleness max", "staleness_max", table.milliseconds))
_RECOVERY: Figure = ("back, s", "recovery", table.seconds)
_RESPONSE: tuple[Figure, ...] = (
    ("bursts", "bursts", table.count), ("missed", "missed", table.count), ("response p50", "response_p50", table.milliseconds),
    ("response p95", "response_p95", table.milliseconds), ("response max", "response_max", table.milliseconds),
    ("seconds", "wall", table.seconds), ("wire", "wire_bytes", table.megabytes))
_BESIDE: tuple[Figure, ...] = (
    ("Mbit/s", "own_rate", table.megabits), ("download, Mbit/s", "download", table.megabits), ("share", "own_share", table.percent))
_SHORT: tuple[Figure, ...] = (
    ("packets", "packets", table.count), ("wire", "wire_bytes", table.megabytes), ("overhead, %", "overhead_ratio", table.percent),
    ("CPU", "cpu", table.seconds), ("seconds", "wall", table.seconds), ("p95", "latency_p95", table.milliseconds),
    ("staleness p95", "staleness_p95", table.milliseconds), ("response p95", "response_p95", table.milliseconds))
_VIA: tuple[Figure, ...] = (
    ("seconds", "wall", _short), ("p50", "latency_p50", _short), ("p95", "latency_p95", _short),
    ("staleness p95", "staleness_p95", _short), ("messages", "message_bytes", _short), ("wire", "wire_bytes", _short),
    ("packets with data", "data_packets", _short), ("CPU", "cpu", _short))
_ONE_TABLE: tuple[Figure, ...] = (
    ("packets", "packets", table.count), ("wire, MB", "wire_bytes", lambda value: table.megabytes(value).removesuffix(" MB")),
    ("records", "tls_records", table.count), ("CPU, s", "cpu", table.seconds), ("seconds", "wall", table.seconds),
    ("staleness p95, ms", "staleness_p95", table.milliseconds))
_COMPARED = {"packets": "packets", "wire": "wire_bytes", "overhead": "overhead", "CPU": "cpu", "seconds": "wall", "p50": "latency_p50",
             "p95": "latency_p95", "staleness p95": "staleness_p95", "response p95": "response_p95"}
_BEST = ("flow", "batch", "window", "gather")       # the first of them that was played is the one in short
_MORE = 1.05    # of the baseline's bytes: above, a page says why
_LATER = 1.1    # of the other's time
_BEHIND = (     # how it is said, metric, how it is written, smallest difference
    ("p95 staleness, ms:", "staleness_p95", table.milliseconds, 50.0), ("p95 response, ms:", "response_p95", table.milliseconds, 50.0),
    ("seconds for the session:", "wall", table.seconds, 0.05))

_GROUP: tuple[Column, ...] = (("recording", lambda row: row.group[0]), ("link", lambda row: row.group[1]), ("pace", lambda row: row.group[2]))
MODE: Column = ("mode", lambda row: row.name)
TRANSPORT: Column = ("transport", lambda row: row.cell[0])
_TITLE: Column = ("recording", lambda row: title(row.group))
_RUNS: Column = ("runs", lambda row: row.count)
_BOTH_RUNS: Column = ("runs", lambda row: f"{counted(row.its)} → {row.count}")


def _median(metric: str, write: Written) -> Callable[[Row], str]:
    return lambda row: write(row.median(metric))


def shown(figures: Iterable[Figure]) -> list[Column]:
    return [(head, _median(metric, write)) for head, metric, write in figures]


def _of(found: Sequence[Row], columns: Sequence[Column], left: int) -> str:
    return table.of(found, columns, left) if found else ""


def title(group: tuple[str, str, str]) -> str:
    recording, link, pace = group
    where = "" if link == "lan" else f", {link} ({links.find(link).says})"
    said = {"max": "", "recorded": ", recorded pace (open loop)", "user": ", user's pace (closed loop)"}
    return f"{recording}{where}" + said.get(pace, f", {pace} times the recorded pace (open loop)")


def base_name(runs: Iterable[Run]) -> str:
    """The name of the row that others are compared with."""
    return modes.STOCK if any(run["mode"] == modes.STOCK for run in runs) else "cork"


def _relative(row: Row) -> str:
    """A row's wire bytes as a fraction of its baseline's."""
    return table.percent(row.ratio("wire_bytes"))


def cost_table(group: list[Run]) -> str:
    path = [figure for figure in _PATH if metrics.values(group, "over_path") and metrics.values(group, figure[1])]
    return _of(rows(group), (MODE, TRANSPORT, *shown(_COST), (f"of {base_name(group)}", _relative), *shown((*_COST_BEYOND, *path)), _RUNS), 2)


def _dropped(row: Row) -> str:
    probed = [run["latency"] for run in row.runs if run["valid"] and run["latency"]]
    sent = sum(found["sent"] for found in probed)
    return table.percent(sum(found["dropped"] for found in probed) / sent) if sent else table.UNKNOWN


def latency_table(group: list[Run]) -> str:
    recovery = [_RECOVERY] if metrics.values(group, "recovery") else []
    columns: list[Column] = [MODE, TRANSPORT, *shown((*_LATENCY, *recovery)), ("dropped", _dropped),
                             ("n", lambda row: str(len(metrics.values(row.runs, "latency_p50"))))]
    return _of(rows(group), columns, 2) if any(run["valid"] and run["latency"] for run in group) else ""


def response_table(group: list[Run]) -> str:
    """At the user's pace."""
    columns = (MODE, TRANSPORT, *shown(_RESPONSE), (f"of {base_name(group)}", _relative), _RUNS)
    return _of(rows(group), columns, 2) if metrics.values(group, "response_p95") else ""


def download_table(group: list[Run]) -> str:
    """If a download shared the link."""
    shared = any(metrics.values(group, metric) for _, metric, _ in _BESIDE)
    return _of(rows(group), (MODE, TRANSPORT, *shown(_BESIDE), _RUNS), 2) if shared else ""


def change(found: stats.Comparison) -> str:
    """A relative change with its interval, if there are enough runs."""
    if found.change is None:
        return table.UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.change * 100:+.1f} %"
    return f"{found.change * 100:+.1f} % [{found.low * 100:+.1f}, {found.high * 100:+.1f}]"


def _verdict(found: stats.Comparison) -> str:
    return f"{change(found)} {found.verdict.value}" if found.low is not None else table.UNKNOWN


def against_table(group: list[Run]) -> str:
    """Every row compared with the baseline of its transport; without one or with too few runs, none."""
    compared = {(row.cell, head): metrics.compared(row.its, row.runs, metric) for row in rows(group) if row.compared and row.alike
                for head, metric in _COMPARED.items() if metrics.values(group, metric)}
    verdicts: dict[Cell, dict[str, str]] = collections.defaultdict(dict)
    for (cell, head), found in zip(compared, stats.corrected(list(compared.values())), strict=True):
        verdicts[cell][head] = _verdict(found)
    lines = [[row.name, row.cell[0], *verdicts[row.cell].values(), row.count] for row in rows(group)
             if any(verdict != table.UNKNOWN for verdict in verdicts[row.cell].values())]
    heads = next(iter(verdicts.values()), {})
    return table.markdown(("mode", "transport", *heads, "runs"), lines, 2 + len(heads)) if lines else ""


def _both(metric: str, write: Written) -> Callable[[Row], str]:
    """The medians of both rows and the change. Seconds at pace max only: at another they are the recording's."""
    def written(row: Row) -> str:
        if metric == "wall" and row.group[2] != "max":
            return ""
        new, old = row.median(metric), stats.median(metrics.values(row.its, metric))
        if new is None or old is None:
            return table.UNKNOWN
        return f"{write(old)} → {write(new)}" + (f" ({(new / old - 1) * 100:+.0f} %)" if old else "")

    return written


def _from_to(figures: Iterable[Figure], found: Sequence[Row]) -> list[Column]:
    """The columns in which a row has a figure."""
    columns = [(head, _both(metric, write)) for head, metric, write in figures]
    return [(head, written) for head, written in columns if any(written(row) not in ("", table.UNKNOWN) for row in found)]


def in_short(runs: list[Run]) -> tuple[str, str, str]:
    """Of the best mode against the baseline, over TLS if that was played: a table, the mode, and the baseline."""
    found = [row for row in rows(runs) if row.compared]
    over = [row for row in found if row.cell[0] == "tls"] or found
    mode = next((mode for mode in _BEST if any(row.cell[2] == mode for row in over)), "")
    shown = [row for row in over if row.cell[2] == mode]
    return (_of(shown, (*_GROUP, MODE, TRANSPORT, *_from_to(_SHORT, shown), _BOTH_RUNS), 5), mode, base_name(runs))


def via_table(runs: list[Run]) -> str:
    """What a relay beside the server changes: rows that were measured with and without one."""
    direct = {(row.group, row.cell): row for row in rows(runs)}
    found = []
    for row in rows(runs):
        before = (row.group[0], links.direct(row.group[1]), row.group[2])
        if before != row.group:
            # whether JPEG was used is part of a row, so compare a row with either
            base = direct.get((before, row.cell)) or direct.get((before, (*row.cell[:3], not row.cell[3])))
            found += [Row(before, row.cell, row.runs, base.cell, base.runs, base.cell == row.cell)] if base else []
    return _of(found, (*_GROUP, MODE, TRANSPORT, ("alike", lambda row: "yes" if row.alike else "no"), *_from_to(_VIA, found), _BOTH_RUNS), 6)


def outliers(runs: list[Run]) -> str:
    found = [(row, metrics.METRICS[metric].says, number) for row in rows(runs)
             for metric in ("packets", "wire_bytes", "overhead", "cpu", "wall", "latency_p95")
             if (number := stats.outliers(metrics.values(row.runs, metric)))]
    return table.markdown(("recording", "mode", "transport", "figure", "runs"),
                          [[title(row.group), row.name, row.cell[0], says, str(number)] for row, says, number in found], 4) if found else ""


def _reasons(runs: Iterable[Run], reason: Callable[[Run], str | None]) -> str:
    """The number of runs by row and reason."""
    found = collections.Counter((run["recording"], modes.row(run["library"], run["mode"]), run["transport"], run["link"], run["pace"], why)
                                for run in runs if (why := reason(run)))
    lines = [[*key[:5], str(number), key[5]] for key, number in sorted(found.items())]
    return table.markdown(("recording", "mode", "transport", "link", "pace", "runs", "reason"), lines, 7) if lines else ""


def invalid_runs(runs: list[Run]) -> str:
    """Those that do not count."""
    return _reasons(runs, lambda run: None if run["valid"] else str(run["invalid_reason"]))


def latencies_not_taken(runs: list[Run]) -> str:
    """Runs that count without a latency although probes were sent."""
    return _reasons(runs, lambda run: run.get("latency_missing") if run["valid"] and not run["latency"] and run["pace"] != "user" else None)


def _resent(row: Row) -> float:
    """Of SPICE_STREAM_STATS, all connections of a run; 0 if they do not count."""
    return stats.median([sum(stream.get("refined_bytes", 0) for stream in run["streams"] or ()) for run in row.runs if run["valid"]]) or 0.0


def _why_more(row: Row) -> str:
    """Why a row has more bytes on the wire than its baseline, as far as its figures tell."""
    def medians(metric: str) -> tuple[float | None, float | None]:
        return row.median(metric), stats.median(metrics.values(row.its, metric))

    assert row.base
    reasons, base = [], row.base[2]
    if (row.ratio("message_bytes") or 0) > _MORE:
        if row.base[3] and not row.cell[3]:
            reasons.append(f"{base} found the link slow and sent photos as JPEG, this row did not")
        if resent := _resent(row):
            reasons.append(f"{table.megabytes(resent)} of images are sent again without JPEG losses")
        for what, metric, write, least in _BEHIND:
            mine, its = medians(metric)
            if mine is not None and its is not None and its > max(_LATER * mine, mine + least):
                reasons.append(f"{base} was later ({what} {write(its)} instead of {write(mine)}), so more of its drawings and video frames were "
                               "covered by later ones before they were sent")
                break
    if (row.ratio("overhead_ratio") or 0) > _MORE:
        reasons.append("more overhead per message byte: {} packets with data instead of {}".format(*map(table.count, medians("data_packets"))))
    return "; ".join(reasons) or "cause not investigated"


def more_bytes(runs: list[Run]) -> str:
    """The rows of which bytes on the wire exceed their baseline's, and why."""
    found = [row for row in rows(runs) if (row.ratio("wire_bytes") or 0) > _MORE]
    return _of(found, (_TITLE, MODE, TRANSPORT, (f"wire, of {base_name(runs)}", _relative), _BOTH_RUNS, ("why", _why_more)), 6)


def overheads(*parts: list[Run]) -> str:
    """Overhead over TLS of the tree's own libraries, percent of the message bytes: a row per recording, link and pace, a column per mode. In
    brackets the bytes on the wire, percent of the baseline's."""
    own = [[run for run in runs if run["transport"] == "tls" and run["library"] in ("stock", "patched")] for runs in parts]
    played = {(run["mode"], run["pace"]) for runs in own for run in runs}
    shown = [mode for mode in modes.MODES if any(mode == one for one, _ in played)]
    base = base_name(run for runs in own for run in runs)
    lines = []
    for (recording, link, pace), group in (each for runs in own for each in groups(runs).items()):
        found = {row.cell[2:]: row for row in rows(group)}
        for slow in (False, True):
            of_mode = [found.get((mode, slow)) for mode in shown]
            counts = sorted({len(values) for row in of_mode if row and (values := metrics.values(row.runs, "overhead_ratio"))})
            if counts:
                lines.append([recording, link + (LOSSY if slow else ""), pace, *(
                    table.UNKNOWN if row is None else table.percent(row.median("overhead_ratio"))
                    + (f" ({ratio * 100:.0f} %)" if row.cell[2] != base and (ratio := row.ratio("wire_bytes")) else "") for row in of_mode),
                    "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))])
    # with the setting that was added to all runs of a mode
    settings = {mode: {modes.unasked(mode, pace) for one, pace in played if one == mode} for mode in shown}
    heads = [mode + (f" ({setting})" if len(settings[mode]) == 1 and (setting := next(iter(settings[mode]))) else "") for mode in shown]
    return table.markdown(("recording", "link", "pace", *heads, "n"), lines, 3) if lines else ""


def _against_stock(metric: str, write: Written) -> Callable[[Row], str]:
    def written(row: Row) -> str:
        ratio = row.ratio(metric) if row.alike and row.compared and row.base and row.base[2] == modes.STOCK else None
        return write(row.median(metric)) + ("" if ratio is None else f" ({(ratio - 1) * 100:+.0f} %)")

    return written


def one_table(results: Iterable[dict[str, Any]]) -> str:
    """Of results/README.md, in the form of the mail to spice-devel of 2017: recordings x transports x modes, each figure relative to the
    unpatched library. The link names TCP's congestion control if it is not the usual one."""
    found = []
    for result in results:
        how = result["plan"].get("congestion") or lab.CONGESTION
        found += [row if how == lab.CONGESTION else replace(row, group=(row.group[0], f"{row.group[1]}, {how}", row.group[2]))
                  for row in rows(result["runs"])]
    recording, link, pace = _GROUP
    return _of(found, (recording, pace, link, TRANSPORT, MODE, *((head, _against_stock(metric, write)) for head, metric, write in _ONE_TABLE),
                       ("n", lambda row: row.count.partition("/")[0])), 5)
