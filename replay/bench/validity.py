# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a run counts. Validity comes before numbers: each rule takes what a run left behind and says what is wrong, or
nothing. A run that breaks a rule is kept, with the reason, and enters no table."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import capture, pcap
from bench.lab import LARGEST_FRAME

# What a server may still say between the last byte the client read and the end of the connection: a ping, an ack.
UNREAD_TAIL = 64 * 1024
# What TLS sends beside the application's bytes on one connection: certificates, finished messages, session tickets.
HANDSHAKE_LIMIT = 16 * 1024


@dataclass
class Evidence:
    """What one run left behind. player and client are their last JSON lines, None when they printed none."""
    transport: str
    library: Path                       # the file that was to be loaded
    commands: int | None                # of the recording, where the manifest knows
    link: str | None = None             # what is wrong with the link
    player: dict[str, Any] | None = None
    client: dict[str, Any] | None = None
    player_status: int | None = None    # None: it had to be killed
    client_status: int | None = None
    player_complaint: str = ""
    client_complaint: str = ""
    capture: capture.Statistics | None = None
    wire: pcap.Summary | None = None
    timed_out: bool = False


Rule = Callable[[Evidence], "str | None"]


def link_as_described(run: Evidence) -> str | None:
    return run.link


def in_time(run: Evidence) -> str | None:
    return "the run took too long" if run.timed_out else None


_OTHER_END_GONE = 3     # what both programs exit with when the other one left them


def both_exited_well(run: Evidence) -> str | None:
    """Names the end that failed first: the other one fails when its peer is gone, or must be ended."""
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
    if run.player and run.player.get("end") == "drained":
        return None     # a recording without a surface at its end can show no end marker
    if run.client.get("end") != "marker":
        return f"the client did not see the end ({run.client.get('end')})"
    return None


def right_library(run: Evidence) -> str | None:
    loaded = (run.player or {}).get("library")
    if not loaded or Path(loaded).resolve() != run.library.resolve():
        return f"the library loaded was {loaded}, not {run.library}"
    return None


def capture_complete(run: Evidence) -> str | None:
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
        return f"capture: {seen.captured} packets captured, {run.wire.packets} in the file"
    return None


def frames_fit(run: Evidence) -> str | None:
    if run.wire and run.wire.largest_frame > LARGEST_FRAME:
        return f"a frame of {run.wire.largest_frame} bytes: an offload is on, packets cannot be counted"
    return None


def payload_accounted(run: Evidence) -> str | None:
    """The bytes on the wire are those the client read, plus what TLS adds."""
    if run.wire is None or run.client is None:
        return None
    read = run.client.get("total_bytes")
    if not isinstance(read, int):
        return "the client did not say how much it read"
    sent = run.wire.server
    if run.transport == "plain":
        spare, limit = sent.stream_bytes - read, UNREAD_TAIL
    else:
        if run.wire.tls_broken:
            return "a stream on the TLS port is not TLS"
        connections = max(1, len(run.client.get("bytes") or {}))
        # the least a record adds is its header, a content type or nonce and the tag
        least = sent.tls_records * 21
        most = sent.tls_records * 40
        spare = sent.stream_bytes - least - read
        limit = UNREAD_TAIL + connections * HANDSHAKE_LIMIT + most - least
    if not 0 <= spare <= limit:
        return f"{sent.stream_bytes} payload bytes on the wire do not account for {read} bytes read by the client"
    return None


RULES: tuple[Rule, ...] = (link_as_described, in_time, both_exited_well, all_played, client_saw_the_end, right_library,
                           capture_complete, frames_fit, payload_accounted)


def judge(run: Evidence) -> str | None:
    """The first rule the run breaks, in one line; None when it counts."""
    for rule in RULES:
        reason = rule(run)
        if reason:
            return reason
    return None


def compare_pictures(runs: list[dict[str, Any]], references: Mapping[str, str | None]) -> None:
    """Makes runs invalid whose final picture is not the recording's: the reference picture where one is known, else
    the one most runs of the recording agree on."""
    for recording in {run["recording"] for run in runs}:
        valid = [run for run in runs if run["recording"] == recording and run["valid"]]
        reference = references.get(recording)
        if valid and reference is None:
            reference = collections.Counter(run["picture_sha256"] for run in valid).most_common(1)[0][0]
        for run in valid:
            if run["picture_sha256"] != reference:
                run["valid"] = False
                run["invalid_reason"] = "the final picture is not the reference picture"
