# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of a comparison, in Markdown."""

from __future__ import annotations

import collections
import re
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from bench.common import table
from bench.common.progress import duration
from bench.lab import links
from bench.measure import metrics, stats
from bench.report import channeltable, limits, verdict
from bench.report.grouping import LOSSY, Cell, Group, Run, baseline, cells, groups, is_slow, name
from bench.runs import modes

_COLUMNS = """\
## Columns

Medians of the runs that count. *n*: number of these runs; a range if it differs between the modes of a row.

| column | meaning |
|---|---|
| packets, with data | sent by the server |
| messages | bytes of SPICE messages, before TLS |
| payload | TCP payload |
| wire; of {base} | bytes of the server's Ethernet frames; relative to *{base}* over the same transport |
| overhead, % | bytes on the wire beyond the messages; in percent of the messages. The percentage also falls when more messages are sent: then compare *wire* |
| x minimum | overhead as a multiple of the minimum: full records in full packets |
| records | TLS records of application data |
| from client | packets of the client, mostly acks |
| CPU | user + system seconds of the server process |
| seconds | until the client shows the last picture |
| runs | captured + not captured / all. Packets, bytes and records come from captured runs, CPU and seconds from the others (of a single run all), as tcpdump uses CPU in proportion to the packets |

Rows *JPEG*: the server's bandwidth test at connect called the link slow. Then the server sends photos as JPEG and allows more messages in
flight."""

PATH_COLUMNS = """\
*x path*: seconds, as a multiple of 1.3 x wire bytes / link rate + four round trips. *CPU around*: CPU seconds of player, link emulator and
client. If *CPU* + *CPU around* approach seconds x processors, the machine was the bottleneck."""

LATENCY_COLUMNS = """\
Latency and staleness:

| column | meaning |
|---|---|
| p50, p95, p99, max | latency of probes, ms: from when the server gets a drawing command until the client library reports it; median over the runs |
| staleness p95, max | ms: age of the oldest change that the client's screen does not show. It counts from the recorded time, so a server that makes the guest wait is stale as well |
| back | longest time in seconds from a change of the link until staleness is below 2 s and stays there |
| dropped | probes that the server replaced by something newer |"""

RESPONSE_COLUMNS = """\
Closed loop: a gap of 200 ms or more in the recording counts as a person who looks and thinks; a *burst* is what is between two gaps. The
next burst begins when the client shows all of the last one and the gap (at most 2 s) has passed.

| column | meaning |
|---|---|
| bursts, missed | *missed*: the picture, JPEG losses aside, had not come after 20 s |
| response | ms from when the burst's last drawing was due until the client shows the burst: how much later than on the guest's own screen; median over the runs. Up to 30 ms or 1/8 too long where the server dropped the marker. A blinking cursor is a burst, too: *p50* may be of those alone. *p95* of fewer than 20 bursts is about the longest |
| seconds | whole session, with think times |
| wire, of {base} | bytes of the server's Ethernet frames for the same drawings |"""

AGAINST = """\
Change of the median against *{base}* over the same transport, with its 95 % interval: by bootstrap; with fewer than three runs from the
metric's usual spread in results/. The interval of three runs is about their range, which holds the median in three of four cases. *better*,
*worse*: the whole interval is beyond the difference between two measurements of one library, corrected for the number of comparisons in the
table. *same*: the whole interval is within it. *unknown*: more runs are needed."""


def title(group: Group) -> str:
    recording, link, pace = group
    where = "" if link == "lan" else f", {link} ({links.find(link).says})"
    said = {"max": "", "recorded": ", recorded pace (open loop)", "user": ", user's pace (closed loop)"}
    return f"{recording}{where}" + said.get(pace, f", {pace} times the recorded pace (open loop)")


def _median(runs: list[Run], metric: str) -> float | None:
    return stats.median(metrics.values(runs, metric))


Column = tuple[str, str, Callable[[float | None], str]]

_COST: tuple[Column, ...] = (
    ("packets", "packets", table.count), ("with data", "data_packets", table.count),
    ("messages", "message_bytes", table.megabytes), ("payload", "tcp_payload_bytes", table.megabytes),
    ("wire", "wire_bytes", table.megabytes))
_COST_BEYOND: tuple[Column, ...] = (
    ("overhead", "overhead", table.megabytes), ("%", "overhead_ratio", table.percent), ("x minimum", "over_minimum", table.factor),
    ("records", "tls_records", table.count), ("from client", "client_packets", table.count),
    ("CPU", "cpu", table.seconds), ("seconds", "wall", table.seconds))
