# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a run will take, roughly: seconds, and how much of them a processor works."""

from __future__ import annotations

from bench import channels, modes
from bench.runspec import RunSpec

# On 2 cores. What is left is told from these, and which runs may be under way together.
_START = 4.0                    # seconds: lab, certificates, capture, counting
_COMMANDS_A_SECOND = 15_000
_COMMANDS_UNKNOWN = 50_000
_BYTES_A_COMMAND = 200          # the mean of the shipped sessions; they have 100 to 370

# Processor seconds of everything together: server, client, link, tcpdump, the bench's own counting. Over TLS with the stock
# library linux-boot used 3.3 s over 20M40ms and over 2M100ms, linux-desktop 6.4 s over 20M40ms; vga-text-boot with flow 4.6 s.
# Probes at the recorded pace make it half as much again.
_PROCESSOR_START = 1.0
_PROCESSOR_COMMANDS_A_SECOND = 10_000
_PROCESSOR_CHANNELS = 0.1       # of every second with traffic on the other channels

_MOSTLY_WAITS = 0.15            # of the time, at most, a processor works for it


def _commands(spec: RunSpec) -> int:
    return spec.recording.commands or _COMMANDS_UNKNOWN


def seconds(spec: RunSpec) -> float:
    """How long a run will take, about."""
    times = [_commands(spec) / _COMMANDS_A_SECOND]
    in_flight = modes.in_flight(spec.mode)
    if in_flight is not None:
        times.append(_commands(spec) * spec.link.delay / in_flight)
    if spec.link.rate:
        transferred = channels.transferred_bytes(spec.channels) if spec.channels else 0
        times.append((_commands(spec) * _BYTES_A_COMMAND + transferred) * 8 / spec.link.rate)
    if spec.pace != "max":
        times.append((spec.recording.seconds or 60) / (1 if spec.pace == "recorded" else float(spec.pace)))
    return _START + max(times)


def share(spec: RunSpec) -> float:
    """Of a processor, while it is under way; more than one where it is not held up."""
    used = _PROCESSOR_START + _commands(spec) / _PROCESSOR_COMMANDS_A_SECOND
    return used / seconds(spec) + (_PROCESSOR_CHANNELS if spec.channels else 0)


def mostly_waits(spec: RunSpec) -> bool:
    """For the link, or there for the moment the recording has a command at. Without a link that takes longer, latencies are of
    a millisecond and show what else the machine does. A download takes as much of a processor as the link carries."""
    return spec.link.emulated and not spec.beside_download and share(spec) < _MOSTLY_WAITS
