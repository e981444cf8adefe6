# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client on another machine, over ssh. The program is copied into a temporary folder there, nothing is installed;
a missing library is reported. SPICE_BENCH_SSH names another ssh command."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.common.errors import BenchError

_NEEDS = "libspice-client-glib-2.0-8 libpng16-16"
_LIMIT = 60


class Remote:
    """`address` is the other machine's; `our_address` is ours, as that machine sees it."""

    def __init__(self, host: str, program: Path) -> None:
        self.host = host
        self._ssh = shlex.split(os.environ.get("SPICE_BENCH_SSH", "ssh -o BatchMode=yes -o ConnectTimeout=10"))
        self._folder = self._call("mktemp -d /tmp/spice-bench-client.XXXXXX").strip()
        try:
            self.program = self.put(program)
            seen = self._call("echo $SSH_CONNECTION").split()
            if len(seen) != 4:
                raise BenchError(f"{host}: no SSH_CONNECTION there, so no addresses are known")
            self.our_address, self.address = seen[0], seen[2]
            self._check()
        except BaseException:
            self.close()
            raise

    def _call(self, command: str, content: bytes = b"") -> str:
        try:
            done = subprocess.run([*self._ssh, self.host, command], input=content, capture_output=True, timeout=_LIMIT,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"{self.host}: {error}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().split("\n")[-1]
            raise BenchError(f"{self.host}: {said or f'status {done.returncode}'}")
        return done.stdout.decode(errors="replace")

    def _check(self) -> None:
        try:
            self._call(f"{shlex.quote(self.program)} --help")
        except BenchError as error:
            raise BenchError(f"{error} (the client needs there: {_NEEDS})") from None

    def put(self, file: Path) -> str:
        """Copies a file there, makes it executable, and returns its path."""
        target = f"{self._folder}/{file.name}"
        self._call(f"cat > {shlex.quote(target)} && chmod 700 {shlex.quote(target)}", file.read_bytes())
        return target

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs argv there. It ends with the ssh session."""
        return [*self._ssh, self.host, f"HOME={self._folder} exec {shlex.join(argv)}"]

    def close(self) -> None:
        with contextlib.suppress(BenchError):
            self._call(f"rm -rf {shlex.quote(self._folder)}")

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