_PATH: tuple[Column, ...] = (("x path", "over_path", table.factor), ("CPU around", "cpu_around", table.seconds))
_LATENCY: tuple[Column, ...] = (
    ("p50", "latency_p50", table.milliseconds), ("p95", "latency_p95", table.milliseconds),
    ("p99", "latency_p99", table.milliseconds), ("max", "latency_max", table.milliseconds),
    ("staleness p95", "staleness_p95", table.milliseconds), ("staleness max", "staleness_max", table.milliseconds))
_RECOVERY: tuple[Column, ...] = (("back, s", "recovery", table.seconds),)
_RESPONSE: tuple[Column, ...] = (
    ("bursts", "bursts", table.count), ("missed", "missed", table.count), ("response p50", "response_p50", table.milliseconds),
    ("response p95", "response_p95", table.milliseconds), ("response max", "response_max", table.milliseconds),
    ("seconds", "wall", table.seconds), ("wire", "wire_bytes", table.megabytes))
_BESIDE: tuple[Column, ...] = (
    ("Mbit/s", "own_rate", table.megabits), ("download, Mbit/s", "download", table.megabits),
    ("share", "own_share", table.percent))
_MORE = 1.05    # of the baseline's bytes: above, a page says why
_LATER = 1.1    # of the other's time
_BEHIND = (     # how it is said, metric, how it is written, smallest difference
    ("p95 staleness, ms:", "staleness_p95", table.milliseconds, 50.0), ("p95 response, ms:", "response_p95", table.milliseconds, 50.0),
    ("seconds for the session:", "wall", table.seconds, 0.05))
_COMPARED: tuple[tuple[str, str], ...] = (
    ("packets", "packets"), ("wire", "wire_bytes"), ("overhead", "overhead"), ("CPU", "cpu"), ("seconds", "wall"), ("p50", "latency_p50"),
    ("p95", "latency_p95"), ("staleness p95", "staleness_p95"), ("response p95", "response_p95"))


def _table(group: list[Run], columns: tuple[Column, ...], *last: tuple[str, Callable[[list[Run]], str]]) -> str:
    rows = [[name(cell, runs[0]["pace"]), cell[0], *(write(_median(runs, metric)) for _, metric, write in columns),
             *(tail(runs) for _, tail in last)] for cell, runs in cells(group).items()]
    return table.markdown(("mode", "transport", *(head for head, _, _ in columns), *(head for head, _ in last)), rows, left=2)


def _counting(runs: list[Run]) -> str:
    captured = sum(run["valid"] and run["captured"] for run in runs)
    return f"{captured}+{sum(run['valid'] for run in runs) - captured}/{len(runs)}"


def _any_baseline(found: Mapping[Cell, list[Run]], of: Cell) -> Cell | None:
    """The baseline, even if the server took the link for slow in only one of the two."""
    return baseline(found, of) or baseline(found, (*of[:3], not of[3]))


def _ratio(of: list[Run], base: list[Run], metric: str) -> float | None:
    mine, its = _median(of, metric), _median(base, metric)
    return None if mine is None or not its else mine / its


def _relative(found: Mapping[Cell, list[Run]], of: Cell) -> str:
    """A row's wire bytes as a fraction of its baseline's."""
    base = _any_baseline(found, of)
    return table.percent(_ratio(found[of], found[base], "wire_bytes") if base else None)


def cost_table(group: list[Run]) -> str:
    found = cells(group)
    path = tuple(column for column in _PATH if metrics.values(group, "over_path") and metrics.values(group, column[1]))
    beyond = _COST_BEYOND + path
    rows = [[name(cell, runs[0]["pace"]), cell[0], *(write(_median(runs, metric)) for _, metric, write in _COST),
             _relative(found, cell), *(write(_median(runs, metric)) for _, metric, write in beyond), _counting(runs)]
            for cell, runs in found.items()]
    return table.markdown(("mode", "transport", *(head for head, _, _ in _COST), f"of {_base_name(group)}",
                           *(head for head, _, _ in beyond), "runs"), rows, left=2)


def _dropped(runs: list[Run]) -> str:
    probed = [run["latency"] for run in runs if run["valid"] and run["latency"]]
    sent = sum(found["sent"] for found in probed)
    return table.percent(sum(found["dropped"] for found in probed) / sent) if sent else table.UNKNOWN


