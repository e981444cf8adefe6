# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m live.office FILE: records 90 seconds of an office desktop on virtio-vga: a page is scrolled, lines are
typed, a text is paged through, with pauses. It made recordings/linux-office.rec.xz. As root."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from bench.lab import lab as labs
from bench.lab import links
from clients.errors import Failed
from live import guests, viewers, ways
from live.qemu import Listener, Qemu
from live.scenarios import SCENARIOS
from live.user import User
from live.viewers import WHEEL_DOWN

_GUEST = "desktop-virtio"


@dataclass(frozen=True)
class Recorded(ways.Way):
    file: str = ""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "SPICE_WORKER_RECORD_FILENAME": self.file}


def _work(user: User, qemu: Qemu) -> None:
    def several(count: int, pause: float, action: Callable[[int], None]) -> None:
        for at in range(count):
            user.act(lambda at=at: action(at))     # type: ignore[misc]
            time.sleep(pause)

    def front(name: str) -> None:
        SCENARIOS[name].ready(user, qemu)
        time.sleep(2)

    front("web")
    for _ in range(3):      # a part of the page is read
        several(3, 0.4, lambda at: user.viewer.wheel(WHEEL_DOWN))
        time.sleep(5)
    front("editor")
    for line in ("the page says so", "see there"):
        several(len(line), 0.1, lambda at, line=line: user.viewer.tap("space" if line[at] == " " else line[at]))    # type: ignore[misc]
        user.act(lambda: user.viewer.tap("enter"))
        time.sleep(3)
    front("terminal")
    several(12, 0.3, lambda at: user.viewer.tap("down"))
    time.sleep(4)
    several(2, 3.0, lambda at: user.viewer.tap("page-down"))


def record(file: Path) -> None:
    guest = guests.prepare(_GUEST, Steps(paths.cache_dir() / "live" / "log"))
    stock = ways.find("stock")
    way = Recorded(stock.name, stock.library, file=str(file))
    with tempfile.TemporaryDirectory(prefix="spice-office-") as name, labs.connect(links.find("lan")) as lab:
        folder = Path(name)
        with Qemu(guest.hardware, way, Listener(lab.server, lab.listens_at, lab.ports), folder, guest.state) as qemu:
            qemu.booted()
            height, width = qemu.screen().shape[:2]
            with viewers.drain(lab, folder, width, height) as viewer:
                _work(User(qemu, viewer), qemu)
            with contextlib.suppress(Failed):       # it goes before it answers; what was recorded is written out then
                qemu.qmp("quit")
            while qemu.running():
                time.sleep(0.1)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
