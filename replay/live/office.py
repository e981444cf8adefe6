# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m live.office NAME FILE: records a person at a desktop who does not hurry: linux-office on virtio-vga,
kms-page and kms-office on qxl with kernel modesetting. It made the recordings of these names. As root."""

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
from guest.errors import Failed
from guest.qemu import Qemu
from live import guests, viewers, ways
from live.scenarios import SCENARIOS
from live.user import User
from live.viewers import WHEEL_DOWN, Viewer

_MENU = (22, 30)        # of Mousepad: File


@dataclass(frozen=True)
class Recorded(ways.Way):
    file: str = ""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "SPICE_WORKER_RECORD_FILENAME": self.file}


class _Person:
    """Does things one after another, each when the picture of the last one is shown, and pauses."""

    def __init__(self, user: User, qemu: Qemu) -> None:
        self._user, self._qemu = user, qemu

    def front(self, name: str) -> None:
        SCENARIOS[name].ready(self._user, self._qemu)
        time.sleep(2)

    def act(self, action: Callable[[Viewer], None], pause: float) -> None:
        self._user.act(lambda: action(self._user.viewer))
        time.sleep(pause)

    def scroll(self, steps: int, pause: float) -> None:
        for _ in range(steps):
            self.act(lambda viewer: viewer.wheel(WHEEL_DOWN), 0.4)
        time.sleep(pause)

    def tap(self, key: str, pause: float) -> None:
        self.act(lambda viewer: viewer.tap(key), pause)

    def write(self, line: str, pause: float) -> None:
        for letter in line:
            self.tap("space" if letter == " " else letter, 0.1)
        self.tap("enter", pause)

    def menus(self, pause: float) -> None:
        """Opens a menu of the editor, looks at it and at those beside it, and closes the last one."""
        self.act(lambda viewer: viewer.click(*_MENU), pause)
        for _ in range(2):
            self.tap("right", pause)
        self.tap("escape", pause)


def _virtio_office(person: _Person) -> None:
    person.front("web")
    for _ in range(3):      # a part of the page is read
        person.scroll(3, 5)
    person.front("editor")
    for line in ("the page says so", "see there"):
        person.write(line, 3)
    person.front("terminal")
    for _ in range(12):
        person.tap("down", 0.3)
    time.sleep(4)
    for _ in range(2):
        person.tap("page-down", 3)


def _page(person: _Person) -> None:
    person.front("web")
    for _ in range(5):
        person.scroll(3, 5)


def _office(person: _Person) -> None:
    person.front("editor")
    person.write("the page says so", 4)
    person.menus(2)
    person.write("see there", 4)
    person.menus(2)


SESSIONS: dict[str, tuple[str, Callable[[_Person], None]]] = {      # name -> guest, what is done
    "linux-office": ("desktop-virtio", _virtio_office),
    "kms-page": ("desktop-qxl", _page),
    "kms-office": ("desktop-qxl", _office),
}


def record(name: str, file: Path) -> None:
    of, work = SESSIONS[name]
    guest = guests.prepare(of, Steps(paths.cache_dir() / "live" / "log"))
    stock = ways.find("stock")
    way = Recorded(stock.name, stock.library, file=str(file))
    with tempfile.TemporaryDirectory(prefix="spice-office-") as place, labs.connect(links.find("lan")) as lab:
        folder = Path(place)
        with guest.start(way, lab, folder) as qemu:
            qemu.booted()
            height, width = qemu.screen().shape[:2]
            with viewers.drain(lab, folder, width, height) as viewer:
                work(_Person(User(qemu, viewer), qemu))
            with contextlib.suppress(Failed):       # it goes before it answers; what was recorded is written out then
                qemu.qmp("quit")
            while qemu.running():
                time.sleep(0.1)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SESSIONS:
        sys.exit(f"python3 -m live.office NAME FILE, with NAME one of {', '.join(SESSIONS)}")
    record(sys.argv[1], Path(sys.argv[2]).resolve())