def latency_table(group: list[Run]) -> str:
    """Empty if no latency was measured."""
    if not any(run["valid"] and run["latency"] for run in group):
        return ""
    columns = _LATENCY + (_RECOVERY if metrics.values(group, "recovery") else ())
    return _table(group, columns, ("dropped", _dropped), ("n", lambda runs: str(len(metrics.values(runs, "latency_p50")))))


def response_table(group: list[Run]) -> str:
    """Empty except at the user's pace."""
    if not metrics.values(group, "response_p95"):
        return ""
    found = cells(group)
    rows = [[name(cell, runs[0]["pace"]), cell[0], *(write(_median(runs, metric)) for _, metric, write in _RESPONSE),
             _relative(found, cell), _counting(runs)] for cell, runs in found.items()]
    return table.markdown(("mode", "transport", *(head for head, _, _ in _RESPONSE), f"of {_base_name(group)}", "runs"), rows, left=2)


def download_table(group: list[Run]) -> str:
    """Empty unless a download shared the link."""
    return _table(group, _BESIDE, ("runs", _counting)) if any(metrics.values(group, metric) for _, metric, _ in _BESIDE) else ""


def _base_name(runs: list[Run]) -> str:
    """The name of the baseline row."""
    return modes.STOCK if any(run["mode"] == modes.STOCK for run in runs) else "cork"


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
    """Every row compared with the baseline of its transport; empty without one or with too few runs."""
    found = cells(group)
    columns = [(head, metric) for head, metric in _COMPARED if metrics.values(group, metric)]
    compared = {(cell, metric): metrics.compared(found[base], runs, metric) for cell, runs in found.items()
                if (base := baseline(found, cell)) not in (None, cell) for _, metric in columns}
    compared = dict(zip(compared, stats.corrected(list(compared.values())), strict=True))
    rows = []
    for cell in dict.fromkeys(cell for cell, _ in compared):
        verdicts = [_verdict(compared[cell, metric]) for _, metric in columns]
        if any(verdict != table.UNKNOWN for verdict in verdicts):
            rows.append([name(cell, found[cell][0]["pace"]), cell[0], *verdicts, _counting(found[cell])])
    if not rows:
        return ""
    return table.markdown(("mode", "transport", *(head for head, _ in columns), "runs"), rows, left=len(columns) + 2)


def channel_tables(group: list[Run]) -> str:
    """Empty without traffic on other channels."""
    return channeltable.section({(name(cell, runs[0]["pace"]), cell[0]): runs for cell, runs in cells(group).items()})


def _outliers(runs: list[Run]) -> str:
    """Names the figures with outliers; medians include them."""
    found = []
    for group, group_runs in groups(runs).items():
        for cell, cell_runs in cells(group_runs).items():
            for metric in ("packets", "wire_bytes", "overhead", "cpu", "wall", "latency_p95"):
                number = stats.outliers(metrics.values(cell_runs, metric))
                if number:
                    found.append([title(group), name(cell, group[2]), cell[0], metrics.METRICS[metric].says, str(number)])
    if not found:
        return ""
    return "## Outliers\n\nMedians and intervals include them.\n\n" + table.markdown(
        ("recording", "mode", "transport", "figure", "runs"), found, left=4)


def invalid_runs(runs: list[Run]) -> str:
    """The number of runs that do not count, by row and reason; empty if all count."""
    reasons = collections.Counter(
        (run["recording"], modes.row(run["library"], run["mode"]), run["transport"], run["link"], run["pace"],
         run["invalid_reason"]) for run in runs if not run["valid"])
    if not reasons:
        return ""
    rows = [[*map(str, key[:5]), str(number), str(key[5])] for key, number in sorted(reasons.items())]
    return "## Runs that do not count\n\n" + table.markdown(
        ("recording", "mode", "transport", "link", "pace", "runs", "reason"), rows, left=7)


def _not_taken(run: Run) -> str | None:
    """Why the latency of a run that counts is unknown; None if it is known, or was not requested."""
    if not run["valid"] or run["latency"] or run["pace"] == "user":
        return None
    return run.get("latency_missing")


