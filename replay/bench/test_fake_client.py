# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fake spice-drain: reads until the first byte of a message marks the last one. FAKE_CLIENT selects a way to
misbehave."""

import argparse
import json
import os
import socket
import ssl
import sys
import time

SIZE = 1000


def options():
    parser = argparse.ArgumentParser()
    for name in ("--host", "--ca", "--settle", "--settle-end", "--screen", "--idle"):
        parser.add_argument(name)
    for name in ("--port", "--tls-port"):
        parser.add_argument(name, type=int)
    for name in ("--channels", "--screen-at-probes"):
        parser.add_argument(name, action="store_true")
    return parser.parse_args()


def other_channels(fault):
    """What FAKE_PLAYER's other channels send, or nearly."""
    now = time.monotonic_ns()
    heard = [] if fault == "sound" else [[0, now], [2, now]]
    moved = {"pointer": [], "pointer-more": [[0, -20000, now]] * 3}.get(fault, [[7, 7, now], [0, -20000, now]])
    return {"cursor_move_times": moved, "audio": {"packets": len(heard), "stamps": heard},
            "inputs": {"motions": 9, "keys": 2, "echoes_ms": [] if fault == "keys" else [1.5]},
            "ports": {"port-0": {"name": "x", "bytes": 999 if fault == "short" else 1000,
                                 "sha256": "00" if fault == "port" else "cc"}}}


def main():
    fault = os.environ.get("FAKE_CLIENT", "")
    args = options()
    if fault == "refuse":
        print("spice-drain: no connection", file=sys.stderr)
        return 1
    if args.screen:
        open(args.screen, "w").close()      # nothing is ever to be seen
    began = time.monotonic_ns()
    connection = socket.create_connection((args.host, args.tls_port or args.port), timeout=10)
    if args.tls_port:
        connection = ssl.create_default_context(cafile=args.ca).wrap_socket(connection, server_hostname=args.host)
    print(json.dumps({"event": "connected"}), flush=True)
    if "FAKE_CONNECTED" in os.environ:      # a file that tells a test
        open(os.environ["FAKE_CONNECTED"], "w").close()
    total, ended, pauses, probes = 0, False, 0, []
    while not ended:
        message = b""
        while len(message) < SIZE:
            piece = connection.recv(SIZE - len(message))
            if not piece:
                print("spice-drain: server gone", file=sys.stderr)
                return 3
            message += piece
        number = total // SIZE
        total += SIZE
        ended = message.startswith(b"E")
        if number % 10 == 0 and not ended:
            probes.append([number // 10, time.monotonic_ns()])
        if message.startswith(b"P"):
            print(json.dumps({"event": "pause", "n": pauses, "sha256": "cd" * 32, "blocks": "AAAA", "tiles": "AAAA"}), flush=True)
            pauses += 1
    connection.close()
    picture = ("%02x" % (os.getpid() & 255) if fault == "picture" else "ab") * 32
    now = time.monotonic_ns()
    print(json.dumps({
        "event": "done", "end": "marker", "bytes": {"display-0": total}, "updates": total // SIZE, "width": 640,
        "total_bytes": total * (2 if fault == "bytes" else 1), "height": 480, "sha256": picture, "probes": probes,
        "cpu_user": 0.1, "cpu_system": 0.1, "seconds": (now - began) / 1e9, "end_ns": now,
        **(other_channels(fault) if args.channels else {})}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
