# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of the channels: messages and bytes of each, lateness of sound, keys and pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bench.common import table
from bench.measure import stats
from bench.report import report
from bench.report.grouping import Row, Run, rows

# by the protocol's channel type
_TYPES = {1: "main", 2: "display", 4: "cursor", 3: "inputs", 5: "playback", 6: "record", 10: "port", 11: "webdav"}


def _sum(values: Iterable[int]) -> int | None:
    found = list(values)
    return sum(found) if found else None


def _bytes(run: Run, channel: str) -> int | None:
    return _sum(count for name, count in (run["channel_bytes"] or {}).items() if channel in (name, name.rpartition("-")[0]))


def _counted(what: str) -> Callable[[Run, str], int | None]:
    return lambda run, channel: _sum(stream[what] for stream in run["streams"] or ()
                                     if _TYPES.get(stream["type"]) == channel and what in stream)


def _per_message(run: Run, channel: str) -> float | None:
    writes, messages = _counted("writes")(run, channel), _counted("messages")(run, channel)
    return writes / messages if writes is not None and messages else None


_COLUMNS: dict[str, tuple[Callable[[Run, str], Any], Callable[[float | None], str]]] = {
    "messages": (_counted("messages"), table.count), "bytes": (_bytes, table.count),
    "records": (lambda run, channel: _counted("records")(run, channel) if run["transport"] == "tls" else None, table.count),
    "writes": (_counted("writes"), table.count), "per message": (_per_message, table.factor)}


def _with_traffic(group: list[Run]) -> list[Row]:
    """The rows with added traffic, of the runs that count."""
    return rows([run for run in group if run["valid"] and run.get("channels")])


def by_channel(group: list[Run]) -> str:
    lines = []
    for channel in _TYPES.values():
        for row in _with_traffic(group):
            values = [stats.median(read(run, channel) for run in row.runs) for read, _ in _COLUMNS.values()]
            if any(value is not None for value in values):
                lines.append([channel, row.name, row.cell[0],
                              *(write(value) for value, (_, write) in zip(values, _COLUMNS.values(), strict=True)), str(len(row.runs))])
    return table.markdown(("channel", "mode", "transport", *_COLUMNS, "n"), lines, left=3) if lines else ""


def _left_out(row: Row) -> str:
    sounds = [run["channels"].get("sound") or {} for run in row.runs]
    return table.percent(stats.median([1 - sound["arrived"] / sound["played"] for sound in sounds if sound.get("played")]))


def waiting(group: list[Run]) -> str:
    def parts(says: str, metric: str) -> list[report.Column]:
        return report.shown((f"{says} {part}", f"{metric}_{part}", table.milliseconds) for part in ("p50", "p95", "p99", "max"))

    found = _with_traffic(group)
    return table.of(found, (
        report.MODE, report.TRANSPORT, *parts("sound", "sound"), ("left out", _left_out), *report.shown([("gaps", "sound_gaps", table.count)]),
        *parts("key", "echo"), *parts("pointer", "pointer"), ("n", lambda row: str(len(row.runs)))), left=2) if found else ""
