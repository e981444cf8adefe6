# SPDX-License-Identifier: LGPL-2.1-or-later
"""All metrics of a run, by name. A metric that a run does not have is None."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from bench.lab import links
from bench.measure import stats

Run = dict[str, Any]

_SEGMENT = 1448             # payload of a full packet with TCP timestamps at MTU 1500
_PACKET_HEADERS = 66        # Ethernet, IP and TCP with timestamps
_RECORD = 16384
_RECORD_OVERHEAD = 22       # TLS 1.3
# Time allowed for a transfer over a path: this factor x bytes / rate, and so many round trips.
_PATH_RATE_PART, _PATH_ROUND_TRIPS = 1.3, 4


def overhead(run: Run) -> int | None:
    """Bytes of the server's Ethernet frames less the message bytes."""
    wire, messages = run["server"]["wire_bytes"], run["message_bytes"]
    return None if wire is None or messages is None else wire - messages


def overhead_ratio(run: Run) -> float | None:
    beyond = overhead(run)
    return beyond / run["message_bytes"] if beyond is not None and run["message_bytes"] else None


def minimum(message_bytes: int, transport: str) -> int:
    """The least overhead that any sender needs: full records in full packets."""
    payload = message_bytes
    if transport == "tls":
        payload += math.ceil(message_bytes / _RECORD) * _RECORD_OVERHEAD
    return payload - message_bytes + math.ceil(payload / _SEGMENT) * _PACKET_HEADERS


def over_minimum(run: Run) -> float | None:
    """The overhead as a multiple of the minimum."""
    beyond = overhead(run)
    if beyond is None or not run["message_bytes"]:
        return None
    return beyond / minimum(run["message_bytes"], run["transport"])


def packets_over_minimum(run: Run) -> float | None:
    """Data packets as a multiple of the fewest that could carry the payload."""
    packets, payload = run["server"]["data_packets"], run["server"]["tcp_payload_bytes"]
    return packets / math.ceil(payload / _SEGMENT) if packets and payload else None


def over_path(run: Run) -> float | None:
    """Duration as a multiple of the time allowed for its bytes; only at pace max, alone on a link with a fixed rate."""
    if run["pace"] != "max" or run.get("download") or run["wall_seconds"] is None or run["server"]["wire_bytes"] is None:
        return None
    link = links.find(run["link"])
    if not link.rate or link.changes:
        return None
    path = _PATH_RATE_PART * run["server"]["wire_bytes"] * 8 / link.rate + _PATH_ROUND_TRIPS * link.delay
    return float(run["wall_seconds"] / path)


def _both(used: dict[str, float | None] | None) -> float | None:
    if used is None or used["user"] is None or used["system"] is None:
        return None
    return used["user"] + used["system"]


def cpu(run: Run) -> float | None:
    return _both(run["cpu_seconds"])


def cpu_around(run: Run) -> float | None:
    """CPU seconds of player, link emulator and client, if all are on this machine."""
    reader, client = _both(run.get("reader_cpu_seconds")), _both(run.get("client_cpu_seconds"))
    counters = run.get("link_books")       # null on links without an emulator
    if reader is None or client is None or not counters:
        return None
    return reader + client + float(counters["cpu_user"] + counters["cpu_system"])


def recovery(run: Run) -> float | None:
    """The longest recovery after a change of the link that does not begin an outage."""
    after = zip(links.find(run["link"]).changes, (run.get("seen") or {}).get("recovery") or [], strict=False)
    return max((seconds for change, seconds in after if change.rate), default=None)


@dataclass(frozen=True)
class Metric:
    name: str
    of: str | Callable[[Run], float | None]     # the path of the figure in a run's record, or what finds it
    says: str                       # with its unit
    noise: float                    # relative differences up to this are noise
    more: bool = False              # more is better
    without_capture: bool = False   # only from runs without a capture, if the row has any
    least: float = 0.0              # smaller values cannot be told apart
    usual: float = 0.20             # relative standard deviation from run to run on a quiet host; see METRICS

    def read(self, run: Run) -> float | None:
        if callable(self.of):
            return self.of(run)
        found: Any = run
        for step in self.of.split("."):
            found = found.get(step) if found else None
        return cast("float | None", found)


def _times(name: str, path: str, says: str, *parts: str, least: float = 0.0, **usual: float) -> Iterator[Metric]:
    """Of quantiles, in ms. usual: of a part, if known."""
    named = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile", "max": "longest"}
    for part in parts or named:
        yield Metric(f"{name}_{part}", f"{path}.{part}", f"{says}, {named[part]}, ms", 0.20 if part == "max" else 0.10, least=least,
                     **({"usual": usual[part]} if part in usual else {}))


