# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a run counts. Each rule takes the output of a run and returns what is wrong, or nothing. A run that breaks a
rule is kept with the reason, and enters no table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.lab import capture, lab
from bench.lab.beside import Download
from bench.lab.lab import LARGEST_FRAME
from bench.measure import channels, pcap

# Bytes that a server may send after the last byte the client read: a ping, an ack.
UNREAD_TAIL = 16 * 1024
# Largest delay of a packet by the link emulator, microseconds; also how long a stall may last beyond the round trip.
LATE_LIMIT = 50_000
# Largest steal time: the share of the processors' time that the host of a virtual machine gave to others.
STOLEN_LIMIT = 0.05
# Handshake bytes that TLS 1.3 sends as ordinary records on one connection: certificate, Finished, session tickets.
HANDSHAKE_LIMIT = 8 * 1024
# Least and largest overhead of a record: header, nonce or content type, tag.
RECORD_OVERHEAD = {"1.3": (22, 22), "1.2": (21, 40)}


@dataclass
class Evidence:
    """What one run left behind. player and client are their last JSON lines, None when they printed none."""
    transport: str
    tls_version: str
    library: Path                       # the library file that must be loaded
    commands: int | None                # of the recording, where the manifest knows
    mode: str | None = None             # the requested mode; None: the library knows no modes
    socket: str | None = None           # the requested transport of TLS streams; None: any
    link: str | None = None             # what is wrong with the link
    link_tests: int = 0                 # number of tests until it passed
    congestion: str | None = None           # the algorithm of TCP
    download: Download | None = None        # that shared the link
    seen: dict[str, Any] | None = None      # staleness, if the screen was logged
    emulator: str = lab.NO_EMULATOR         # the link's
    counters: dict[str, Any] | None = None     # spice-link's counters
    player: dict[str, Any] | None = None
    client: dict[str, Any] | None = None
    player_status: int | None = None    # None: it had to be killed
    client_status: int | None = None
    player_complaint: str = ""
    client_complaint: str = ""
    captured: bool = True               # a capture was requested
    capture: capture.Statistics | None = None
    wire: pcap.Summary | None = None
    stolen: float | None = None         # of the processors' time, from 0 to 1, while it played
    pauses: list[dict[str, Any]] = field(default_factory=list)      # command and picture of each
    expected_pauses: int = 0
    shown: list[dict[str, Any]] | None = None   # the client's answer for each burst, at the user's pace
    channels: str | None = None         # the channels with added traffic
    timed_out: bool = False


Rule = Callable[[Evidence], "str | None"]


def link_as_described(run: Evidence) -> str | None:
    return run.link


def link_kept_its_books(run: Evidence) -> str | None:
    """Every packet of the devices was delivered, or dropped on purpose."""
    if run.emulator == lab.SPICE_LINK and not run.counters:
        return "the link's emulator did not say what it carried"
    for way in ("a_to_b", "b_to_a"):
        counted = (run.counters or {}).get(way, {})
        lost = counted.get("missed", 0) + counted.get("refused", 0)
        if lost:
            return f"the link's emulator lost {lost} packets it should have carried"
    return None


def link_was_in_time(run: Evidence) -> str | None:
    """A kernel without preemption, or a virtual machine's host, can delay even a real-time process."""
    late = max((run.counters or {}).get(way, {}).get("late_us", {}).get("max", 0) for way in ("a_to_b", "b_to_a"))
    return f"the link's emulator was {late / 1e3:.0f} ms late with a packet" if late > LATE_LIMIT else None


def host_left_the_processors(run: Evidence) -> str | None:
    return f"the host took {run.stolen:.0%} of the processors" if (run.stolen or 0) > STOLEN_LIMIT else None


def in_time(run: Evidence) -> str | None:
    return "the run took too long" if run.timed_out else None


_OTHER_END_GONE = 3     # exit status of both programs when the peer is gone


def both_exited_well(run: Evidence) -> str | None:
    """Names the program that failed first. The other one fails because its peer is gone, or is killed."""
    ends = [("player", run.player_status, run.player_complaint), ("client", run.client_status, run.client_complaint)]
    failed = [end for end in ends if end[1] != 0]
    if not failed:
        return None
    name, status, complaint = min(failed, key=lambda end: (end[1] is None, end[1] == _OTHER_END_GONE))
    how = "did not end" if status is None else f"ended with status {status}"
    return f"{name} {how}" + (f": {complaint}" if complaint else "")


def all_played(run: Evidence) -> str | None:
    if run.player is None:
        return "the player reported nothing"
    played, expected = run.player.get("commands"), run.player.get("expected_commands")
    if run.commands is not None and run.commands != expected:
        return f"the player expected {expected} commands, the manifest says {run.commands}"
    if played != expected:
        return f"{played} of {expected} commands played"
    return None


