# SPDX-License-Identifier: LGPL-2.1-or-later
"""Estimated duration and CPU time of a run."""

from __future__ import annotations

from bench.measure import channels
from bench.runs import modes
from bench.runs.runspec import RunSpec

# On 2 cores. The time left, and which runs may run at once, are estimated from these.
_START = 1.1                    # seconds: lab, certificates, capture, counting
_COMMANDS_A_SECOND = 45_000
_LINK_TEST = 2.0                # seconds, additional on an emulated link
_LINK_TEST_ROUND_TRIPS = 32
_LINK_TEST_BITS = 6e6
_COMMANDS_UNKNOWN = 50_000
_BYTES_A_COMMAND = 200          # bytes per command: mean of the shipped sessions, which have 100 to 370

# CPU seconds of everything together: server, client, link, tcpdump, the bench's own counting. Over TLS and 100M10ms with
# the stock library vga-text-boot used 7.6 s, linux-desktop 7.0 s. Probes at the recorded pace make it half as much again.
_PROCESSOR_START = 0.7
_PROCESSOR_COMMANDS_A_SECOND = 12_500
_PROCESSOR_CHANNELS = 0.1       # CPU share of traffic on the other channels

# Largest CPU share of a run beside which others may run: if only packets and bytes are measured; if also latency or staleness.
_MOSTLY_WAITS = 1 / 3
_MOSTLY_WAITS_TIMED = 0.15

_TAKEN_FOR_SLOW = 0.1           # seconds: at this round trip a server considers a link slow, and allows twice as much in flight


def _commands(spec: RunSpec) -> int:
    return spec.recording.commands or _COMMANDS_UNKNOWN


def seconds(spec: RunSpec) -> float:
    """How long a run will take, about: until the client has the end, and until its picture is still, for which it waits twice where
    something comes while it does."""
    return _working(spec) + (spec.settle_ms + spec.settle_end_ms) / 1e3


def _working(spec: RunSpec) -> float:
    times = [_commands(spec) / _COMMANDS_A_SECOND]
    in_flight = modes.in_flight(spec.mode)
    if in_flight == modes.UPSTREAM_IN_FLIGHT and spec.link.delay >= _TAKEN_FOR_SLOW:
        in_flight *= 2
    if in_flight is not None:
        times.append(_commands(spec) * spec.link.delay / in_flight)
    if spec.link.rate:
        transferred = channels.transferred_bytes(spec.channels) if spec.channels else 0
        times.append((_commands(spec) * _BYTES_A_COMMAND + transferred) * 8 / spec.link.rate)
    if spec.pace != "max":
        times.append((spec.recording.seconds or 60) / (1 if spec.pace in ("recorded", "user") else float(spec.pace)))
    return _START + _link_test(spec) + max(times)


def _link_test(spec: RunSpec) -> float:
    if not spec.link.emulated:
        return 0
    return _LINK_TEST + _LINK_TEST_ROUND_TRIPS * spec.link.delay + (_LINK_TEST_BITS / spec.link.rate if spec.link.rate else 0)


def share(spec: RunSpec) -> float:
    """Estimated CPU share of a run while it plays; above 1 if nothing slows it down."""
    used = _PROCESSOR_START + _commands(spec) / _PROCESSOR_COMMANDS_A_SECOND
    return used / _working(spec) + (_PROCESSOR_CHANNELS if spec.channels else 0)


def is_timed(spec: RunSpec) -> bool:
    """Whether latency or staleness is measured."""
    return spec.pace != "max" or bool(spec.channels)


def mostly_waits(spec: RunSpec) -> bool:
    """Whether the run waits most of the time: for the link, or for the recorded times. Without a slow link latencies are about a
    millisecond, and other runs would change them. A download needs CPU in proportion to the link's rate."""
    most = _MOSTLY_WAITS_TIMED if is_timed(spec) else _MOSTLY_WAITS
    return spec.link.emulated and not spec.beside_download and share(spec) < most
