# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a scenario gets: a booted machine and drivers for its clients."""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy

from clients.drivers.base import Driver
from clients.machine import Machine
from guest import picture
from guest.errors import Failed
from guest.picture import Pixels

_SHOWN = 40  # seconds until the picture must be right
_CONNECTED = 60
_STEP = 0.5
FROZEN = 10         # seconds without a message that even a busy machine does not explain


@dataclass
class World:
    machine: Machine
    kind: type[Driver]
    transport: str
    folder: Path
    seconds: float  # seconds to watch the messages
    rest: float = 0.0  # seconds to stay idle
    figures: dict[str, float] = field(default_factory=dict)
    _clients: list[Driver] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(*([Failed] if failed else [])):
            self.nobody()

    def client(self) -> Driver:
        """A new client, connected and with its picture shown."""
        folder = Path(tempfile.mkdtemp(prefix="client-", dir=self.folder))
        made = self.kind(self.machine.target(self.transport), folder)
        self._clients.append(made)
        made.start()
        deadline = time.monotonic() + _CONNECTED
        while not self.display_open():
            made.must_run()
            if time.monotonic() > deadline:
                raise Failed(f"{made.name} opens no display in {_CONNECTED} s: {made.complaint()}")
            time.sleep(0.2)
        return made

    def display_open(self) -> bool:
        """All of the guest's."""
        return sum(channel.get("channel-type") == 2 for channel in self.machine.clients()) >= self.machine.displays

    def nobody(self) -> None:
        """Ends every client, and waits until QEMU has noticed."""
        for each in self._clients:
            with contextlib.suppress(Failed):
                each.stop()
        self._clients = []
        deadline = time.monotonic() + _CONNECTED
        while self.machine.running() and self.machine.clients():
            if time.monotonic() > deadline:
                raise Failed("QEMU keeps channels of clients that are gone")
            time.sleep(0.2)

    def check_machine(self) -> None:
        if not self.machine.running():
            raise Failed(self.machine.ended())

    def card(self) -> Pixels:
        """Makes the guest stop drawing, and returns its screen."""
        self.machine.order("card")
        return self.at_rest()

    def at_rest(self, display: int = 0) -> Pixels:
        """The guest's screen, when it has stopped drawing."""
        before = self.machine.screen(display)
        for _ in range(100):
            time.sleep(0.3)
            now = self.machine.screen(display)
            if numpy.array_equal(now, before) and not picture.blank(now):
                return now
            before = now
        raise Failed("the guest's screen does not come to rest")

    def lines(self) -> int:
        """The number of lines that the guest has drawn; one more may be on its way."""
        for _ in range(20):
            if (told := self.machine.order("lines", "lines")).isdecimal():
                return int(told)
            time.sleep(0.1)
        raise Failed("the guest does not draw")

    def last_shows(self, seconds: float = 3) -> None:
        """After others, one more client gets what the guest draws, and shows the right picture if it can."""
        client = self.client()
        self.must_flow(client, seconds)
        if client.shows_pictures:
            self.must_show(client, self.card())

    def must_show(self, client: Driver, wanted: Pixels, display: int = 0) -> None:
        """Waits until the client shows this picture, pixel by pixel."""
        deadline = time.monotonic() + _SHOWN
        while True:
            client.must_run()
            shown = client.picture(display)
            if picture.shows(shown, wanted):
                return
            if time.monotonic() > deadline:
                picture.save(shown, self.folder.parent / "shown.ppm")
                picture.save(wanted, self.folder.parent / "wanted.ppm")
                raise Failed(f"another picture than the guest's: {picture.differing(shown, wanted)}")
            time.sleep(0.5)

    def must_flow(self, client: Driver, seconds: float) -> None:
        """For so many seconds, while the guest draws, messages must arrive without long gaps."""
        ends = time.monotonic() + seconds
        before, since, steps = self._received(client), time.monotonic(), 0
        while time.monotonic() < ends or not steps:
            time.sleep(_STEP)
            self.check_machine()
            client.must_run()
            now = self._received(client)
            if now != before:       # the count starts again after a reconnect
                before, since, steps = now, time.monotonic(), steps + 1
            elif time.monotonic() - since > FROZEN:
                raise Failed(f"it froze: nothing came for {FROZEN} s while the guest draws")

    def _received(self, client: Driver) -> int:
        counted = client.messages()
        return self.machine.sent() if counted is None else counted
