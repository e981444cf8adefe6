# SPDX-License-Identifier: LGPL-2.1-or-later
"""All metrics of a run, by name. A metric that a run does not have is None."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


def _latency(name: str) -> Callable[[Run], float | None]:
    return lambda run: (run["latency"] or {}).get(name)


def _age(name: str) -> Callable[[Run], float | None]:
    """Staleness, from the screen log."""
    return lambda run: ((run.get("seen") or {}).get("age") or {}).get(name)


def recovery(run: Run) -> float | None:
    """The longest recovery after a change of the link that does not begin an outage."""
    after = zip(links.find(run["link"]).changes, (run.get("seen") or {}).get("recovery") or [], strict=False)
    return max((seconds for change, seconds in after if change.rate), default=None)


def _download(name: str) -> Callable[[Run], float | None]:
    return lambda run: (run.get("download") or {}).get(name)


def _response(name: str) -> Callable[[Run], float | None]:
    return lambda run: (run.get("response") or {}).get(name)


def _channel(channel: str, name: str) -> Callable[[Run], float | None]:
    """A figure of the traffic on other channels; None without such traffic."""
    return lambda run: ((run.get("channels") or {}).get(channel) or {}).get(name)


@dataclass(frozen=True)
class Metric:
    name: str
    says: str
    read: Callable[[Run], float | None]
    noise: float            # relative differences up to this are noise
    more: bool = False              # more is better
    without_capture: bool = False   # only from runs without a capture, if the row has any


def _server(name: str) -> Callable[[Run], float | None]:
    return lambda run: run["server"][name]


METRICS: dict[str, Metric] = {metric.name: metric for metric in (
    Metric("packets", "packets from the server", _server("packets"), 0.01),
    Metric("data_packets", "packets from the server with data", _server("data_packets"), 0.01),
    Metric("packets_over_minimum", "packets with data as a multiple of the fewest possible", packets_over_minimum, 0.01),
    Metric("message_bytes", "bytes of the messages themselves", lambda run: run["message_bytes"], 0.02),
    Metric("tcp_payload_bytes", "TCP payload from the server", _server("tcp_payload_bytes"), 0.02),
    Metric("wire_bytes", "bytes on the wire from the server", _server("wire_bytes"), 0.02),
    Metric("overhead", "wire bytes - message bytes", overhead, 0.02),
    Metric("overhead_ratio", "overhead, relative to the message bytes", overhead_ratio, 0.02),
    Metric("over_minimum", "overhead as a multiple of the minimum", over_minimum, 0.02),
    Metric("tls_records", "TLS records from the server",
           lambda run: run["server"]["tls_records"] if run["transport"] == "tls" else None, 0.02),
    Metric("client_packets", "packets from the client", lambda run: run["client"]["packets"], 0.05),
    Metric("cpu", "CPU seconds of the server", cpu, 0.05, without_capture=True),
    Metric("cpu_around", "CPU seconds of player, link emulator and client", cpu_around, 0.05, without_capture=True),
    Metric("wall", "seconds until the client has the last picture", lambda run: run["wall_seconds"], 0.05, without_capture=True),
    Metric("over_path", "seconds as a multiple of what the path may take for the bytes", over_path, 0.05),
    Metric("latency_p50", "latency, median, ms", _latency("p50"), 0.10),
    Metric("latency_p95", "latency, 95th percentile, ms", _latency("p95"), 0.10),
    Metric("latency_p99", "latency, 99th percentile, ms", _latency("p99"), 0.10),
    Metric("latency_max", "latency, longest, ms", _latency("max"), 0.20),
    Metric("bursts", "bursts that were answered", _response("bursts"), 0.0),
    Metric("missed", "bursts whose picture did not come in 20 s", _response("missed"), 0.0),
    Metric("response_p50", "response time, median, ms", _response("p50"), 0.10),
    Metric("response_p95", "response time, 95th percentile, ms", _response("p95"), 0.10),
    Metric("response_max", "response time, longest, ms", _response("max"), 0.20),
    Metric("download", "rate of the download beside it, bit/s", _download("bits_a_second"), 0.05, more=True),
    Metric("own_rate", "rate of the server beside a download, bit/s", _download("server_bits_a_second"), 0.05, more=True),
    Metric("own_share", "share of the server beside a download", _download("share"), 0.05, more=True),
    Metric("sound_p50", "lateness of sound, median, ms", _channel("sound", "p50"), 0.10),
    Metric("sound_p95", "lateness of sound, 95th percentile, ms", _channel("sound", "p95"), 0.10),
    Metric("sound_p99", "lateness of sound, 99th percentile, ms", _channel("sound", "p99"), 0.10),
    Metric("sound_max", "lateness of sound, longest, ms", _channel("sound", "max"), 0.20),
    Metric("sound_gaps", "packets of sound that came too late", _channel("sound", "gaps"), 0.10),
    Metric("echo_p50", "from a key to its answer, median, ms", _channel("echo", "p50"), 0.10),
    Metric("echo_p95", "from a key to its answer, 95th percentile, ms", _channel("echo", "p95"), 0.10),
    Metric("echo_p99", "from a key to its answer, 99th percentile, ms", _channel("echo", "p99"), 0.10),
    Metric("echo_max", "from a key to its answer, longest, ms", _channel("echo", "max"), 0.20),
    Metric("pointer_p50", "lateness of the pointer, median, ms", _channel("pointer", "p50"), 0.10),
    Metric("pointer_p95", "lateness of the pointer, 95th percentile, ms", _channel("pointer", "p95"), 0.10),
    Metric("pointer_p99", "lateness of the pointer, 99th percentile, ms", _channel("pointer", "p99"), 0.10),
    Metric("pointer_max", "lateness of the pointer, longest, ms", _channel("pointer", "max"), 0.20),
    Metric("staleness_p95", "staleness, 95th percentile, ms", _age("p95"), 0.10),
    Metric("staleness_max", "staleness, longest, ms", _age("max"), 0.20),
    Metric("recovery", "seconds after a change of the link until staleness is under 2 s", recovery, 0.20),
)}


def used(runs: Iterable[Run], name: str) -> list[Run]:
    """The valid runs from which a metric is taken."""
    valid = [run for run in runs if run["valid"]]
    if METRICS[name].without_capture:
        return [run for run in valid if not run["captured"]] or valid
    return valid


def compared(before: Sequence[Run], after: Sequence[Run], name: str) -> stats.Comparison:
    """The second group compared with the first; with too few runs for an interval, by the metric's usual spread."""
    metric = METRICS[name]
    old, new = values(before, name), values(after, name)
    if min(len(old), len(new)) < stats.FEWEST and (found := stats.shift(old, new, _SPREAD.get(name, _SPREAD_UNKNOWN))):
        return found.judged(metric.noise, metric.more)
    return stats.compare(old, new, metric.noise, metric.more)


