#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ends clients at random moments of a replay and looks whether the server lives on.

lasting-server draws a recording; clients come one after the other, take a random part of what it sends and go in one
of several ways (rude_client.Plan). When all is drawn, or a client was to stay, the server is told to end, with the
client still there or not, and has to do so in order. Then the next server starts. A server that ends otherwise, ends
early, hangs, turns a client away, or that AddressSanitizer reports is a failure; its output is kept. A --seed gives
the same plans again.

With --asan, --library is the directory of a library built with -Db_sanitize=address."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from bench.lab import certs, lab  # noqa: E402
from clients.errors import Failed  # noqa: E402
from clients.target import PLAIN, TLS, Target  # noqa: E402
from rude_client import Going, Plan, RudeClient                       # noqa: E402

_PATIENCE = 60
_DYING = 10                         # seconds a server that turned a client away may take to end
_REPORT = "=" * 65                  # the first line of one of AddressSanitizer
_CACHES = (1 << 16, 20 << 20, 20 << 20)
_GREATEST_UNREAD = 0.3
_WITHOUT_GREETING = 0.05            # part of the clients
_STAYING = 0.05


@dataclass(frozen=True)
class Setting:
    """What all servers have in common."""
    server: Path
    recording: Path
    environment: dict[str, str]
    certificates: certs.Certificates | None


def sanitizer(folder: Path) -> dict[str, str]:
    """The environment in which a program that knows nothing of it runs a library built with AddressSanitizer."""
    hook = folder / "list-hook.so"
    compiler = shutil.which("c++") or "c++"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-g", "-fsanitize=address", "-o", hook,
                    _HERE / "list-hook.cpp"], check=True)
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    return {"LD_PRELOAD": f"{runtime.stdout.strip()}:{hook}", "ASAN_OPTIONS": "detect_leaks=0"}


def plans(chance: random.Random, count: int, messages: int) -> Iterator[Plan]:
    """More clients go early than late."""
    ways = [going for going in Going if going is not Going.STAY]
    for _ in range(count):
        going = Going.STAY if chance.random() < _STAYING else chance.choice(ways)
        yield Plan(messages=int(messages * chance.random() ** 2), going=going,
                   unread=chance.choice((0.0, _GREATEST_UNREAD * chance.random())),
                   cache_pixels=chance.choice(_CACHES) if chance.random() > _WITHOUT_GREETING else 0)


class Server:
    """One life of the server."""

    def __init__(self, setting: Setting, log: Path) -> None:
        port = lab.free_port()
        certificates = setting.certificates
        where = ["--port", str(port)]
        if certificates:
            where = ["--tls-port", str(port), "--tls-cert", str(certificates.certificate),
                     "--tls-key", str(certificates.key), "--tls-ca", str(certificates.ca)]
        self.log = log
        self._complaints = log.open("w")
        self._process = subprocess.Popen([setting.server, *where, setting.recording], env=setting.environment,
                                         stdout=subprocess.PIPE, stderr=self._complaints, text=True)
        assert self._process.stdout
        self._process.stdout.readline()
        self._end = threading.Thread(target=self._process.stdout.read)     # of what it draws, or of the process
        self._end.start()
        self._client = RudeClient(Target(TLS, port, ca=certificates.ca) if certificates else Target(PLAIN, port))
        self._staying = False
        self._turned_away = ""

    def visit(self, plan: Plan) -> bool:
        """False when there is no point in another visit."""
        try:
            taken = self._client.visit(plan)
        except (Failed, OSError) as error:
            self._turned_away = str(error)
            return False            # close() finds out why
        self._staying = plan.going is Going.STAY
        return not self._staying and not (plan.cache_pixels and taken < plan.messages)

    def _ended(self) -> bool:
        """By itself. One that turned a client away may be about to."""
        try:
            self._process.wait(_DYING if self._turned_away else 0)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> str:
        """Empty if the server behaved, otherwise what was wrong."""
        early = self._ended()
        if not early:
            self._process.terminate()
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return "hangs"
        finally:
            if self._staying:
                self._client.leave()
            self._end.join()
            self._complaints.close()
        # a report may be cut short, and the status be another, when one thread ends the process
        if _REPORT in self.log.read_text(errors="replace"):
            return "reported by AddressSanitizer"
        if early or status:
            return f"status {status}"
        if self._turned_away:
            return f"turns a client away: {self._turned_away}"
        self.log.unlink()
        return ""


def stress(setting: Setting, todo: Iterator[Plan], logs: Path) -> tuple[int, Counter[str]]:
    """The number of servers, and what was wrong how often."""
    wrong: Counter[str] = Counter()
    servers = 0
    plan = next(todo, None)
    while plan:
        servers += 1
        server = Server(setting, logs / f"server-{servers}.log")
        last = plan
        while plan and server.visit(plan):
            last, plan = plan, next(todo, None)
        last, plan = plan or last, next(todo, None)
        verdict = server.close()
        if verdict:
            wrong[verdict] += 1
            print(f"server {servers}: {verdict} after {last}, see {server.log}", flush=True)
    return servers, wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--server", type=Path, required=True, help="lasting-server")
    parser.add_argument("--library", type=Path, help="directory of the libspice-server.so.1 to be tried")
    parser.add_argument("--count", type=int, default=20, help="of clients")
    parser.add_argument("--messages", type=int, default=6000, help="of the display channel a client takes at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--asan", action="store_true")
    options = parser.parse_args(arguments)

    logs = Path(tempfile.mkdtemp(prefix="disconnect-logs-"))
    with tempfile.TemporaryDirectory(prefix="disconnect-") as name:
        environment = dict(os.environ)
        if options.library:
            environment["LD_LIBRARY_PATH"] = str(options.library)
        if options.asan:
            environment |= sanitizer(Path(name))
        setting = Setting(options.server, options.recording, environment,
                          certs.make(Path(name), "127.0.0.1") if options.tls else None)
        servers, wrong = stress(setting, plans(random.Random(options.seed), options.count, options.messages), logs)
    if not wrong:
        logs.rmdir()
    print(f"{options.count} clients of {servers} servers, {wrong.total()} servers failed"
          f"{''.join(f'; {count} x {what}' for what, count in wrong.items())}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