def client_saw_the_end(run: Evidence) -> str | None:
    if run.client is None:
        return "the client reported nothing"
    if run.client.get("end") != "marker":
        return f"the client did not see the end ({run.client.get('end')})"
    return None


def all_pauses_shown(run: Evidence) -> str | None:
    if len(run.pauses) != run.expected_pauses:
        return f"the client showed {len(run.pauses)} of {run.expected_pauses} pause points"
    return None


def all_bursts_shown(run: Evidence) -> str | None:
    """At the user's pace every burst has an answer, and there is at least one burst: without pauses there is no closed loop."""
    if run.shown is None or run.player is None:
        return None
    played = len(run.player.get("bursts") or [])
    if not played:
        return "the recording has no pause: there is no response to time"
    return None if played == len(run.shown) else f"the client showed {len(run.shown)} of {played} bursts"


def channels_carried_all(run: Evidence) -> str | None:
    """What the player sent on the other channels arrived, and the other way round."""
    if run.channels is None or run.player is None or run.client is None:
        return None
    return channels.wrong(run.channels, run.player, run.client)


def right_library(run: Evidence) -> str | None:
    loaded = (run.player or {}).get("library")
    if not loaded or Path(loaded).resolve() != run.library.resolve():
        return f"the library loaded was {loaded}, not {run.library}"
    return None


def right_mode(run: Evidence) -> str | None:
    """The library reports the mode of each stream. It ignores an unknown mode with a warning."""
    if run.mode is None:
        return None
    streams = (run.player or {}).get("streams")
    if not streams:
        return "the patched library said nothing of its streams"
    other = [stream.get("mode") for stream in streams if stream.get("mode") != run.mode]
    return f"the library was in mode {other[0]}, not {run.mode}" if other else None


def right_socket(run: Evidence) -> str | None:
    """The library reports the transport of each stream. It uses TLS in the process if the kernel does not accept the keys."""
    if run.socket is None:
        return None
    other = [stream.get("socket") for stream in (run.player or {}).get("streams") or []
             if stream.get("tls") and stream.get("socket") != run.socket]
    return f"the library sent by {other[0]}, not {run.socket}: is the kernel's module tls loaded?" if other else None


def capture_complete(run: Evidence) -> str | None:
    if not run.captured:
        return None
    seen = run.capture
    if seen is None or run.wire is None:
        return "nothing was captured"
    if seen.error:
        return f"capture: {seen.error}"
    if seen.captured is None or seen.received is None or seen.dropped is None:
        return "capture: tcpdump did not say what it had captured"
    if seen.dropped:
        return f"capture: {seen.dropped} packets dropped"
    if seen.captured != seen.received:
        return f"capture: {seen.captured} packets captured, {seen.received} received by the filter"
    if seen.captured != run.wire.packets:
        return f"capture: {seen.captured} packets captured, {run.wire.packets} in the file (is the disk full?)"
    return None


def frames_fit(run: Evidence) -> str | None:
    if run.wire and run.wire.largest_frame > LARGEST_FRAME:
        return f"a frame of {run.wire.largest_frame} bytes: an offload is on, packets cannot be counted"
    return None


def payload_accounted(run: Evidence) -> str | None:
    """Bytes on the wire = bytes that the client read + what TLS adds."""
    if run.wire is None or run.client is None:
        return None
    read = run.client.get("total_bytes")
    if not isinstance(read, int):
        return "the client did not say how much it read"
    if run.transport == "plain":
        sent, most, limit = run.wire.server.stream_bytes, run.wire.server.stream_bytes, UNREAD_TAIL
    else:
        if run.wire.tls_broken:
            return "a stream on the TLS port is not TLS"
        records, sent = run.wire.server.tls_records, run.wire.server.tls_record_bytes
        least, more = RECORD_OVERHEAD[run.tls_version]
        sent, most = sent - more * records, sent - least * records
        limit = UNREAD_TAIL + HANDSHAKE_LIMIT * max(1, len(run.client.get("bytes") or {}))
    if sent > read + limit or most < read:
        return f"the client read {read} bytes, on the wire were {sent}"
    return None


RULES: tuple[Rule, ...] = (
    link_as_described, link_kept_its_books, link_was_in_time, host_left_the_processors, in_time, both_exited_well, all_played,
    client_saw_the_end, all_pauses_shown, all_bursts_shown, channels_carried_all, right_library, right_mode, right_socket, capture_complete, frames_fit,
    payload_accounted)


def judge(run: Evidence) -> str | None:
    """The first rule the run breaks, in one line; None when it counts."""
    for rule in RULES:
        reason = rule(run)
        if reason:
            return reason
    return None