def latencies_not_taken(runs: list[Run]) -> str:
    """The number of runs that count without a latency although probes were sent, by row and reason; empty if there are none."""
    reasons = collections.Counter(
        (run["recording"], modes.row(run["library"], run["mode"]), run["transport"], run["link"], run["pace"],
         reason) for run in runs if (reason := _not_taken(run)))
    if not reasons:
        return ""
    rows = [[*map(str, key[:5]), str(number), str(key[5])] for key, number in sorted(reasons.items())]
    return "## Latencies that could not be measured\n\n" + table.markdown(
        ("recording", "mode", "transport", "link", "pace", "runs", "reason"), rows, left=7)


def _counted(runs: list[Run], counter: str) -> float:
    """Of SPICE_STREAM_STATS, all connections of a run; 0 if they do not count."""
    return stats.median([sum(stream.get(counter, 0) for stream in run["streams"] or ()) for run in runs if run["valid"]]) or 0.0


def _why_more(of: Cell, mine: list[Run], base: Cell, its: list[Run]) -> str:
    """Why a row has more bytes on the wire than its baseline, as far as its figures tell."""
    reasons = []
    if (_ratio(mine, its, "message_bytes") or 0) > _MORE:
        if base[3] and not of[3]:
            reasons.append(f"{base[2]} found the link slow and sent photos as JPEG, this row did not")
        if resent := _counted(mine, "refined_bytes"):
            reasons.append(f"{table.megabytes(resent)} of images are sent again without JPEG losses")
        reasons += [f"{base[2]} was later ({what} {write(its_value)} instead of {write(value)}), so more of its drawings and video "
                    "frames were covered by later ones before they were sent"
                    for what, metric, write, least in _BEHIND
                    if (value := _median(mine, metric)) is not None and (its_value := _median(its, metric)) is not None
                    and its_value > max(_LATER * value, value + least)][:1]
    if (_ratio(mine, its, "overhead_ratio") or 0) > _MORE:
        reasons.append(f"more overhead per message byte: {table.count(_median(mine, 'data_packets'))} packets with data instead of "
                       f"{table.count(_median(its, 'data_packets'))}")
    return "; ".join(reasons) or "cause not investigated"


def more_bytes(runs: list[Run]) -> str:
    """The rows of which bytes on the wire exceed their baseline's, and why; empty if there are none."""
    rows = []
    for group, group_runs in groups(runs).items():
        found = cells(group_runs)
        for cell, cell_runs in found.items():
            base = _any_baseline(found, cell)
            if base and base != cell and (_ratio(cell_runs, found[base], "wire_bytes") or 0) > _MORE:
                rows.append([title(group), name(cell, group[2]), cell[0], _relative(found, cell),
                             f"{_counting(found[base])} → {_counting(cell_runs)}", _why_more(cell, cell_runs, base, found[base])])
    if not rows:
        return ""
    return f"## More bytes than {_base_name(runs)}\n\nAll rows with over {(_MORE - 1) * 100:.0f} % more. *runs*: of {_base_name(runs)} → of " \
        "this row. *why*: by rule, from the figures of both rows.\n\n" + table.markdown(
            ("recording", "mode", "transport", f"wire, of {_base_name(runs)}", "runs", "why"), rows, left=6)


def about(result: dict[str, Any]) -> str:
    environment = result["environment"]
    git = environment["git"]
    commit = (git["commit"] or "unknown")[:12] + (" with changes" if git["dirty"] else "")
    cpu = environment["cpu"]
    packages = environment["packages"]
    said = [f"{environment['system']}, Linux {environment['kernel']}, {cpu['count']} x {cpu['model']}",
            f"commit {commit}", f"library {(environment.get('library_tree') or 'unknown')[:12]}", f"spice-client-glib {packages.get('libspice-client-glib-2.0-8') or 'unknown'}",
            f"TLS {result['plan']['tls']}", f"TCP {result['plan'].get('congestion') or 'of the machine'}",
            f"n = {result['plan']['repeats']} per row, in an order shuffled with seed {result['plan']['seed']}"]
    if result["plan"].get("jobs", 1) > 1:
        said.append(f"up to {result['plan']['jobs']} runs at once, of those that mostly wait")
    if result.get("seconds"):
        said.append(f"measured in {duration(result['seconds'])}")
    if result["plan"].get("slow_client", 1) > 1:
        said.append(f"client slowed down by a factor of {result['plan']['slow_client']:g}")
    if result["plan"].get("beside_download"):
        said.append("a bulk TCP download shares the link")
    said += _tried_again(result["runs"])
    return "; ".join(said) + ".  \nCommand: `" + " ".join(result["command"]) + "`"


