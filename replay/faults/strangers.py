#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does to a QEMU what somebody can who reaches its port and has no password, and says what came of it.

Three tries (FAULTS.md: AR, AT, AU), each on a QEMU of its own with a password, on loopback: to be let in by SASL's
ANONYMOUS over TLS; to keep the main thread with WebSocket frames without data; and to keep it by reading nothing. The
exit status is 1 if one of them succeeds, as all do with Debian 12's library (--library ''), and 2 if it is not known."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.common import paths, proc  # noqa: E402
from bench.common.errors import BenchError  # noqa: E402
from bench.lab import certs, lab  # noqa: E402

_HOST = "127.0.0.1"
_BEGIN = 20         # seconds QEMU may take to begin
_ANSWER = 5         # and its monitor to answer
_SASL = 2           # the capability, and the number of the mechanism
_UPGRADE = b"GET / HTTP/1.1\r\nSec-WebSocket-Key: x\r\n\r\n"
_PONG, _PING, _WRONG = b"\x8a\0", b"\x89\x7d" + bytes(125), b"\x82\x04none"
_FILLED = 30_000_000        # bytes of pings: their answers are more than any socket holds


class Guest:
    """A virtual machine that does nothing."""

    def __init__(self, library: str, folder: Path, certificates: certs.Certificates) -> None:
        for name, file in (("ca-cert", certificates.ca), ("server-cert", certificates.certificate), ("server-key", certificates.key)):
            (folder / f"{name}.pem").write_bytes(file.read_bytes())
        self.port, self.tls_port = lab.free_port(), lab.free_port()
        monitor = folder / "monitor"
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [proc.require("qemu-system-x86_64", "qemu-system-x86"), "-machine", "pc", "-accel", "tcg", "-m", "64", "-nodefaults",
             "-display", "none", "-vga", "qxl", "-S", "-qmp", f"unix:{monitor},server=on,wait=off",
             "-object", "secret,id=password,data=not-told", "-spice", f"port={self.port},tls-port={self.tls_port},addr={_HOST},"
             f"x509-dir={folder},password-secret=password"],
            env={**os.environ, "LD_LIBRARY_PATH": library}, stdout=self._log, stderr=subprocess.STDOUT)
        self._monitor = socket.socket(socket.AF_UNIX)
        try:
            self._begin(monitor)
        except BaseException:
            self.close()
            raise

    def _begin(self, monitor: Path) -> None:
        until = time.monotonic() + _BEGIN
        while self._monitor.connect_ex(str(monitor)):
            if self._process.poll() is not None or time.monotonic() > until:
                raise BenchError(f"QEMU does not begin: {self._said()}")
            time.sleep(0.05)
        self._answers = self._monitor.makefile("rb")
        self._ask("qmp_capabilities")

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read().strip()[-300:]

    def _ask(self, command: str) -> None:
        """Waits for the answer; a greeting or events come before it."""
        until = time.monotonic() + _ANSWER
        self._monitor.sendall(json.dumps({"execute": command}).encode() + b"\n")
        while True:
            self._monitor.settimeout(max(until - time.monotonic(), 0.01))
            line = self._answers.readline()
            if not line:
                raise BenchError(f"QEMU has ended: {self._said()}")
            if "return" in json.loads(line):
                return

    def stands_still(self) -> bool:
        try:
            self._ask("query-status")
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        self._monitor.close()
        self._process.kill()
        self._process.wait()
        self._log.close()


def _read(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        if not more:
            raise ConnectionError("the server has ended the connection")
        got += more
    return got


def is_let_in(guest: Guest) -> bool:
    """By a mechanism that the server has not offered."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    message = struct.pack("<IBBIIIII", 0, 1, 0, 1, 1, 18, 1 | 1 << _SASL | 1 << 3, 0)
    with context.wrap_socket(socket.create_connection((_HOST, guest.tls_port), timeout=_ANSWER)) as connection:
        connection.sendall(b"REDQ" + struct.pack("<III", 2, 2, len(message)) + message)
        _read(connection, struct.unpack("<12xI", _read(connection, 16))[0])
        connection.sendall(struct.pack("<I", _SASL))
        size = _read(connection, 4)
        if size == b"REDQ":
            return False
        if b",ANONYMOUS," not in _read(connection, struct.unpack("<I", size)[0]):
            raise BenchError("SASL has no ANONYMOUS here: install the package libsasl2-modules, remove /etc/sasl2/qemu.conf")
        connection.sendall(struct.pack("<I9sI2s", 9, b"ANONYMOUS", 2, b"x"))
        return _read(connection, 4 + 1 + 4 + 4)[-4:] == bytes(4)


@contextlib.contextmanager
def _websocket(guest: Guest, buffer: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as connection:
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(_ANSWER)
        connection.connect((_HOST, guest.port))
        connection.sendall(_UPGRADE)
        if not connection.recv(1 << 10).startswith(b"HTTP/1.1 101 "):
            raise BenchError("the server takes no WebSocket")
        yield connection


def held_by_frames(guest: Guest) -> bool:
    """As long as they come."""
    over = threading.Event()

    def send(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                connection.sendall(_PONG * (1 << 15))

    with _websocket(guest) as connection:
        sender = threading.Thread(target=send, args=(connection,))
        sender.start()
        time.sleep(1)
        held = guest.stands_still()
        over.set()
        connection.shutdown(socket.SHUT_RDWR)
        sender.join()
    return held


def held_by_silence(guest: Guest) -> bool:
    """The answers to pings fill the socket, and what comes next is to be answered, too."""
    with _websocket(guest, buffer=4096) as connection:
        with contextlib.suppress(OSError):
            for _ in range(_FILLED // len(_PING) // 100):
                connection.sendall(_PING * 100)
            connection.sendall(_WRONG)
        time.sleep(1)
        return guest.stands_still()


_TRIES = {"let in without the password (AR)": is_let_in, "stands still for frames without data (AT)": held_by_frames,
          "stands still for who does not read (AU)": held_by_silence}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=str(paths.patched_library()), metavar="DIR",
                        help="where its libspice-server.so.1 is; empty: the distribution's (default: the patched one)")
    library = parser.parse_args(arguments).library
    found = 0
    try:
        if library and not (Path(library) / paths.LIBRARY_FILE).is_file():
            raise BenchError(f"{library} has no {paths.LIBRARY_FILE}: give the directory of one, or '' for the distribution's")
        certificates = certs.kept(_HOST)
        for name, attempt in _TRIES.items():
            with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
                guest = Guest(library, Path(folder), certificates)
                with contextlib.closing(guest):
                    succeeds = attempt(guest)
            found += succeeds
            print(f"{name}: {'YES' if succeeds else 'no'}", flush=True)
    except (BenchError, OSError) as error:
        print(f"strangers: {error}", file=sys.stderr)
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
