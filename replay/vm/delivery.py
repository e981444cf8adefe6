# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run in the machine by vm.figures: when a payload was delivered, as each of three tells its sender. A line of JSON for
each reader: medians in milliseconds."""

from __future__ import annotations

import json
import socket
import statistics
import struct
import subprocess
import threading
import time

_SIZE = 10_000
_COUNT = 11
_DELAY = 50                                      # milliseconds, each way
_SO_TIMESTAMPING = 37
_FLAGS = 1 << 4 | 1 << 7 | 1 << 9 | 1 << 11      # SOFTWARE, OPT_ID, TX_ACK, OPT_TSONLY
_MSG_ERRQUEUE = 0x2000
_BYTES_ACKED = 120                               # in struct tcp_info


def _answer(peer: socket.socket, late: float) -> None:
    while True:
        peer.recv(1, socket.MSG_PEEK)
        time.sleep(late)
        got = 0
        while got < _SIZE:
            data = peer.recv(_SIZE - got)
            if not data:
                return
            got += len(data)
        peer.send(b"p")


def _acked(stream: socket.socket) -> int:
    info = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED + 8)
    return int(struct.unpack_from("=Q", info, _BYTES_ACKED)[0])


def _stamp(stream: socket.socket) -> float | None:
    try:
        _, parts, _, _ = stream.recvmsg(0, 256, _MSG_ERRQUEUE | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    seconds, nanoseconds = next(struct.unpack_from("=qq", data) for level, kind, data in parts
                                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPING))
    return float(seconds + nanoseconds / 1e9)


def _one(stream: socket.socket) -> dict[str, float]:
    before = _acked(stream)
    start = time.time()
    stream.sendall(bytes(_SIZE))
    seen: dict[str, float] = {}
    while len(seen) < 3:
        time.sleep(0.001)
        now = time.time()
        if "acked" not in seen and _acked(stream) - before >= _SIZE:
            seen["acked"] = now - start
        stamp = _stamp(stream)
        if stamp is not None:
            seen["stamp"] = stamp - start
        try:
            if stream.recv(1, socket.MSG_DONTWAIT):
                seen["pong"] = now - start
        except BlockingIOError:
            pass
        if now - start > 10:
            raise SystemExit(f"not told within 10 s: only {seen}")
    return seen


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500", "up"], check=True)
    subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", f"{_DELAY}ms"], check=True)
    for late in (0.0, 0.2):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            stream = socket.create_connection(listening.getsockname())
            peer = listening.accept()[0]
        threading.Thread(target=_answer, args=(peer, late), daemon=True).start()
        stream.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _FLAGS)
        runs = [_one(stream) for _ in range(_COUNT)][1:]
        stream.close()
        print("delivery", json.dumps({"round_trip": 2 * _DELAY, "late": round(late * 1000)} | {
            name: round(statistics.median(run[name] for run in runs) * 1000) for name in ("stamp", "acked", "pong")}),
              flush=True)


if __name__ == "__main__":
    main()