def _tried_again(runs: list[Run]) -> list[str]:
    """Runs that were repeated, and why."""
    again = sum(run.get("attempt", 1) > 1 for run in runs)
    tests = sum(max(run.get("link_tests") or 1, 1) - 1 for run in runs)
    return [f"{number} {what}" for number, what in ((again, "runs repeated"), (tests, "link tests repeated")) if number]


def mode_list(runs: list[Run]) -> str:
    known = {modes.base(run["mode"]).name for run in runs}
    unasked = {modes.base(run["mode"]).name: setting for run in runs if (setting := modes.unasked(run["mode"], run["pace"]))}
    return "\n".join(f"- **{mode.name}**: {mode.says}" + (
        f" (at pace max with `{unasked[mode.name]}`: every drawing is sent)" if mode.name in unasked else "")
        for mode in modes.MODES.values() if mode.name in known)


def group_section(group: Group, runs: list[Run]) -> str:
    parts = [f"## {title(group)}", response_table(runs), cost_table(runs), latency_table(runs), download_table(runs),
             against_table(runs), channel_tables(runs)]
    return "\n\n".join(part for part in parts if part)


def _over_tls(group: list[Run], mode: str, slow: bool) -> list[Run]:
    """The runs over TLS of the tree's own libraries."""
    return [run for run in group if run["transport"] == "tls" and run["mode"] == mode and is_slow(run) == slow
            and run["library"] in ("stock", "patched")]


_VIA = (("seconds", "wall", "max"), ("p50", "latency_p50", None), ("p95", "latency_p95", None), ("staleness p95", "staleness_p95", None),
        ("messages", "message_bytes", None), ("wire", "wire_bytes", None), ("packets with data", "data_packets", None), ("CPU", "cpu", None))


def _from_to(before: list[Run], after: list[Run], metric: str) -> str:
    old, new = (metrics.values(runs, metric) for runs in (before, after))
    if not old or not new:
        return table.UNKNOWN
    found = metrics.compared(before, after, metric)
    return f"{table.short(statistics.median(old))} → {table.short(statistics.median(new))}" + (
        "" if found.change is None else f" ({found.change * 100:+.0f} %)")


def via_table(runs: list[Run]) -> str:
    """What a relay beside the server changes: rows that were measured with and without one; empty without such rows."""
    found = groups(runs)
    rows = []
    for (recording, link, pace), through in found.items():
        before = found.get((recording, links.direct(link), pace))
        if before is None or before is through:
            continue
        direct = cells(before)
        # whether JPEG was used is part of a row, so compare a row with either
        for cell, cell_runs in cells(through).items():
            base = direct.get(cell) or direct.get((*cell[:3], not cell[3]))
            if base:
                rows.append([recording, links.direct(link), pace, name(cell, pace), cell[0], "yes" if cell in direct else "no", *(
                    _from_to(base, cell_runs, metric) if only in (None, pace) else "" for _, metric, only in _VIA),
                    f"{_counting(base)} → {_counting(cell_runs)}"])
    if not rows:
        return ""
    return "## Through a relay\n\nDirect → through a relay beside the server; change of the median in brackets. *alike*: both with JPEG, or both " \
        "without.\n\n" + table.markdown(
            ("recording", "link", "pace", "mode", "transport", "alike", *(head for head, _, _ in _VIA), "runs"), rows, left=6)


_OVERVIEWS = (("Bytes on the wire over TLS, MB", "wire_bytes", lambda value: table.megabytes(value).removesuffix(" MB"), None),
              ("Overhead over TLS, percent of the message bytes (bytes on the wire, percent of {base}'s)", "overhead_ratio", table.percent, None),
              ("Seconds to play it over TLS, pace max", "wall", table.seconds, "max"),
              ("p95 response time over TLS, ms", "response_p95", table.milliseconds, "user"),
              ("Median response time over TLS, ms", "response_p50", table.milliseconds, "user"),
              ("Seconds for the session with think times over TLS", "wall", table.seconds, "user"),
              ("p95 latency over TLS, ms", "latency_p95", table.milliseconds, None),
              ("p95 staleness over TLS, ms", "staleness_p95", table.milliseconds, None))


