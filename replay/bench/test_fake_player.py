# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fake spice-player: sends 300 messages of 1000 bytes. FAKE_PLAYER selects a way to misbehave."""

import argparse
import json
import os
import socket
import ssl
import sys
import time

MESSAGES = 300
SIZE = 1000


def say(**event):
    print(json.dumps(event), flush=True)


def options():
    parser = argparse.ArgumentParser()
    for name in ("--address", "--pace", "--tls-cert", "--tls-key", "--tls-ca", "--compression",
                 "--jpeg", "--streaming", "--channels"):
        parser.add_argument(name)
    for name in ("--port", "--tls-port", "--probe-every"):
        parser.add_argument(name, type=int)
    parser.add_argument("--pause-at")
    parser.add_argument("--show-surfaces", action="store_true")
    parser.add_argument("file")
    return parser.parse_args()


def other_channels(fault, began):
    return {"sound": {"packets": 3, "raw": True, "rate": 48000, "stamps": [[number, began] for number in range(3)]},
            "inputs": {"keys": 2, "motions": 0 if fault == "motions" else 9},
            "pointer": {"moves": 2, "top": -20000, "stamps": [[number, began] for number in range(2)]},
            **({} if fault == "no-port" else {"port": {"name": "x", "bytes": 1000, "sha256": "cc"}})}


def check():
    """As of a recording that this player plays."""
    if "seventh" in sys.argv[2]:
        sys.exit(f"spice-player: {sys.argv[2]}: byte 7: it has no seventh byte")
    if sys.argv[2] == "-":
        sys.stdin.buffer.read()
    print(json.dumps({"valid": True, "commands": MESSAGES, "seconds": 1.0}))


def main():
    if sys.argv[1:2] == ["--check"]:
        return check()
    fault = os.environ.get("FAKE_PLAYER", "")
    args = options()
    if fault == "port":
        print("spice-player: port in use", file=sys.stderr)
        return 1
    listener = socket.create_server((args.address, args.tls_port or args.port))
    say(event="listening")
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if args.tls_port:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.tls_cert, args.tls_key)
        connection = context.wrap_socket(connection, server_side=True)
    pauses = [int(number) for number in (args.pause_at or "").split(",") if number]
    began, probes = time.monotonic_ns(), []
    if fault != "timeless":
        say(event="begun")
    for number in range(MESSAGES):
        if fault == "die" and number == 10:
            os._exit(5)
        if fault == "slow":
            time.sleep(0.1)
        if args.probe_every and number % 10 == 0:
            probes.append([number // 10, *[time.monotonic_ns()] * 2])
        if number in pauses:
            connection.sendall(b"P" * SIZE)
            say(event="pause", n=pauses.index(number), command=number)
            sys.stdin.readline()
        else:
            connection.sendall(b"x" * SIZE)
    connection.sendall(b"E" * SIZE)
    try:
        connection.recv(1)
    except OSError:
        pass
    ended = time.monotonic_ns()
    library = os.path.join(os.environ["LD_LIBRARY_PATH"], "libspice-server.so.1")
    streams = None
    if "SPICE_STREAM" in os.environ:
        streams = [{"type": 2, "id": 0, "mode": os.environ["SPICE_STREAM"].split(",")[0], "messages": MESSAGES + 1,
                    "message_bytes": (MESSAGES + 1) * SIZE}]
    say(event="done", commands=MESSAGES - (fault == "short"), expected_commands=MESSAGES, seconds=(ended - began) / 1e9,
        cpu_user=0.4, cpu_system=0.07, cpu_feeder_user=0.3, cpu_feeder_system=0.02,
        library="/elsewhere.so" if fault == "library" else library,
        started_ns=began, begun_ns=began, fed_ns=ended, probes=probes, streams=streams,
        channels=other_channels(fault, began) if args.channels else None)
    return 4 if fault == "status" else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BrokenPipeError, ConnectionResetError):
        print("spice-player: client gone", file=sys.stderr)
        sys.exit(3)
