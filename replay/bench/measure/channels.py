# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traffic of spice-player on the channels beside the display: whether it arrived unchanged, and its lateness. Gaps and lateness of a live
guest's sound."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.measure import latency

ALL = "all"
# name in --channels: name in spice-player's report
_REPORTED = {"sound": "sound", "sound-raw": "sound", "inputs": "inputs", "pointer": "pointer", "port": "port"}
_IN_ALL = tuple(name for name, reported in _REPORTED.items() if name == reported)
# traffic with a size: the default, and its unit in bytes
_SIZES = {"port": (4, 1 << 20)}
# A sound player's buffer, about: a packet that is later than this leaves a gap.
BUFFER_MS = 100.0
# Compressed sound is numbered modulo 8: if a larger share of packets is missing, numbers may be matched wrongly.
LEFT_OUT_MAX = 0.2

Report = dict[str, Any]


def _words(asked: str) -> list[tuple[str, str]]:
    """Splits a list of channels into names and sizes; "" where no size is given."""
    words = _IN_ALL if asked == ALL else asked.split(",")
    return [(name, size) for name, _, size in (word.partition(":") for word in words)]


def known(asked: str) -> bool:
    """Whether this is a list of known channels with valid sizes. spice-player checks the rest."""
    return all(name in _REPORTED and re.fullmatch(r"\d*", size) for name, size in _words(asked))


def transferred_bytes(asked: str) -> int:
    """Bytes that the server sends for the traffic that has an end (clipboard, port)."""
    return sum(int(size or _SIZES[name][0]) * _SIZES[name][1] for name, size in _words(asked) if name in _SIZES)


def _sound(did: Report, client: Report) -> str | None:
    arrived = (client.get("audio") or {}).get("packets") or 0
    if not arrived:
        return "no sound arrived"
    return f"{arrived} packets of sound arrived, {did['packets']} were played" if arrived > did["packets"] else None


def _inputs(did: Report, client: Report) -> str | None:
    if not did["motions"]:
        return "no motion of the mouse arrived"
    return None if (client.get("inputs") or {}).get("echoes_ms") else "no key was answered"


def _moves(did: Report, client: Report) -> list[latency.Stamp]:
    """The moves of the added pointer that the client has seen. Its y is far above the display, where no recording moves the
    pointer."""
    return [(x, when) for x, y, when in client.get("cursor_move_times") or () if y == did["top"]]


def _pointer(did: Report, client: Report) -> str | None:
    arrived = len(_moves(did, client))
    if not arrived:
        return "no move of the pointer arrived"
    return f"{arrived} moves of the pointer arrived, {did['moves']} were made" if arrived > did["moves"] else None


def _port(did: Report, client: Report) -> str | None:
    arrived = (client.get("ports") or {}).get("port-0") or {}
    if arrived.get("bytes") != did["bytes"]:
        return f"{arrived.get('bytes') or 0} of {did['bytes']} bytes arrived through the port"
    return None if arrived.get("sha256") == did["sha256"] else "what arrived through the port is not what was sent"


_CHECKS: dict[str, Callable[[Report, Report], str | None]] = {
    "sound": _sound, "inputs": _inputs, "pointer": _pointer, "port": _port}


def wrong(asked: str, player: Report, client: Report) -> str | None:
    """The first difference between what was sent and what arrived, in one line. Both arguments are the programs' last JSON
    lines."""
    did = player.get("channels") or {}
    for name in dict.fromkeys(_REPORTED[name] for name, _ in _words(asked)):
        reason = _CHECKS[name](did[name], client) if name in did else f"the player has no channel for {name}"
        if reason:
            return reason
    return None


def _lateness(sent: Sequence[latency.Stamp], received: Sequence[latency.Stamp], counted_to_eight: bool = False) -> Report:
    """Time from playing a sound packet at the server until the client can hear it, or from a pointer move until the client shows
    it. Compressed packets are numbered modulo 8, by their loudness: where too many are missing, the figures are unknown."""
    packets = latency.match([(number, when, when) for number, when in sent], received) if sent else None
    if packets is None or (counted_to_eight and len(packets) - len(received) > LEFT_OUT_MAX * len(packets)):
        return {"dropped": None, "gaps": None, **latency.quantiles([])}
    late = [(packet.received - packet.sent) / 1e6 for packet in packets if packet.received is not None]
    fastest = min(late, default=0.0)
    gaps = sum(value - fastest > BUFFER_MS for value in late)
    return {"dropped": len(packets) - len(late), "gaps": gaps, **latency.quantiles(late)}


def _pointer_report(did: Report, client: Report) -> Report:
    arrived = _moves(did, client)
    return {"moves": did["moves"], "arrived": len(arrived), **_lateness(did["stamps"], arrived)}


def report(asked: str | None, player: Report | None, client: Report | None) -> Report | None:
    """The entry of a run's record, times in ms; None if the run had no such traffic."""
    if asked is None or not player or not client:
        return None
    found: Report = {"asked": asked}
    did = player.get("channels") or {}
    if "sound" in did:
        audio = client.get("audio") or {}
        found["sound"] = {"raw": did["sound"]["raw"], "played": did["sound"]["packets"], "arrived": audio.get("packets"),
                          **_lateness(did["sound"]["stamps"], audio.get("stamps") or [], not did["sound"]["raw"])}
    if "inputs" in did:
        echoes = (client.get("inputs") or {}).get("echoes_ms") or []
        found["echo"] = {"count": len(echoes), **latency.quantiles(echoes)}
        found["inputs"] = did["inputs"]
    if "pointer" in did:
        found["pointer"] = _pointer_report(did["pointer"], client)
    if "port" in did:
        found["port"] = did["port"]
    return found


@dataclass(frozen=True)
class Heard:
    """Of sound packets without numbers, as a live guest sends them: a model of a player that fills a buffer first, and is silent while
    it is empty."""
    seconds: float          # of the sound that arrived
    gaps: int               # times that the buffer ran empty; the player then fills it again
    silence: float          # seconds, total length of the gaps
    late: list[float]       # per packet: seconds later than the fastest one since the last gap


def heard(arrivals: Sequence[int], period: float, buffer: float = BUFFER_MS / 1e3) -> Heard:
    """Plays packets that arrived at these times (ns, rising), each with `period` seconds of sound."""
    gaps, silence, late = 0, 0.0, []
    began = due = fastest = 0.0     # of what is played without a gap: when its first packet came, and when the next one is needed
    for number, when in enumerate(at / 1e9 for at in arrivals):
        if not number or when > due:
            if number:
                gaps += 1
                silence += when + buffer - due
            began, due, fastest = when, when + buffer, 0.0
        behind = when - began       # its lateness, if the first packet since the gap was on time
        fastest = min(fastest, behind)
        late.append(behind - fastest)
        began += period
        due += period
    return Heard(len(arrivals) * period, gaps, silence, late)