def _beside(group: list[Run], mine: list[Run], base: str, slow: bool) -> str:
    """The wire bytes relative to the baseline's, in brackets."""
    ratio = _ratio(mine, _over_tls(group, base, slow) or _over_tls(group, base, not slow), "wire_bytes")
    return "" if ratio is None else f" ({ratio * 100:.0f} %)"


def _column(mode: str, paces: list[str]) -> str:
    """The head of a mode's column, with the setting that was added to all of its runs, if any."""
    return name(("tls", "patched", mode, False), paces[0] if len({modes.unasked(mode, pace) for pace in paces}) == 1 else "")


def overview(runs: list[Run]) -> str:
    """One row per recording, link and pace, one column per mode, over TLS; empty if there is only one table."""
    found = groups(runs)
    shown = [mode for mode in modes.MODES if any(run["mode"] == mode for run in runs)]
    if len(found) < 2 or len(shown) < 2:
        return ""
    parts, base = [], _base_name(runs)
    heads = [_column(mode, [pace for _, _, pace in found]) for mode in shown]
    for head, metric, write, only in _OVERVIEWS:
        rows = []
        for (recording, link, pace), group_runs in found.items():
            for slow in (False, True):
                of_mode = {mode: _over_tls(group_runs, mode, slow) for mode in shown}
                each = [metrics.values(mine, metric) for mine in of_mode.values()]
                if only in (None, pace) and any(each):
                    counts = sorted({len(values) for values in each if values})
                    beside = [_beside(group_runs, mine, base, slow) if metric == "overhead_ratio" and mode != base else ""
                              for mode, mine in of_mode.items()]
                    rows.append([recording, link + (LOSSY if slow else ""), pace,
                                 *(write(stats.median(values)) + more for values, more in zip(each, beside, strict=True)),
                                 "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))])
        if rows:
            parts.append(f"### {head.format(base=base)}\n\n" + table.markdown(("recording", "link", "pace", *heads, "n"), rows, left=3))
    return "## Overview\n\n" + "\n\n".join(parts) if parts else ""


def _has(text: str | None, column: str) -> bool:
    """Whether one of its tables has the column."""
    return text is None or re.search(rf"\| +{column} ", text) is not None


def _tables(result: dict[str, Any]) -> str:
    sections = [group_section(group, group_runs) for group, group_runs in groups(result["runs"]).items()]
    return "\n\n".join(part for part in (*(of(result["runs"]) for of in (overview, more_bytes, via_table)), *sections) if part)


def _legend(runs: list[Run], text: str | None) -> list[str]:
    """Explains the columns that the tables of the text have; without a text, all columns."""
    base = _base_name(runs)
    bases = {mode for mode in (modes.STOCK, "cork") if any(run["mode"] == mode for run in runs)}
    return [_COLUMNS.format(base=base), RESPONSE_COLUMNS.format(base=base) if _has(text, "bursts") else "",
            PATH_COLUMNS if _has(text, "x path") else "",
            LATENCY_COLUMNS if _has(text, "p50") else "",
            channeltable.COLUMNS if text is None or "### By channel" in text else "",
            AGAINST.format(base=next(iter(sorted(bases, reverse=True)))) if bases and (text is None or " [" in text) else "",
            mode_list(runs)]


def whole_legend() -> str:
    """Of all columns and modes."""
    return "\n\n".join(_legend([{"mode": name, "pace": "max"} for name in modes.MODES], None))


def markdown(result: dict[str, Any]) -> str:
    """The whole page."""
    return page({"Comparison": result})


def page(results: Mapping[str, dict[str, Any]], explained: str | None = None) -> str:
    """One page for several results, by their questions. explained: the page that explains the columns, if it is another one."""
    parts: list[str] = []
    for question, result in results.items():
        said = [verdict.of(result), f"# {question}"]
        link = f"[Columns and modes]({explained})" if explained and not parts else ""
        parts += [*(said if not parts else reversed(said)), about(result), link, _tables(result)]
    runs = [run for result in results.values() for run in result["runs"]]
    parts += [] if explained else _legend(runs, "\n".join(parts))
    parts.append(limits.section(runs))
    for question, result in results.items():
        wrong = [invalid_runs(result["runs"]), latencies_not_taken(result["runs"]), _outliers(result["runs"])]
        parts += [f"# Runs of {question.partition(':')[0]}" if len(results) > 1 and any(wrong) else "", *wrong]
    return "\n\n".join(part for part in parts if part) + "\n"
