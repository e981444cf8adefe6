# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages that only ./run clients and its neighbours need. ./run live installs them, the others name them."""

from __future__ import annotations

import os
import shutil
import subprocess

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

_LIST = paths.ROOT / "packages-clients.txt"
OTHERS = "# other clients"
# Of packages.txt, which is not looked for before ./run installed. QEMU is not among them: Proxmox VE's package has another name.
_OF_RUN = ("ethtool", "iproute2", "openssl", "python3-numpy", "tcpdump", "util-linux")
_INSTALL = ("apt-get", "install", "--no-install-recommends")


def wanted(few: bool = False) -> list[str]:
    """`few`: only what is needed for a guest and a client without a window, but all of that."""
    text = _LIST.read_text()
    lines = (line.split("#")[0].strip() for line in (text.split(OTHERS)[0] if few else text).splitlines())
    return [*(_OF_RUN if few else ()), *(line for line in lines if line)]


def missing(few: bool = False) -> list[str]:
    told = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *wanted(few)], capture_output=True, text=True,
                          check=False).stdout
    installed = {line.split()[1] for line in told.splitlines() if line.startswith("installed ")}
    return [package for package in wanted(few) if package not in installed]


def require(few: bool = False) -> None:
    """Raises BenchError, one line that names them, if some are missing."""
    if not shutil.which("dpkg-query"):
        raise BenchError("this is not Debian, whose packages the client tests need: see packages-clients.txt")
    if lacking := missing(few):
        raise BenchError(f"packages are missing; as root: {' '.join((*_INSTALL, *lacking))}")


def install(steps: Steps) -> None:
    """For ./run live: as root, installs those that are missing, unless RUN_NO_PACKAGES is set."""
    if os.geteuid() == 0 and not os.environ.get("RUN_NO_PACKAGES") and shutil.which("dpkg-query") and (lacking := missing()):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        steps.run("updating the lists of packages", ["apt-get", "-q", "update"], quiet=True, env=environment)
        steps.run(f"installing {len(lacking)} packages", [*_INSTALL, "-q", "-y", *lacking], env=environment)
    require()
