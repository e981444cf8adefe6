# SPDX-License-Identifier: LGPL-2.1-or-later
"""For the tests of spice-drain: certificates, a server that ends with the test, and the picture that it draws."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.lab import certs

# For a build with AddressSanitizer. lsan.supp needs complete stacks.
SANITIZER = {"ASAN_OPTIONS": "fast_unwind_on_malloc=0",
             "LSAN_OPTIONS": f"print_suppressions=0:suppressions={Path(__file__).with_name('lsan.supp')}"}
# Its warning about the client library's coroutines.
COROUTINE_WARNINGS = ("ASan doesn't fully support makecontext", "ASan is ignoring requested __asan_handle_no_return",
                      "False positive error reports may follow", "For details see https://github.com/google/sanitizers")

WIDTH, HEIGHT = 320, 240
PIXEL_BYTES = 4


@dataclass
class Outcome:
    """Output and exit status of a spice-drain."""
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
        self.process = subprocess.Popen([paths.client(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **SANITIZER, "LC_ALL": "C", **environment})

    def wait_for(self, *names: str) -> None:
        """The first event of each kind, in any order. Events before, and those read together with the last, are missing in
        end()."""
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
    """drain-test-server."""
    process: subprocess.Popen[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=10)


@contextlib.contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[Server]:
    process = subprocess.Popen([paths.tool("drain", "drain-test-server"), *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env={**os.environ, **SANITIZER, **environment})
    assert process.stdout is not None
    server = Server(process)
    try:
        assert process.stdout.readline() == "listening\n"
        yield server
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@dataclass(frozen=True)
class Certificates:
    """A CA, its server certificate for 127.0.0.1 only, and a CA that signed nothing."""
    folder: Path
    made: certs.Certificates
    other_ca: str

    @property
    def ca(self) -> str:
        return str(self.made.ca)

    @property
    def server_options(self) -> list[str]:
        return ["--tls-cert", str(self.made.certificate), "--tls-key", str(self.made.key), "--tls-ca", self.ca]

    def openssl_conf(self, version: str) -> str:
        """A file for OPENSSL_CONF that allows only this version of TLS ("1.2", "1.3")."""
        path = self.folder / f"tls{version}.cnf"
        path.write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = limits\n"
                        f"[limits]\nMinProtocol = TLSv{version}\nMaxProtocol = TLSv{version}\n")
        return str(path)


def make_certificates(folder: Path) -> Certificates:
    for name in "ours", "others":
        (folder / name).mkdir()
    others = certs.make(folder / "others", "127.0.0.1")
    return Certificates(folder, certs.make(folder / "ours", "127.0.0.1"), str(others.ca))


def picture(fills: int = 20, display: int = 0) -> bytes:
    """The picture of a display of drain-test-server, in memory order, as spice-drain hashes it."""
    pixels = bytearray(WIDTH * HEIGHT * PIXEL_BYTES)
    for i in range(fills):
        left, top = i * 37 % (WIDTH - 40), i * 23 % (HEIGHT - 30)
        row = (0x01020304 * (i + 1 + display) & 0xffffff).to_bytes(PIXEL_BYTES, "little") * 40
        for y in range(top, top + 30):
            at = (y * WIDTH + left) * PIXEL_BYTES
            pixels[at:at + len(row)] = row
    return bytes(pixels)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
