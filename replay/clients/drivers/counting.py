# SPDX-License-Identifier: LGPL-2.1-or-later
"""Test clients that count acks as PureSpice, ryll or spice-gtk do. They read everything and decode nothing.

  python3 -m clients.drivers.counting TLS-PORT CA-FILE      one as spice-gtk; connects when it reads a line, and ends with its input

For ./run live sessions: a process of its own, so that its CPU time counts separately."""

from __future__ import annotations

import contextlib
import struct
import sys
import threading
import time
from pathlib import Path

from clients import target, wire
from clients.drivers.base import BETWEEN, RELEASED, SCAN_CODES, Driver
from guest.errors import Failed

_KEY_DOWN, _KEY_UP = 101, 102
_PORT_INIT, _SPICEVMC_DATA = 201, 101
_PLAYBACK_DATA = 101
_POLL = 0.2


class Counter(Driver):
    """Channels of one session, each read by a thread of its own."""

    style = ""
    shows_pictures = False
    transports = frozenset(target.TRANSPORTS) - {target.SASL, target.SQUID}

    @classmethod
    def version(cls) -> str:
        return "test client of this tree"

    def start(self) -> None:
        self._ended = threading.Event()
        self._reading = threading.Event()
        self._reading.set()
        self._heard = 0
        self._came: dict[wire.Channel, bytearray] = {}
        self._names: dict[str, wire.Channel] = {}
        self._open: dict[int, wire.Channel] = {}
        self._threads: list[threading.Thread] = []
        main = wire.Channel(self.target, wire.MAIN, counting=wire.STYLES[self.style]())
        self._session = int(struct.unpack_from("<I", main.wait(wire.MAIN_INIT))[0])
        main.send(wire.ATTACH_CHANNELS)
        listed = main.wait(wire.MAIN_CHANNELS)
        self._listed = [tuple(listed[4 + 2 * at : 6 + 2 * at]) for at in range(struct.unpack_from("<I", listed)[0])]
        self._read(main)
        display = self._channel(wire.DISPLAY)
        display.send(wire.DISPLAY_INIT, struct.pack("<BqBi", 1, 1 << 22, 1, 1 << 23))
        self._read(display)
        for kind in (wire.INPUTS, wire.CURSOR, wire.PLAYBACK):
            if (kind, 0) in self._listed:
                self._read(self._channel(kind))
        for kind, number in self._listed:
            if kind == wire.PORT:
                self._read(self._channel(kind, number))

    def _channel(self, kind: int, number: int = 0) -> wire.Channel:
        return wire.Channel(self.target, kind, self._session, number, wire.STYLES[self.style]())

    def _read(self, channel: wire.Channel) -> None:
        self._open.setdefault(channel.kind, channel)
        self._came[channel] = bytearray()
        thread = threading.Thread(target=self._take, args=(channel,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, channel: wire.Channel) -> None:
        while not self._ended.is_set() and not channel.closed:
            self._reading.wait()
            with contextlib.suppress(OSError, ValueError):
                message = channel.next(_POLL)
                if message:
                    self._use(channel, *message)

    def _use(self, channel: wire.Channel, kind: int, body: bytes) -> None:
        if channel.kind == wire.PLAYBACK and kind == _PLAYBACK_DATA:
            self._heard += len(body) - 4
        elif channel.kind == wire.PORT and kind == _PORT_INIT:
            size, start = struct.unpack_from("<II", body)
            self._names[body[start : start + size].rstrip(b"\0").decode()] = channel
        elif channel.kind == wire.PORT and kind == _SPICEVMC_DATA:
            self._came[channel] += body

    def type(self, text: str) -> None:
        for letter in text:
            for kind, code in ((_KEY_DOWN, SCAN_CODES[letter]), (_KEY_UP, SCAN_CODES[letter] | RELEASED)):
                self._open[wire.INPUTS].send(kind, struct.pack("<I", code))
                time.sleep(BETWEEN)

    def messages(self) -> int:
        return self._open[wire.DISPLAY].messages

    def hears(self) -> int:
        return self._heard

    def through_port(self, data: bytes, name: str) -> bytes:
        deadline = time.monotonic() + 20
        while name not in self._names:
            if time.monotonic() > deadline:
                raise Failed(f"no port {name}")
            time.sleep(_POLL)
        channel = self._names[name]
        before = len(self._came[channel])
        for at in range(0, len(data), 4096):
            channel.send(_SPICEVMC_DATA, data[at : at + 4096])
        deadline = time.monotonic() + 60
        while len(self._came[channel]) < before + len(data) and time.monotonic() < deadline:
            time.sleep(_POLL)
        return bytes(self._came[channel][before:])

    def running(self) -> bool:
        return not self._ended.is_set() and not any(channel.closed for channel in self._came)

    def complaint(self) -> str:
        return f"the server closed {sum(channel.closed for channel in self._came)} of its channels"

    def freeze(self) -> None:
        self._reading.clear()

    def thaw(self) -> None:
        self._reading.set()

    def vanish(self) -> None:
        if hasattr(self, "_ended"):
            self._ended.set()
            self._reading.set()
            for thread in self._threads:
                thread.join(5)
            for channel in self._came:
                channel.close()

    def stop(self) -> None:
        self.vanish()


class PureSpiceLike(Counter):
    name = "acks as PureSpice"
    style = "PureSpice"


class RyllLike(Counter):
    name = "acks as ryll"
    style = "ryll"


class GtkLike(Counter):
    name = "acks as spice-gtk"
    style = "spice-gtk"


def main() -> None:
    print('{"event":"ready"}', flush=True)
    sys.stdin.readline()
    client = GtkLike(target.Target(target.TLS, int(sys.argv[1]), ca=Path(sys.argv[2])), Path())
    client.start()
    print('{"event":"connected"}', flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
