# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traffic of spice-player on the channels beside the display: whether it arrived unchanged, and its lateness."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from bench.measure import latency

ALL = "all"
# as spice-player names them, and what its report calls each
_REPORTED = {"sound": "sound", "sound-raw": "sound", "record": "record", "inputs": "inputs", "pointer": "pointer",
             "agent": "agent", "port": "port"}
_IN_ALL = tuple(name for name, reported in _REPORTED.items() if name == reported)
# what is transferred: default and unit of the size
_SIZES = {"agent": (256, 1 << 10), "port": (4, 1 << 20)}
# Later than this a player of sound has nothing left to play: its buffer is as long, about.
BUFFER_MS = 100.0
# Of numbered packets that come, so many may be missing before one could be taken for another.
LEFT_OUT_MAX = 0.2
_ANOTHER_CLOCK = 10**18     # added to its times, in ns, to be later than any of ours

Report = dict[str, Any]


def _words(asked: str) -> list[tuple[str, str]]:
    """Name and size, "" where none is given."""
    words = _IN_ALL if asked == ALL else asked.split(",")
    return [(name, size) for name, _, size in (word.partition(":") for word in words)]


def known(asked: str) -> bool:
    """Whether this is a list of channels; spice-player says what is wrong with one that makes no sense."""
    return all(name in _REPORTED and re.fullmatch(r"\d*", size) for name, size in _words(asked))


def transferred_bytes(asked: str) -> int:
    """From the server, by what has an end."""
    return sum(int(size or _SIZES[name][0]) * _SIZES[name][1] for name, size in _words(asked) if name in _SIZES)


def _sound(did: Report, client: Report) -> str | None:
    arrived = (client.get("audio") or {}).get("packets") or 0
    if not arrived:
        return "no sound arrived"
    return f"{arrived} packets of sound arrived, {did['packets']} were played" if arrived > did["packets"] else None


def _record(did: Report, _client: Report) -> str | None:
    return None if did["frames"] and did["peak"] else "the server heard nothing from the client's microphone"


def _inputs(did: Report, client: Report) -> str | None:
    if not did["motions"]:
        return "no motion of the mouse arrived"
    return None if (client.get("inputs") or {}).get("echoes_ms") else "no key was answered"


def _moves(did: Report, client: Report) -> list[latency.Stamp]:
    """Of the made-up pointer that the client has seen: it is far above the display, where no recording moves it."""
    return [(x, when) for x, y, when in client.get("cursor_move_times") or () if y == did["top"]]


def _pointer(did: Report, client: Report) -> str | None:
    arrived = len(_moves(did, client))
    if not arrived:
        return "no move of the pointer arrived"
    return f"{arrived} moves of the pointer arrived, {did['moves']} were made" if arrived > did["moves"] else None


def _agent(did: Report, client: Report) -> str | None:
    clipboard = client.get("clipboard") or {}
    for ours, theirs, way in (("sent", "received", "to"), ("received", "sent", "from")):
        if not did[f"{ours}_sha256"] or did[f"{ours}_sha256"] != clipboard.get(f"{theirs}_sha256"):
            return f"the clipboard {way} the client did not arrive as it was sent"
    return None


def _port(did: Report, client: Report) -> str | None:
    arrived = (client.get("ports") or {}).get("port-0") or {}
    if arrived.get("bytes") != did["bytes"]:
        return f"{arrived.get('bytes') or 0} of {did['bytes']} bytes arrived through the port"
    return None if arrived.get("sha256") == did["sha256"] else "what arrived through the port is not what was sent"


_CHECKS: dict[str, Callable[[Report, Report], str | None]] = {
    "sound": _sound, "record": _record, "inputs": _inputs, "pointer": _pointer, "agent": _agent, "port": _port}


def wrong(asked: str, player: Report, client: Report) -> str | None:
    """What arrived and should not, or the other way round, in one line; both are the programs' last JSON lines."""
    did = player.get("channels") or {}
    for name in dict.fromkeys(_REPORTED[name] for name, _ in _words(asked)):
        reason = _CHECKS[name](did[name], client) if name in did else f"the player has no channel for {name}"
        if reason:
            return reason
    return None


def _lateness(sent: Sequence[latency.Stamp], received: Sequence[latency.Stamp], counted_to_eight: bool = False,
              one_clock: bool = True) -> Report:
    """From the moment a packet of sound is played at the server until it can be heard, or the pointer is moved until it moves.
    Compressed packets are counted to eight only, by their loudness: where many were left out, nothing is known. With two
    clocks the fastest packet is assumed to be on time."""
    stamps = received if one_clock else [(number, when + _ANOTHER_CLOCK) for number, when in received]
    packets = latency.match([(number, when, when) for number, when in sent], stamps) if sent else None
    if packets is None or (counted_to_eight and len(packets) - len(received) > LEFT_OUT_MAX * len(packets)):
        return {"dropped": None, "gaps": None, **latency.quantiles([])}
    late = [(packet.received - packet.sent) / 1e6 for packet in packets if packet.received is not None]
    fastest = min(late, default=0.0)
    gaps = sum(value - fastest > BUFFER_MS for value in late)
    if not one_clock:
        late = [value - fastest for value in late]
    return {"dropped": len(packets) - len(late), "gaps": gaps, **latency.quantiles(late)}


def _pointer_report(did: Report, client: Report, one_clock: bool) -> Report:
    """How late moves are is not known with two clocks: none says by how much the fastest is."""
    arrived = _moves(did, client)
    late = _lateness(did["stamps"], arrived) if one_clock else latency.quantiles([])
    return {"moves": did["moves"], "arrived": len(arrived), **late}


def report(asked: str | None, player: Report | None, client: Report | None, one_clock: bool) -> Report | None:
    """For a run's record; None when there was no such traffic. All times in ms."""
    if asked is None or not player or not client:
        return None
    found: Report = {"asked": asked}
    did = player.get("channels") or {}
    if "sound" in did:
        audio = client.get("audio") or {}
        found["sound"] = {"raw": did["sound"]["raw"], "played": did["sound"]["packets"], "arrived": audio.get("packets"),
                          **_lateness(did["sound"]["stamps"], audio.get("stamps") or [], not did["sound"]["raw"], one_clock)}
    if "inputs" in did:
        echoes = (client.get("inputs") or {}).get("echoes_ms") or []
        found["echo"] = {"count": len(echoes), **latency.quantiles(echoes)}
        found["inputs"] = did["inputs"]
    if "pointer" in did:
        found["pointer"] = _pointer_report(did["pointer"], client, one_clock)
    found.update({name: did[name] for name in ("record", "agent", "port") if name in did})
    return found
