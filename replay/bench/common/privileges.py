# SPDX-License-Identifier: LGPL-2.1-or-later
"""The right to make network namespaces and to capture packets: as root, or in a user namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from bench.common import proc
from bench.common.errors import BenchError

_INSIDE = "SPICE_BENCH_IN_USER_NAMESPACE"


def unshare() -> list[str]:
    """Keeps the user's id, with capabilities in the new namespaces. As id 0 tcpdump would try, and fail, to change its user."""
    return [proc.require("unshare", "util-linux"), "--user", "--map-current-user", "--keep-caps", "--net", "--"]


def inside() -> bool:
    """Whether this is the program started again by acquire()."""
    return _INSIDE in os.environ


def acquire(arguments: Sequence[str]) -> None:
    """Returns when namespaces can be made. Without root the program is started again, with the same arguments, in a user
    namespace; where that is not allowed, a one-line error says so."""
    if os.geteuid() == 0 or inside():
        return
    probe = subprocess.run([*unshare(), "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        reason = probe.stderr.strip().split("\n")[-1] or f"status {probe.returncode}"
        raise BenchError("measuring needs root or unprivileged user namespaces, and this machine allows neither here "
                         f"({reason})")
    sys.stdout.flush()
    command = [*unshare(), sys.executable, "-m", "bench", *arguments]
    os.execve(command[0], command, {**os.environ, _INSIDE: "1"})
