# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest with the installed library, and a client that shows its screen, for the commands of the documents about a running guest."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from clients import guest, machine, target
from clients.drivers.gtk import SpiceGtk
from clients.errors import Failed
from clients.installed import version
from clients.machine import INSTALLED, Library, Machine
from clients.world import World


@contextmanager
def seen() -> Iterator[dict[str, str]]:
    """PID of its QEMU, and STATS, the folder of SPICE_STREAM_STATS; the guest draws while a client watches. Failed if the client does
    not show QEMU's screen, or if QEMU has another library than the package's."""
    made = guest.prepare(Steps(paths.cache_dir() / "clients" / "log"))
    library = Library(None, INSTALLED, version())
    booted = machine.booted(made, library)
    with tempfile.TemporaryDirectory(prefix="ci-guest-", ignore_cleanup_errors=True) as name:
        stats = Path(name, "stats")
        for folder in (stats, home := Path(name, "machine")):
            folder.mkdir()
        os.environ["SPICE_STREAM_STATS"] = str(stats)
        try:
            qemu = Machine(made, library, home, incoming=booted)
        finally:
            del os.environ["SPICE_STREAM_STATS"]
        with qemu:
            qemu.booted()
            world = World(qemu, SpiceGtk, target.TLS, Path(name), 2.0)
            client = world.client()
            qemu.guest("draw")
            world.must_flow(client, 3)
            world.must_show(client, world.card())
            _is_the_packages(qemu.pid)
            qemu.guest("draw")
            yield {"PID": str(qemu.pid), "STATS": str(stats)}
            world.check_machine()
            world.nobody()


def _is_the_packages(pid: int) -> None:
    mapped = set(re.findall(r"/\S*libspice-server\S*.*", Path(f"/proc/{pid}/maps").read_text()))
    known = subprocess.run(["dpkg-query", "-L", "libspice-server1"], capture_output=True, text=True, check=False).stdout.split()
    if len(mapped) != 1 or not {os.path.realpath(path) for path in mapped} & {os.path.realpath(path) for path in known}:
        raise Failed(f"QEMU does not have the package's library, but {', '.join(sorted(mapped)) or 'none'}")
