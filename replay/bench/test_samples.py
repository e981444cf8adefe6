# SPDX-License-Identifier: LGPL-2.1-or-later
"""Result documents for tests; no figure in them was measured."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from bench.runs import results


def run(mode: str, transport: str, repeat: int, recording: str = "tiny", link: str = "lan",
        pace: str = "max") -> dict[str, Any]:
    source = random.Random(f"{mode} {transport} {repeat} {recording} {link} {pace}")
    messages = 1_000_000 + source.randrange(1000)
    records = 0 if transport == "plain" else 4000
    payload = messages + 22 * records
    packets = payload // 1000 if mode == "stock" else payload // 1400
    latencies = [round(source.gammavariate(2, 3), 3) for _ in range(100)]
    return {
        "recording": recording, "library": "stock" if mode == "stock" else "patched", "mode": mode,
        "transport": transport, "link": link, "pace": pace, "repeat": repeat, "valid": True, "captured": True, "invalid_reason": None,
        "messages": None if mode == "stock" else 5000, "message_bytes": messages,
        "server": {"packets": packets + 5, "data_packets": packets, "tcp_payload_bytes": payload,
                   "wire_bytes": payload + 66 * packets, "retransmissions": 0, "tls_records": records},
        "client": {"packets": 400, "data_packets": 50, "tcp_payload_bytes": 3000, "wire_bytes": 30000,
                   "retransmissions": 0, "tls_records": 50 if records else 0},
        "cpu_seconds": {"user": 1.0, "system": 0.5}, "client_cpu_seconds": {"user": 1.0, "system": 0.5},
        "reader_cpu_seconds": {"user": 0.5, "system": 0.25},
        "wall_seconds": 2.0 + source.random() / 100,
        "latency": None if pace == "max" else {
            "sent": 100, "received": 100, "dropped": 0, "p50": sorted(latencies)[50], "p95": sorted(latencies)[95],
            "p99": sorted(latencies)[99], "max": max(latencies), "values": latencies},
        "seen": None if pace == "max" else {"age": {"mean": 1.0, "max": 9.0, "p50": 0.0, "p95": 6.0, "p99": 8.0}, "recovery": []},
        "picture_sha256": "ab", "pauses": [], "lossy": False, "low_bandwidth": None, "channel_bytes": {"main": 1000},
        "streams": None, "channels": None,
        "link_books": None, "pcap": None, "attempt": 1, "took_seconds": 3.0, "beside_runs": 0,
    }


def result(modes: Sequence[str], repeats: int, links: Sequence[str] = ("lan",), paces: Sequence[str] = ("max",),
           recordings: Sequence[str] = ("tiny",)) -> dict[str, Any]:
    environment = {
        "system": "a test", "kernel": "6.1", "cpu": {"model": "none", "count": 2}, "python": "3",
        "packages": {"libspice-client-glib-2.0-8": "0.42"}, "git": {"commit": "0" * 40, "dirty": False},
        "recordings": {name: "00" for name in recordings}, "libraries": {}}
    document = results.document(environment, ["./run", "compare"], {
        "cells": [], "repeats": repeats, "seed": 1, "tls": "1.3", "probe_every": None,
        "compression": None, "streaming": None})
    document["runs"] = [run(mode, transport, repeat, recording, link, pace)
                        for recording in recordings for link in links for pace in paces
                        for transport in ("plain", "tls") for mode in modes for repeat in range(1, repeats + 1)]
    document["complete"] = True
    return document
