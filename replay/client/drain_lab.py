# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of spice-drain need: the programs, certificates, a server that ends with the test, and the picture
that the server draws."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("SPICE_BENCH_BUILD", ROOT / "build")) / "replay" / "client"
DRAIN = BUILD / "spice-drain"
SERVER = BUILD / "drain-test-server"

# For a build with AddressSanitizer; nobody else reads them. Whole stacks are what lsan.supp needs.
SANITIZER = {"ASAN_OPTIONS": "fast_unwind_on_malloc=0",
             "LSAN_OPTIONS": f"print_suppressions=0:suppressions={Path(__file__).with_name('lsan.supp')}"}
# What it says of the client library's coroutines.
COROUTINE_WARNINGS = ("ASan doesn't fully support makecontext", "ASan is ignoring requested __asan_handle_no_return",
                      "False positive error reports may follow", "For details see https://github.com/google/sanitizers")

WIDTH, HEIGHT = 320, 240
PIXEL_BYTES = {"xrgb": 4, "argb": 4, "555": 2, "a8": 1}
UNUSED_BITS = {"xrgb": 0xff000000, "555": 0x8000}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Outcome:
    """What a spice-drain that has ended left."""
    status: int
    events: list[dict[str, Any]]
    complaint: str

    @property
    def done(self) -> dict[str, Any]:
        assert self.events and self.events[-1]["event"] == "done", (self.events, self.complaint)
        return self.events[-1]

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]


class Drain:
    """A running spice-drain."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen([DRAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **SANITIZER, "LC_ALL": "C", **environment})

    def wait_for(self, *names: str) -> None:
        """The first event of each of these, in any order. What came before, and in one read with the last, is lost to end()."""
        assert self.process.stdout is not None
        missing = set(names)
        while missing:
            line = self.process.stdout.readline()
            assert line, self.end().complaint
            missing.discard(json.loads(line)["event"])

    def end(self, limit: float = 60) -> Outcome:
        try:
            output, complaint = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        complaint = "".join(line for line in complaint.splitlines(keepends=True)
                            if not any(warning in line for warning in COROUTINE_WARNINGS))
        return Outcome(self.process.returncode, [json.loads(line) for line in output.splitlines()], complaint)


def drain(*arguments: str, **environment: str) -> Outcome:
    return Drain(*arguments, **environment).end()


@dataclass
class Server:
    """drain-test-server: what it was told at the end is in said."""
    process: subprocess.Popen[str]
    said: dict[str, Any] = field(default_factory=dict)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=10)
        if output:
            self.said = json.loads(output)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=10)


@contextlib.contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[Server]:
    process = subprocess.Popen([SERVER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env={**os.environ, **SANITIZER, **environment})
    assert process.stdout is not None
    server = Server(process)
    try:
        assert process.stdout.readline() == "listening\n"
        yield server
        if process.poll() is None:
            server.end()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@dataclass(frozen=True)
class Certificates:
    """A CA, a server certificate of its for 127.0.0.1 only, and a CA that nobody used."""
    folder: Path

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.pem")

    @property
    def other_ca(self) -> str:
        return str(self.folder / "other.pem")

    @property
    def server_options(self) -> list[str]:
        return ["--tls-cert", str(self.folder / "server.pem"), "--tls-key", str(self.folder / "server.key"),
                "--tls-ca", self.ca]

    def openssl_conf(self, version: str) -> str:
        """A file for OPENSSL_CONF that allows a process this version of TLS ("1.2", "1.3") and no other."""
        path = self.folder / f"tls{version}.cnf"
        path.write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = limits\n"
                        f"[limits]\nMinProtocol = TLSv{version}\nMaxProtocol = TLSv{version}\n")
        return str(path)


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder: Path) -> Certificates:
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ("ca", "other"):
        _openssl(folder, "req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2",
                 "-subj", f"/CN={name}")
    _openssl(folder, "req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    _openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
             "-days", "2", "-extfile", "san", "-out", "server.pem")
    return Certificates(folder)


def picture(fills: int = 20, display: int = 0, fmt: str = "xrgb") -> bytes:
    """What drain-test-server draws, in memory order, as spice-drain hashes it."""
    size = PIXEL_BYTES[fmt]
    mask = ((1 << 8 * size) - 1) & ~UNUSED_BITS.get(fmt, 0)
    pixels = bytearray(WIDTH * HEIGHT * size)
    for i in range(fills):
        left, top = i * 37 % (WIDTH - 40), i * 23 % (HEIGHT - 30)
        row = (0x01020304 * (i + 1 + display) & mask).to_bytes(size, "little") * 40
        for y in range(top, top + 30):
            at = (y * WIDTH + left) * size
            pixels[at:at + len(row)] = row
    return bytes(pixels)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Png:
    width: int
    height: int
    colour_type: int
    pixels: bytes       # 8 bits a channel, row by row


def _paeth(a: int, b: int, c: int) -> int:
    estimate = a + b - c
    return min((abs(estimate - a), 0, a), (abs(estimate - b), 1, b), (abs(estimate - c), 2, c))[2]


def _unfilter(kind: int, line: bytearray, above: bytes, size: int) -> None:
    for x in range(len(line)):
        left = line[x - size] if x >= size else 0
        corner = above[x - size] if x >= size else 0
        line[x] = (line[x] + (0, left, above[x], (left + above[x]) // 2, _paeth(left, above[x], corner))[kind]) & 0xff


def read_png(path: Path) -> Png:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, header = 8, b"", b""
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        header = body if name == b"IHDR" else header
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour_type = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    size = {0: 1, 2: 3, 6: 4}[colour_type]
    raw, pixels, above = zlib.decompress(packed), b"", bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        line = bytearray(raw[start + 1:start + 1 + width * size])
        _unfilter(raw[start], line, above, size)
        above = bytes(line)
        pixels += above
    return Png(width, height, colour_type, pixels)