# Relative standard deviation from run to run on a quiet host: root mean square over all rows of results/ at commit dbad2011, rounded.
# Where nothing is known yet (responses), that of a similar metric.
_SPREAD = {"packets": 0.02, "data_packets": 0.02, "message_bytes": 0.02, "tcp_payload_bytes": 0.02, "wire_bytes": 0.02,
           "overhead": 0.05, "overhead_ratio": 0.05, "over_minimum": 0.05, "tls_records": 0.03, "client_packets": 0.05,
           "cpu": 0.07, "cpu_around": 0.07, "wall": 0.06, "latency_p50": 0.20, "latency_p95": 0.12, "latency_p99": 0.30,
           "response_p50": 0.20, "response_p95": 0.15, "staleness_p95": 0.08}
_SPREAD_UNKNOWN = 0.20
_USUAL_FREEDOM = 16     # weight of the usual spread beside that of the rows at hand, in degrees of freedom


def spread(rows: Iterable[Iterable[Run]], name: str) -> float:
    """The relative standard deviation of a metric from run to run, of all these rows together: a busy host has a larger one than usual.
    Few rows are weighed against what is usual; the least is half of that, and of CPU and seconds all of it, as a host that is quiet now
    may be busy in the next session. Captured runs and others apart."""
    usual = _SPREAD.get(name, _SPREAD_UNKNOWN)
    squares, freedom = _USUAL_FREEDOM * usual ** 2, _USUAL_FREEDOM
    for runs in rows:
        kinds: dict[bool, list[float]] = {False: [], True: []}
        for run in runs:
            if run["valid"] and (value := METRICS[name].read(run) or 0) > 0:
                kinds[run["captured"]].append(math.log(value))
        for logs in kinds.values():
            if len(logs) > 1:
                squares += statistics.variance(logs) * (len(logs) - 1)
                freedom += len(logs) - 1
    return max(math.sqrt(squares / freedom), usual if METRICS[name].without_capture else usual / 2)


def shift(before: Iterable[Run], after: Iterable[Run], name: str, usual: float) -> stats.Shift | None:
    """usual: spread() of the metric."""
    return stats.shift(*_of_every_run(list(before), list(after), name), usual)


def _of_every_run(before: Sequence[Run], after: Sequence[Run], name: str) -> tuple[list[float], list[float]]:
    """Captured and other runs each relative to the mean of their kind on both sides, so that a capture's cost does not matter, and all
    runs tell something of times, too."""
    if not METRICS[name].without_capture:
        return values(before, name), values(after, name)
    both: tuple[list[float], list[float]] = ([], [])
    for captured in (False, True):
        found = [[value for run in runs if run["valid"] and run["captured"] == captured and (value := METRICS[name].read(run))]
                 for runs in (before, after)]
        for side, of_side in zip(both, found, strict=True):
            if all(found):
                side += [value / statistics.geometric_mean(found[0] + found[1]) for value in of_side]
    return both


def values(runs: Iterable[Run], name: str) -> list[float]:
    """The values of a metric: one per valid run that has it."""
    read = METRICS[name].read
    return [value for run in used(runs, name) if (value := read(run)) is not None]
