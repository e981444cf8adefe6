# SPDX-License-Identifier: LGPL-2.1-or-later
"""The entry of a run in the result file. An unknown figure is null, never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.lab import lab
from bench.measure import channels, latency, pcap, validity
from bench.runs.runspec import RunSpec



def _seconds(report: dict[str, Any] | None, name: str) -> float | None:
    value = (report or {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def _wall(spec: RunSpec, run: validity.Evidence) -> float | None:
    """From the first command until the client has the last picture, less what pause points cost: the client's wait and an idle
    round trip; at the user's pace, the time that the bench needs to pass an answer on."""
    started, ended = (run.player or {}).get("started_ns"), (run.client or {}).get("end_ns")
    if not isinstance(started, int) or not isinstance(ended, int):
        return None
    if spec.is_user:
        bursts = (run.player or {}).get("bursts") or []
        return round((ended - started - latency.waited(bursts, run.shown or [])) / 1e9, 6) if len(bursts) == len(run.shown or []) else None
    return round((ended - started) / 1e9 - len(run.pauses) * (spec.settle_ms / 1e3 + spec.link.delay), 6)


def _cpu(report: dict[str, Any] | None) -> dict[str, float | None]:
    """CPU time of the program; of a player, without reading the recording."""
    def used(kind: str) -> float | None:
        total, feeder = _seconds(report, f"cpu_{kind}"), _seconds(report, f"cpu_feeder_{kind}")
        return total if total is None or feeder is None else round(total - feeder, 6)
    return {"user": used("user"), "system": used("system")}


def _reading(report: dict[str, Any] | None) -> dict[str, float | None]:
    """CPU time in which a player read the recording."""
    return {kind: _seconds(report, f"cpu_feeder_{kind}") for kind in ("user", "system")}


def _counts(direction: pcap.Direction | None) -> dict[str, int | None]:
    names = ("packets", "data_packets", "tcp_payload_bytes", "wire_bytes", "retransmissions", "tls_records")
    return {name: getattr(direction, name) if direction else None for name in names}


def _messages(player: dict[str, Any] | None) -> int | None:
    """Messages as counted by the output buffer; only batch and flow have them."""
    streams = (player or {}).get("streams")
    if not streams or any(not isinstance(stream.get("messages"), int) for stream in streams):
        return None
    return sum(int(stream["messages"]) for stream in streams)


def _download(run: validity.Evidence) -> dict[str, float] | None:
    """Bits per second of the download that shared the link, and of this server, while the recording played."""
    started, ended = (run.player or {}).get("started_ns"), (run.client or {}).get("end_ns")
    if run.download is None or run.wire is None or not isinstance(started, int) or not isinstance(ended, int):
        return None
    rate = run.download.rate(started / 1e9, ended / 1e9)
    if rate is None:
        return None
    mine = run.wire.server.tcp_payload_bytes * 8e9 / (ended - started)
    return {"bits_a_second": round(rate), "server_bits_a_second": round(mine), "share": round(mine / (mine + rate), 4)}


def _latency(spec: RunSpec, run: validity.Evidence) -> dict[str, Any] | None:
    if not spec.probe_every:
        return None
    return latency.report((run.player or {}).get("probes"), (run.client or {}).get("probes"))


def _latency_missing(spec: RunSpec, run: validity.Evidence) -> str | None:
    """Why no latency is known although probes were sent; None if it is known, or none were sent."""
    if not spec.probe_every or _latency(spec, run) is not None:
        return None
    if not (run.player or {}).get("probes"):
        return "the player placed no probe"
    if (run.client or {}).get("probes") is None:
        return "the client reported no probes"
    return latency.UNMATCHED


def _response(spec: RunSpec, run: validity.Evidence) -> dict[str, Any] | None:
    return latency.response((run.player or {}).get("bursts"), run.shown) if run.shown is not None else None


def make(spec: RunSpec, run: validity.Evidence, reason: str | None, kept: Path | None) -> dict[str, Any]:
    client = run.client or {}
    wire = run.wire
    return {
        "recording": spec.recording.name, "library": spec.library.name, "mode": spec.mode,
        "transport": spec.transport, "link": spec.link.name, "pace": spec.pace, "repeat": spec.repeat,
        "congestion": run.congestion, "emulator": run.emulator,
        "link_tests": run.link_tests, "link_seed": spec.link_seed if run.emulator == lab.SPICE_LINK else None,
        "captured": run.captured, "valid": reason is None, "invalid_reason": reason,
        "messages": _messages(run.player), "message_bytes": client.get("total_bytes"),
        "server": _counts(wire.server if wire else None), "client": _counts(wire.client if wire else None),
        "cpu_seconds": _cpu(run.player), "client_cpu_seconds": _cpu(run.client),
        "reader_cpu_seconds": _reading(run.player),
        "wall_seconds": _wall(spec, run), "stolen": run.stolen,
        "latency": _latency(spec, run), "latency_missing": _latency_missing(spec, run), "seen": run.seen, "response": _response(spec, run),
        "picture_sha256": client.get("sha256"), "picture_blocks": client.get("blocks"), "picture_tiles": client.get("tiles"),
        "pauses": run.pauses, "lossy": None, "low_bandwidth": (run.player or {}).get("low_bandwidth"),
        "channel_bytes": client.get("bytes"),
        "channels": channels.report(spec.channels, run.player, run.client),
        "streams": (run.player or {}).get("streams"),
        "download": _download(run),
        "link_books": run.counters,
        "pcap": str(kept) if kept else None,
    }
