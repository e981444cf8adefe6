# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of the channels: messages and bytes of each, lateness of sound, keys and pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.common import table
from bench.measure import channels, metrics, stats

Run = dict[str, Any]
Rows = Mapping[tuple[str, str], list[Run]]      # mode and transport, as shown

COLUMNS = f"""\
By channel:

| column | meaning |
|---|---|
| bytes | what the client read, before TLS |
| messages, records, writes | counted by the output buffer (TLS records, system calls); only modes with that buffer have them |
| sound | ms from playback at the server until the packet is at the client |
| left out, gaps | packets the server dropped; packets more than {channels.BUFFER_MS:.0f} ms later than the fastest |
| key | ms from a key's press at the client until the keyboard's light, the server's reply, is there |
| pointer | ms from the pointer's move at the server until the client has moved it |"""

# by the protocol's channel type
_TYPES = {1: "main", 2: "display", 4: "cursor", 3: "inputs", 5: "playback", 6: "record", 10: "port", 11: "webdav"}


def _type_name(stream: Mapping[str, Any]) -> str:
    return _TYPES.get(stream["type"], str(stream["type"]))


def _bytes(run: Run, channel: str) -> int | None:
    counted = [count for name, count in (run["channel_bytes"] or {}).items() if name.rpartition("-")[0] == channel
               or name == channel]
    return sum(counted) if counted else None


def _counted(run: Run, channel: str, what: str) -> int | None:
    counted = [stream[what] for stream in run["streams"] or () if _type_name(stream) == channel and what in stream]
    return sum(counted) if counted else None


def _writes_per_message(run: Run, channel: str) -> float | None:
    writes, messages = _counted(run, channel, "writes"), _counted(run, channel, "messages")
    return writes / messages if writes is not None and messages else None


def _records(run: Run, channel: str) -> int | None:
    return _counted(run, channel, "records") if run["transport"] == "tls" else None


_COLUMNS: tuple[tuple[str, Callable[[Run, str], float | None], Callable[[float | None], str]], ...] = (
    ("messages", lambda run, channel: _counted(run, channel, "messages"), table.count),
    ("bytes", _bytes, table.count), ("records", _records, table.count),
    ("writes", lambda run, channel: _counted(run, channel, "writes"), table.count),
    ("per message", _writes_per_message, table.factor))


def _by_channel(rows: Rows) -> str:
    lines = []
    for channel in _TYPES.values():
        for (mode, transport), runs in rows.items():
            values = [stats.median(read(run, channel) for run in runs) for _, read, _ in _COLUMNS]
            if any(value is not None for value in values):
                lines.append([channel, mode, transport,
                              *(write(value) for value, (_, _, write) in zip(values, _COLUMNS, strict=True)), str(len(runs))])
    return table.markdown(("channel", "mode", "transport", *(head for head, _, _ in _COLUMNS), "n"), lines, left=3)


def _left_out(run: Run) -> float | None:
    sound = run["channels"].get("sound") or {}
    return 1 - sound["arrived"] / sound["played"] if sound.get("played") else None


def _waiting(rows: Rows) -> str:
    parts = ("p50", "p95", "p99", "max")
    lines = []
    for (mode, transport), runs in rows.items():
        def told(name: str, of: list[Run] = runs) -> str:
            return table.milliseconds(stats.median(metrics.METRICS[name].read(run) for run in of))
        lines.append([mode, transport, *(told(f"sound_{part}") for part in parts),
                      table.percent(stats.median(map(_left_out, runs))),
                      table.count(stats.median(metrics.METRICS["sound_gaps"].read(run) for run in runs)),
                      *(told(f"echo_{part}") for part in parts), *(told(f"pointer_{part}") for part in parts), str(len(runs))])
    head = ("mode", "transport", *(f"sound {part}" for part in parts), "left out", "gaps", *(f"key {part}" for part in parts),
            *(f"pointer {part}" for part in parts), "n")
    return table.markdown(head, lines, left=2)


def section(rows: Rows) -> str:
    """Both tables, of the runs that count; empty if no channel had added traffic."""
    shown = {key: counting for key, runs in rows.items()
             if (counting := [run for run in runs if run["valid"] and run.get("channels")])}
    return f"### By channel\n\n{_by_channel(shown)}\n\n### Sound, keys and the pointer\n\n{_waiting(shown)}" if shown else ""
