# SPDX-License-Identifier: LGPL-2.1-or-later
"""Captures every TCP packet at the server's end of the link with tcpdump, and reports dropped ones.

tcpdump discards its buffer when it is stopped, unless it runs with --immediate-mode and -U and gets time. So stop()
waits until the file no longer grows. tcpdump's last output is kept for the validity rules.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError

_BUFFER_KIB = 65536
_BUFFER_LEAST_KIB = 4096
_SLOT_KIB = 4               # bytes per packet in the file
# Of a packet; a longer one spoils the run anyway. In immediate mode every packet takes a slot of this size: with tcpdump's own
# 256 KiB the buffer holds 256 packets of a device that is not Ethernet, and a burst overruns it.
_SNAPLEN = 2048
_QUIET = 0.3        # seconds without growth after which the file is complete
_DRAIN_LIMIT = 20.0


def buffer_kib(rate: int | None) -> int:
    """As much as a link brings in a second, which tcpdump need not be fast for. The kernel clears all of it at once, and where
    it cannot be preempted no other program has that processor meanwhile: 64 MiB of memory that a virtual machine has not used
    before took 0.4 s, in which other runs' links stood still."""
    if rate is None:
        return _BUFFER_KIB
    return min(max(rate // 8 // 1500 * _SLOT_KIB, _BUFFER_LEAST_KIB), _BUFFER_KIB)


@dataclass
class Statistics:
    """tcpdump's closing statistics; None where it printed none."""
    captured: int | None = None
    received: int | None = None
    dropped: int | None = None
    error: str = ""


def closing_statistics(lines: list[str]) -> Statistics:
    """Reads tcpdump's closing lines; anything that looks like a failure becomes the error."""
    found = Statistics()
    for line in lines:
        match = re.match(r"(\d+) packets? (captured|received by filter|dropped by (?:kernel|interface))", line)
        if match:
            count, what = int(match[1]), match[2]
            if what == "captured":
                found.captured = count
            elif what == "received by filter":
                found.received = count
            else:
                found.dropped = (found.dropped or 0) + count
        elif "listening on" not in line and "verbose output" not in line:
            found.error = line
    return found


class Capture:
    """A running tcpdump. Use capturing()."""

    def __init__(self, process: proc.Process, path: Path) -> None:
        self.path = path
        self._process = process

    def stop(self) -> Statistics:
        """Waits until the file stops growing, stops tcpdump, and returns its closing statistics."""
        limit = time.monotonic() + _DRAIN_LIMIT
        size, since = -1, time.monotonic()
        while self._process.running() and time.monotonic() < limit:
            now = self.path.stat().st_size if self.path.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since >= _QUIET:
                break
            time.sleep(0.05)
        self._process.signal(signal.SIGINT)
        if self._process.wait(time.monotonic() + _DRAIN_LIMIT) is None:
            return Statistics(error="tcpdump did not stop")
        return closing_statistics(list(self._process.complaints))


@contextlib.contextmanager
def capturing(netns: Path | None, device: str, path: Path, ports: Collection[int], rate: int | None = None) -> Iterator[Capture]:
    """Captures TCP to and from the ports on a device from when this returns; the file has every packet of an MTU
    of 1500 whole. rate: what the link carries, in bits a second."""
    argv = [proc.require("tcpdump", "tcpdump"), "-i", device, "-n", "--immediate-mode", "-U", "-B", str(buffer_kib(rate)),
            "-s", str(_SNAPLEN), "-w", str(path)]
    if os.geteuid() == 0:
        argv += ["-Z", "root"]      # without this it changes to a user who may not write there
    with proc.Process("tcpdump", [*argv, " or ".join(f"tcp port {port}" for port in ports)], netns) as process:
        if not process.wait_complaint("listening on", time.monotonic() + 10):
            raise BenchError(f"tcpdump cannot capture: {' '.join(process.complaints) or 'it does not start'}")
        yield Capture(process, path)
