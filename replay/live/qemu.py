# SPDX-License-Identifier: LGPL-2.1-or-later
"""A QEMU in a network namespace, with SPICE or its own VNC server."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from bench.common import proc
from bench.lab import certs
from clients import picture
from clients.errors import Failed
from clients.guest import TCG, once
from clients.lines import Lines
from clients.machine import QEMU, qemu_version
from live.tiles import Pixels
from live.ways import Way

_BOOT, _ANSWER = 900, 60    # timeout in seconds, for a busy machine
_TICKS = os.sysconf("SC_CLK_TCK")
_SECOND = "second"
_VCPU, _WORKERS = "CPU ", ("SPICE Worker", "vnc_worker")


@dataclass(frozen=True)
class Hardware:
    """A guest that has not booted: what it boots, and on which devices."""

    kernel: Path
    initrd: Path
    words: str                      # on the kernel's command line
    display: str                    # QEMU's device
    memory: int = 256               # MB
    disk: Path | None = None        # read-only
    sound: bool = False             # a sound card; can be heard with SPICE
    second: str = ""                # a display beside the first: QEMU's device
    accel: str = TCG

    def arguments(self) -> list[str]:
        argv = ["-machine", "pc", "-accel", self.accel, "-m", str(self.memory), "-nodefaults", "-no-user-config", "-display", "none",
                "-nic", "none", "-name", "live,debug-threads=on", "-device", self.display, "-device", "virtio-tablet-pci",
                "-serial", "chardev:serial", "-kernel", str(self.kernel), "-initrd", str(self.initrd),
                "-append", f"quiet loglevel=0 mitigations=off {self.words}"]
        if self.second:
            argv += ["-device", f"{self.second},id={_SECOND}"]
        if self.sound:
            argv += ["-device", "intel-hda", "-device", "hda-output,audiodev=sound,mixer=off"]
        if self.disk:
            argv += ["-drive", f"file={self.disk},if=none,id=disk,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=disk"]
        return argv

    @property
    def needs_spice(self) -> bool:
        """Whether it needs SPICE, as QXL does."""
        return self.display.startswith("qxl")


@dataclass(frozen=True)
class Listener:
    """Where clients connect. Without an address, nowhere."""

    netns: Path | None = None
    address: str = ""
    ports: tuple[int, int] = (0, 0)     # ports without and with TLS; VNC has only the first
    path: Path | None = None            # SPICE listens on this Unix socket instead
    known_as: str = ""                  # address for clients, if a relay has another one


class Qemu:
    """Boots in the constructor, or goes on from a state; close() ends it. `folder` is its own."""

    def __init__(self, hardware: Hardware, way: Way, at: Listener, folder: Path, incoming: str | None = None) -> None:
        self.log = folder / "qemu.log"
        self._folder, self._incoming = folder, incoming is not None
        self._serial: Lines | None = None
        heard = "spice" if at.address and way.spice else "none"
        argv = [QEMU, *(["-audiodev", f"{heard},id=sound"] if hardware.sound else []), *hardware.arguments(),
                *self._shown(hardware, way, at), "-qmp", f"unix:{folder / 'qmp'},server=on,wait=off",
                "-chardev", f"socket,id=serial,path={folder / 'serial'},server=on,wait=off"]
        with self.log.open("wb") as log:
            self._qemu = subprocess.Popen(proc.inside(at.netns, [*argv, *(["-incoming", incoming] if incoming else [])]),
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=way.environment())
        try:
            self._qmp = Lines(folder / "qmp")
            self._qmp.wait("{", _ANSWER)
            self.qmp("qmp_capabilities")
        except Failed:
            reason = self._complaint()
            self.close()
            raise Failed(f"QEMU does not start: {reason}") from None

    def _shown(self, hardware: Hardware, way: Way, at: Listener) -> list[str]:
        hidden = ["-spice", f"unix=on,addr={self._folder / 'spice'},disable-ticketing=on"]
        if not at.address:
            return hidden if hardware.needs_spice else []
        if not way.spice:
            vnc = ["-object", "tls-creds-anon,id=tls,endpoint=server", "-vnc",
                   f"{at.address}:{at.ports[0] - 5900}{'' if way.page else ',tls-creds=tls'}"]
            return [*vnc, *(hidden if hardware.needs_spice else [])]
        if at.path:
            return ["-spice", f"unix=on,addr={at.path},disable-ticketing=on"]
        made = certs.kept(at.known_as or at.address)
        video = f"streaming-video={way.video}," if way.video else ""
        return ["-spice", f"{video}addr={at.address},port={at.ports[0]},tls-port={at.ports[1]},disable-ticketing=on,"
                f"x509-key-file={made.key},x509-cert-file={made.certificate},x509-cacert-file={made.ca}"]

    def booted(self) -> None:
        """Waits until the guest has booted."""
        if self._serial:
            return
        self._serial = Lines(self._folder / "serial")
        if not self._incoming:
            self._serial.wait("ready", _BOOT)
            return
        deadline = time.monotonic() + _BOOT
        while self.qmp("query-status")["status"] != "running":
            if time.monotonic() > deadline:
                raise Failed(f"the guest does not go on: {self._complaint()}")
            time.sleep(0.1)
        for _ in range(10):     # part of a line may have been lost
            with contextlib.suppress(Failed):
                self._serial.say("hello")
                self._serial.wait("done hello", 6)
                return
        raise Failed("the guest does not answer")

    def save(self, file: Path) -> None:
        """Saves the guest's state, for another QEMU."""
        self.qmp("migrate", uri=f"exec:cat >{file}")
        deadline = time.monotonic() + _BOOT
        while (status := self.qmp("query-migrate").get("status", "setup")) in ("setup", "active", "device"):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if status != "completed":
            raise Failed(f"the guest could not be saved: {status}")

    def order(self, command: str, answer: str = "", seconds: float = _ANSWER) -> str:
        """Makes the guest do something, and waits until it is done; returns the rest of the line that starts with `answer`."""
        self.booted()
        assert self._serial
        self._serial.say(command)
        said = self._serial.wait(answer, seconds) if answer else ""
        self._serial.wait(f"done {command}", seconds)
        return said

    def qmp(self, command: str, **arguments: Any) -> Any:
        answer = self._qmp.ask({"execute": command, "arguments": arguments, "id": command}, "id", _ANSWER)
        if "error" in answer:
            raise Failed(f"QEMU: {command}: {answer['error'].get('desc')}")
        return answer["return"]

    def screen(self, second: bool = False) -> Pixels:
        """The guest's frame buffer, or that of its second display."""
        file = self._folder / "screen.ppm"
        self.qmp("screendump", filename=str(file), **({"device": _SECOND} if second else {}))
        shown = picture.from_ppm(file.read_bytes())
        return numpy.frombuffer(shown.rgb, numpy.uint8).reshape(shown.height, shown.width, 3)

    def running(self) -> bool:
        return self._qemu.poll() is None

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far: of the guest's processor, of the threads that encode and send, of the rest of QEMU. VNC
        sends in QEMU's main thread, which is part of the rest."""
        used = {"guest": 0.0, "worker": 0.0, "rest": 0.0}
        for task in Path(f"/proc/{self._qemu.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
                ticks = fields.split()
                kind = "guest" if name.startswith(_VCPU) else "worker" if name.startswith(_WORKERS) else "rest"
                used[kind] += (int(ticks[11]) + int(ticks[12])) / _TICKS
        return used

    def _complaint(self) -> str:
        told = self.log.read_text(errors="replace").strip().splitlines()
        return told[-1] if told else "no reason told"

    def close(self) -> None:
        for each in (self._serial, getattr(self, "_qmp", None)):
            if each:
                each.close()
        if self.running():
            self._qemu.kill()       # the guest is a copy: nothing must be written back
        self._qemu.wait()

    def __enter__(self) -> Qemu:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def state(hardware: Hardware, way: Way, home: Path, orders: Sequence[str]) -> str:
    """A saved state of a guest that has booted and executed the orders; made once. For Qemu(incoming=)."""
    said = repr((qemu_version(), hardware.arguments(), list(orders)))
    name = hashlib.sha256(said.encode()).hexdigest()[:12]

    def make(folder: Path) -> None:
        with Qemu(hardware, way, Listener(), folder.parent) as qemu:
            qemu.booted()
            for each in orders:
                qemu.order(each, seconds=_BOOT)
            qemu.save(folder / "state")

    home.mkdir(parents=True, exist_ok=True)
    return f"exec:cat {once(home / f'state-{name}', make) / 'state'}"