# usual: root mean square over all rows of results/ at commit dbad2011, rounded; of responses, of which nothing was known, that of a similar
# metric.
METRICS: dict[str, Metric] = {metric.name: metric for metric in (
    Metric("packets", "server.packets", "packets from the server", 0.01, usual=0.02),
    Metric("data_packets", "server.data_packets", "packets from the server with data", 0.01, usual=0.02),
    Metric("packets_over_minimum", packets_over_minimum, "packets with data as a multiple of the fewest possible", 0.01),
    Metric("message_bytes", "message_bytes", "bytes of the messages themselves", 0.02, usual=0.02),
    Metric("tcp_payload_bytes", "server.tcp_payload_bytes", "TCP payload from the server", 0.02, usual=0.02),
    Metric("wire_bytes", "server.wire_bytes", "bytes on the wire from the server", 0.02, usual=0.02),
    Metric("overhead", overhead, "wire bytes - message bytes", 0.02, usual=0.05),
    Metric("overhead_ratio", overhead_ratio, "overhead, relative to the message bytes", 0.02, usual=0.05),
    Metric("over_minimum", over_minimum, "overhead as a multiple of the minimum", 0.02, usual=0.05),
    Metric("tls_records", lambda run: run["server"]["tls_records"] if run["transport"] == "tls" else None, "TLS records from the server",
           0.02, usual=0.03),
    Metric("client_packets", "client.packets", "packets from the client", 0.05, usual=0.05),
    Metric("cpu", cpu, "CPU seconds of the server", 0.05, without_capture=True, usual=0.07),
    Metric("cpu_around", cpu_around, "CPU seconds of player, link emulator and client", 0.05, without_capture=True, usual=0.07),
    Metric("wall", "wall_seconds", "seconds until the client has the last picture", 0.05, without_capture=True, usual=0.06),
    Metric("over_path", over_path, "seconds as a multiple of what the path may take for the bytes", 0.05),
    *_times("latency", "latency", "latency", p50=0.20, p95=0.12, p99=0.30),
    Metric("bursts", "response.bursts", "bursts that were answered", 0.0),
    Metric("missed", "response.missed", "bursts whose picture did not come in 20 s", 0.0, least=1),
    *_times("response", "response", "response time", "p50", "p95", "max", p50=0.20, p95=0.15),
    Metric("download", "download.bits_a_second", "rate of the download beside it, bit/s", 0.05, more=True),
    Metric("own_rate", "download.server_bits_a_second", "rate of the server beside a download, bit/s", 0.05, more=True),
    Metric("own_share", "download.share", "share of the server beside a download", 0.05, more=True),
    *_times("sound", "channels.sound", "lateness of sound"),
    Metric("sound_gaps", "channels.sound.gaps", "packets of sound that came too late", 0.10, least=1),
    *_times("echo", "channels.echo", "from a key to its answer"),
    *_times("pointer", "channels.pointer", "lateness of the pointer"),
    *_times("staleness", "seen.age", "staleness", "p95", "max", least=10, p95=0.08),
    Metric("recovery", recovery, "seconds after a change of the link until staleness is under 2 s", 0.20),
)}


def values(runs: Iterable[Run], name: str) -> list[float]:
    """The values of a metric: one per valid run that has it."""
    metric, valid = METRICS[name], [run for run in runs if run["valid"]]
    if metric.without_capture:
        valid = [run for run in valid if not run["captured"]] or valid
    return [value for run in valid if (value := metric.read(run)) is not None]


def _by_kind(runs: Iterable[Run], name: str) -> tuple[list[float], list[float]]:
    """Of captured runs and of others, not below what can be told apart."""
    metric = METRICS[name]
    found: tuple[list[float], list[float]] = ([], [])
    for run in runs:
        if run["valid"] and (value := metric.read(run)) is not None:
            found[not run["captured"]].append(max(value, metric.least))
    return found


_USUAL_FREEDOM = 16     # weight of the usual spread beside that of the rows at hand, in degrees of freedom


def spread(rows: Iterable[Iterable[Run]], name: str) -> float:
    """The relative standard deviation of a metric from run to run, of all these rows together: a busy host has a larger one than usual.
    Few rows are weighed against what is usual; the least is half of that, and of CPU and seconds all of it, as a host that is quiet now
    may be busy in the next session. Captured runs and others apart."""
    usual = METRICS[name].usual
    squares, freedom = _USUAL_FREEDOM * usual ** 2, _USUAL_FREEDOM
    for values_of in (kind for runs in rows for kind in _by_kind(runs, name)):
        logs = [math.log(value) for value in values_of if value > 0]
        if len(logs) > 1:
            squares += statistics.variance(logs) * (len(logs) - 1)
            freedom += len(logs) - 1
    return max(math.sqrt(squares / freedom), usual if METRICS[name].without_capture else usual / 2)


def _relative(old: list[float], new: list[float]) -> tuple[list[float], list[float]]:
    """To the mean of both. Nothing if a side has no values, or one is 0."""
    if not old or not new or min(old + new) <= 0:
        return [], []
    mean = statistics.geometric_mean(old + new)
    return [value / mean for value in old], [value / mean for value in new]


def shift(before: Iterable[Run], after: Iterable[Run], name: str, usual: float) -> stats.Shift | None:
    """usual: spread() of the metric. A capture costs CPU and time: there captured and other runs count each relative to the mean of their
    kind on both sides, so that all runs tell something."""
    captured, others = zip(_by_kind(before, name), _by_kind(after, name), strict=True)
    if METRICS[name].without_capture:
        captured, others = _relative(*captured), _relative(*others)
    return stats.shift(captured[0] + others[0], captured[1] + others[1], usual)


def judged(shift: stats.Shift | None, name: str) -> stats.Comparison:
    """Unknown without a shift."""
    metric = METRICS[name]
    return shift.judged(metric.noise, metric.more) if shift else stats.Comparison(stats.Verdict.UNKNOWN, None)
