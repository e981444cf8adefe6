# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs the Debian packages that only these commands need."""

from __future__ import annotations

import os
import shutil
import subprocess

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

_LIST = paths.ROOT / "packages-clients.txt"
_OTHERS = "# other clients"


def wanted(few: bool = False) -> list[str]:
    """`few`: only what is needed for a guest and a client without a window."""
    text = _LIST.read_text()
    lines = (line.split("#")[0].strip() for line in (text.split(_OTHERS)[0] if few else text).splitlines())
    return [line for line in lines if line]


def missing(few: bool = False) -> list[str]:
    told = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *wanted(few)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    installed = {line.split()[1] for line in told.splitlines() if line.startswith("installed ")}
    return [package for package in wanted(few) if package not in installed]


def install(steps: Steps, few: bool = False) -> None:
    """Raises BenchError, one line, if something is missing and cannot be installed."""
    if not shutil.which("dpkg-query"):
        raise BenchError("this is not Debian, whose packages the client tests need: see packages-clients.txt")
    if not (lacking := missing(few)):
        return
    command = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *lacking]
    if os.geteuid() != 0:
        raise BenchError(f"packages are missing; run as root: {' '.join(command)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    steps.run("updating the lists of packages", ["apt-get", "-q", "update"], quiet=True, env=environment)
    steps.run(f"installing {len(lacking)} packages", command, env=environment)
