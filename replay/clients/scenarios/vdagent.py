# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-vdagent: the clipboard both ways, and files dropped on the client. The agent runs on the host, with an X server; the guest carries
the bytes."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from clients.drivers.base import Driver
from clients.scenarios.clipboard import _text
from clients.world import World
from clients.xserver import XServer
from guest.errors import Failed, NotRun
from guest.qemu import AGENT_PORT

_SMALL, _LARGE = 5_000, 5_000_000
_PATIENCE = 60.0


def require() -> None:
    for program, package in (("spice-vdagentd", "spice-vdagent"), ("Xvfb", "xvfb"), ("xclip", "xclip")):
        if not shutil.which(program):
            raise NotRun(f"the Debian package {package} is not installed")


@contextlib.contextmanager
def agent(port: Path, folder: Path) -> Iterator[dict[str, str]]:
    """The agent's daemon and its session program; the environment of its X server. Files arrive in `folder`/dropped."""
    talk, children = str(folder / "session"), []
    (folder / "dropped").mkdir()
    screen = XServer(folder)

    def start(*argv: str) -> None:
        with (folder / f"{argv[0]}.log").open("wb") as log:
            children.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                             env=screen.environment))

    try:
        start("spice-vdagentd", "-x", "-X", "-f", "-u", "/dev/null", "-s", str(port), "-S", talk)
        for _ in range(100):
            if Path(talk).exists():
                break
            time.sleep(0.1)
        start("spice-vdagent", "-x", "-s", str(port), "-S", talk, "-o", "0", "-f", str(folder / "dropped"))
        yield screen.environment
    finally:
        for child in reversed(children):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        screen.close()


def drop(client: Driver, folder: Path, size: int) -> float:
    """Drops a file of that size on the client; seconds until the agent's folder has it."""
    sent, there = folder / f"{size}-bytes", folder / "dropped" / f"{size}-bytes"
    sent.write_bytes(random.Random(size).randbytes(size))
    began = time.monotonic()
    client.send_file(sent)
    while not there.exists() or there.read_bytes() != sent.read_bytes():
        if time.monotonic() > began + _PATIENCE:
            raise Failed(f"the guest got {there.stat().st_size if there.exists() else 0} bytes of {size}, or others")
        time.sleep(0.02)
    return time.monotonic() - began


def _clipboard(environment: dict[str, str], wanted: str) -> None:
    deadline, held = time.monotonic() + _PATIENCE, ""
    while held != wanted:
        if time.monotonic() > deadline:
            raise Failed(f"the guest got {len(held)} letters of {len(wanted)}, or others")
        done = subprocess.run(["xclip", "-selection", "clipboard", "-out"], env=environment, capture_output=True, check=False, timeout=_PATIENCE)
        held = done.stdout.decode(errors="replace")
        time.sleep(0.05)


def run(world: World) -> str:
    require()
    client = world.client()
    world.machine.order("draw")
    home = world.folder / f"agent-{time.monotonic_ns()}"
    home.mkdir()
    with agent(world.machine.relay(AGENT_PORT), home) as environment:
        for size in (_SMALL, _LARGE):
            world.figures[f"seconds for {size} bytes"] = round(drop(client, home, size), 2)
        client.copy(_text(1))
        _clipboard(environment, _text(1))
        (home / "offered").write_text(_text(2))
        subprocess.run(["xclip", "-selection", "clipboard", "-in", str(home / "offered")], env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, timeout=_PATIENCE)
        if (got := client.paste()) != _text(2):
            raise Failed(f"the client got {len(got)} letters of {len(_text(2))}, or others")
    return f"files of {_SMALL} and {_LARGE} bytes, {len(_text(1))} letters each way"
