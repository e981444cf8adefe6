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
from clients import machine, target
from clients.drivers.gtk import SpiceGtk
from clients.installed import version
from clients.machine import Machine
from clients.world import World
from guest import qemu
from guest.errors import Failed


@contextmanager
def seen() -> Iterator[dict[str, str]]:
    """PID of its QEMU, and STATS, the folder of SPICE_STREAM_STATS; the guest draws while a client watches. Failed if the client does
    not show QEMU's screen, or if QEMU has another library than the package's."""
    version()
    steps = Steps(paths.cache_dir() / "clients" / "log")
    made = machine.hardware(steps)
    env = dict(os.environ)
    state = qemu.state(made, steps, env=env)
    with tempfile.TemporaryDirectory(prefix="ci-guest-", ignore_cleanup_errors=True) as name:
        (stats := Path(name, "stats")).mkdir()
        with Machine(made, {**env, "SPICE_STREAM_STATS": str(stats)}, Path(name, "machine"), state) as host, \
                World(host, SpiceGtk, target.TLS, Path(name), 2.0) as world:
            host.booted()
            client = world.client()
            host.order("draw")
            world.must_flow(client, 3)
            world.must_show(client, world.card())
            _is_the_packages(host.pid)
            host.order("draw")
            yield {"PID": str(host.pid), "STATS": str(stats)}
            world.check_machine()


def _is_the_packages(pid: int) -> None:
    mapped = set(re.findall(r"/\S*libspice-server\S*.*", Path(f"/proc/{pid}/maps").read_text()))
    known = subprocess.run(["dpkg-query", "-L", "libspice-server1"], capture_output=True, text=True, check=False).stdout.split()
    if len(mapped) != 1 or not {os.path.realpath(path) for path in mapped} & {os.path.realpath(path) for path in known}:
        raise Failed(f"QEMU does not have the package's library, but {', '.join(sorted(mapped)) or 'none'}")
