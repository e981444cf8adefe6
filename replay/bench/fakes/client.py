# SPDX-License-Identifier: LGPL-2.1-or-later
"""Talks like spice-drain and reads until the first byte of a message says it is the last. FAKE_CLIENT names a way to
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
    for name in ("--host", "--ca", "--settle"):
        parser.add_argument(name)
    for name in ("--port", "--tls-port"):
        parser.add_argument(name, type=int)
    return parser.parse_args()


def main():
    fault = os.environ.get("FAKE_CLIENT", "")
    args = options()
    if fault == "refuse":
        print("spice-drain: no connection", file=sys.stderr)
        return 1
    began = time.monotonic_ns()
    connection = socket.create_connection((args.host, args.tls_port or args.port), timeout=10)
    if args.tls_port:
        connection = ssl.create_default_context(cafile=args.ca).wrap_socket(connection, server_hostname=args.host)
    print(json.dumps({"event": "connected"}), flush=True)
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
            print(json.dumps({"event": "pause", "n": pauses, "sha256": "cd" * 32}), flush=True)
            pauses += 1
    connection.close()
    picture = ("%02x" % (os.getpid() & 255) if fault == "picture" else "ab") * 32
    now = time.monotonic_ns()
    print(json.dumps({
        "event": "done", "end": "marker", "bytes": {"display-0": total}, "updates": total // SIZE, "width": 640,
        "total_bytes": total * (2 if fault == "bytes" else 1), "height": 480, "sha256": picture, "probes": probes,
        "cpu_user": 0.1, "cpu_system": 0.1, "seconds": (now - began) / 1e9, "first_update_ns": began,
        "end_ns": now}), flush=True)
    return 0


sys.exit(main())
