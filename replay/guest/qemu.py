# SPDX-License-Identifier: LGPL-2.1-or-later
"""A QEMU in a network namespace, with SPICE or its own VNC server."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy

from bench.common import paths, proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.lab import certs
from bench.measure import usage
from guest import picture
from guest.errors import Failed, GuestLost
from guest.initrd import HOME, Made, once
from guest.lines import Lines
from guest.picture import Pixels

QEMU = os.environ.get("SPICE_CLIENTS_QEMU", "qemu-system-x86_64")
TCG, KVM = "tcg", "kvm"
ECHO_PORT = "org.spice-batch.echo"
AGENT_PORT, FILES_PORT = "com.redhat.spice.0", "org.spice-space.webdav.0"     # as SPICE names them
SPICE, VNC, VNC_TLS = "spice", "vnc", "vnc+tls"
_KVM, _CREATE_VM = Path("/dev/kvm"), 0xAE01     # the ioctl of linux/kvm.h
_BOOT, _ANSWER, _GREETING = 900, 60, 5          # timeouts in seconds, for a busy machine that emulates the guest's processor
_SECOND = "second"      # display of a guest with two
_VCPU, _WORKERS = "CPU ", ("SPICE Worker", "vnc_worker")
_UNWANTED = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")


def accelerator(name: str) -> str:
    """The value of --accel; raises BenchError, one line, for KVM where it does not work."""
    if name == KVM:
        try:
            with _KVM.open("r+b", buffering=0) as device:
                os.close(fcntl.ioctl(device, _CREATE_VM, 0))
        except OSError as error:
            raise BenchError(f"--accel kvm: {_KVM} does not work on this machine: {error.strerror}") from None
    return name


def configure(parser: argparse.ArgumentParser) -> None:
    """The option of all commands that start guests."""
    parser.add_argument("--accel", type=accelerator, choices=(TCG, KVM), default=TCG, metavar="NAME",
                        help="the guest's processor: tcg (emulated) or kvm (%(default)s)")


def qemu_version() -> str:
    return subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


def environment(library: Path | None, mode: str = "", **more: str) -> dict[str, str]:
    """With the libspice-server of that folder, if it is not the installed one; `mode` is the value of SPICE_STREAM."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPICE_") and name not in _UNWANTED}
    return {**kept, **({"LD_LIBRARY_PATH": str(library)} if library else {}), **({"SPICE_STREAM": mode} if mode else {}), **more}


@dataclass(frozen=True)
class Hardware:
    """A guest that has not booted: what it boots, and on which devices."""

    made: Made
    display: str                    # QEMU's device
    memory: int = 256               # MB
    disk: Path | None = None        # read-only; the guest goes on in its root
    sound: int = 0                  # sound cards; can be heard with SPICE
    second: str = ""                # a display beside the first: QEMU's device
    ports: bool = False             # ports of SPICE and a USB port, and a mouse instead of a tablet
    accel: str = TCG

    def arguments(self) -> list[str]:
        words = ["guest=desktop" if self.disk else "guest=text", "sound" if self.sound else "", "ports" if self.ports else ""]
        argv = ["-machine", "pc", "-accel", self.accel, "-m", str(self.memory), "-nodefaults", "-no-user-config", "-display", "none",
                "-nic", "none", "-name", "guest,debug-threads=on", "-device", self.display, "-serial", "chardev:serial",
                "-kernel", str(self.made.kernel), "-initrd", str(self.made.initrd),
                "-append", f"quiet loglevel=0 mitigations=off {' '.join(filter(None, words))}"]
        if self.second:
            argv += ["-device", f"{self.second},id={_SECOND}"]
        argv += self._ports() if self.ports else ["-device", "virtio-tablet-pci"]
        for card in range(self.sound):
            argv += ["-device", f"intel-hda,id=card{card}", "-device", f"hda-output,bus=card{card}.0,audiodev=sound,mixer=off"]
        if self.disk:
            argv += ["-drive", f"file={self.disk},if=none,id=disk,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=disk"]
        return argv

    @staticmethod
    def _ports() -> list[str]:
        argv = ["-device", "virtio-serial", "-chardev", f"spiceport,id={ECHO_PORT},name={ECHO_PORT}",
                "-chardev", f"spicevmc,id={AGENT_PORT},name=vdagent", "-chardev", f"spiceport,id={FILES_PORT},name={FILES_PORT}"]
        for port in (ECHO_PORT, AGENT_PORT, FILES_PORT, f"host.{AGENT_PORT}", f"host.{FILES_PORT}"):
            argv += ["-device", f"virtserialport,chardev={port},name={port}"]
        return [*argv, "-device", "qemu-xhci", "-chardev", "spicevmc,id=usb,name=usbredir", "-device", "usb-redir,chardev=usb"]

    @property
    def needs_spice(self) -> bool:
        """Whether it needs SPICE, as QXL does."""
        return self.ports or self.display.startswith("qxl")


@dataclass(frozen=True)
class Listener:
    """Where clients connect. Without an address and a path, nowhere."""

    netns: Path | None = None
    address: str = ""
    ports: tuple[int, int] = (0, 0)     # ports without and with TLS; VNC has only the first
    path: Path | None = None            # SPICE listens on this Unix socket instead
    known_as: str = ""                  # address for clients, if a relay has another one
    protocol: str = SPICE
    options: tuple[str, ...] = ("disable-ticketing=on",)    # of -spice

    def arguments(self, needs_spice: bool, hidden: Path) -> list[str]:
        """`hidden`: a Unix socket for a guest that needs SPICE where no client of SPICE is let in."""
        beside = ["-spice", f"unix=on,addr={hidden},disable-ticketing=on"] if needs_spice else []
        if self.path:
            return ["-spice", ",".join(["unix=on", f"addr={self.path}", *self.options])]
        if not self.address:
            return beside
        if self.protocol != SPICE:
            secured = ",tls-creds=tls" if self.protocol == VNC_TLS else ""
            return ["-object", "tls-creds-anon,id=tls,endpoint=server", "-vnc", f"{self.address}:{self.ports[0] - 5900}{secured}", *beside]
        made = certs.kept(self.known_as or self.address)
        return ["-spice", ",".join([f"addr={self.address}", f"port={self.ports[0]}", f"tls-port={self.ports[1]}", f"x509-key-file={made.key}",
                                    f"x509-cert-file={made.certificate}", f"x509-cacert-file={made.ca}", *self.options])]

    @property
    def heard(self) -> bool:
        return self.protocol == SPICE and bool(self.address or self.path)


class Qemu:
    """Boots in the constructor, or goes on from a state; close() ends it. `folder` is its own."""

    def __init__(self, hardware: Hardware, at: Listener, folder: Path, env: Mapping[str, str], incoming: Path | str | None = None,
                 more: Sequence[str] = ()) -> None:
        """`incoming`: what state() returned, or where another QEMU sends the guest, as QEMU names it. `more`: arguments."""
        folder.mkdir(exist_ok=True)
        self.log = folder / "qemu.log"
        self._folder, self._incoming = folder, incoming is not None
        self._serial: Lines | None = None
        self._qmp: Lines | None = None
        argv = [QEMU, *more, *(["-audiodev", f"{'spice' if at.heard else 'none'},id=sound"] if hardware.sound else []),
                *hardware.arguments(), *at.arguments(hardware.needs_spice, folder / "hidden"), *self._sockets(hardware)]
        with contextlib.ExitStack() as files:
            log, state = files.enter_context(self.log.open("wb")), []
            if isinstance(incoming, Path):      # opened here, as a QEMU in a sandbox may run no program that reads it
                state = [files.enter_context(incoming.open("rb")).fileno()]
                incoming = f"fd:{state[0]}"
            self._qemu = subprocess.Popen(proc.inside(at.netns, [*argv, *(["-incoming", incoming] if incoming else [])]),
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, pass_fds=state)
        try:
            self._qmp = Lines(folder / "qmp")
            self._qmp.wait("{", _ANSWER)
            self.qmp("qmp_capabilities")
        except Failed:
            reason = self._complaint()
            self.close()
            raise Failed(f"QEMU does not start: {reason}") from None

    def _sockets(self, hardware: Hardware) -> list[str]:
        host = [f"host.{port}" for port in (AGENT_PORT, FILES_PORT) if hardware.ports]
        argv = ["-qmp", f"unix:{self._folder / 'qmp'},server=on,wait=off"]
        for name in ("serial", *host):
            argv += ["-chardev", f"socket,id={name},path={self._folder / name},server=on,wait=off"]
        return argv

    def booted(self) -> None:
        """Waits until the guest has booted."""
        if self._serial:
            return
        self._serial = Lines(self._folder / "serial")
        if self._incoming:
            wait_for("arrival of the guest", _BOOT, lambda: self.qmp("query-status")["status"] == "running")
            self._greet()
        else:
            self._serial.wait("ready", _BOOT)

    def _greet(self) -> None:
        """Until the guest answers: what was on its serial line when it was moved may be lost, and half a line with it."""
        assert self._serial
        for _ in range(_ANSWER // _GREETING):
            self._serial.say("hello")
            with contextlib.suppress(Failed):
                self._serial.wait("done hello", _GREETING)
                return
        before = self.screen()
        time.sleep(_GREETING)
        raise GuestLost(f"the guest that came does not answer, and {'stands still' if numpy.array_equal(self.screen(), before) else 'draws on'}")

    def migrate(self, where: str) -> None:
        """Sends the guest there, as QEMU names it, and waits until it has gone."""
        self.qmp("migrate", uri=where)
        wait_for("end of the migration", _BOOT, lambda: self._migration() not in ("setup", "active", "device"), 0.05)
        if self._migration() != "completed":
            raise Failed(f"the migration {self._migration()}: {self._complaint()}")

    def _migration(self) -> str:
        return str(self.qmp("query-migrate").get("status", "setup"))

    def order(self, command: str, answer: str = "", seconds: float = _ANSWER) -> str:
        """Makes the guest do something, and waits until it is done; returns the rest of the line that starts with `answer`."""
        self.booted()
        assert self._serial
        self._serial.say(command)
        said = self._serial.wait(answer, seconds) if answer else ""
        self._serial.wait(f"done {command}", seconds)
        return said

    def typed(self, seconds: float) -> str:
        """The next line that somebody typed at the guest."""
        self.booted()
        assert self._serial
        return self._serial.wait("typed ", seconds)

    def relay(self, port: str) -> Path:
        """A Unix socket, as if who connects there were a program in the guest that has opened that port of SPICE: the guest carries
        every byte."""
        self.order(f"relay {port}")
        return self._folder / f"host.{port}"

    def qmp(self, command: str, **arguments: Any) -> Any:
        assert self._qmp
        answer = self._qmp.ask({"execute": command, "arguments": arguments, "id": command}, "id", _ANSWER)
        if "error" in answer:
            raise Failed(f"QEMU: {command}: {answer['error'].get('desc')}")
        return answer["return"]

    def screen(self, display: int = 0) -> Pixels:
        """The guest's frame buffer, or that of its second display."""
        file = self._folder / "screen.ppm"
        self.qmp("screendump", filename=str(file), **({"device": _SECOND} if display else {}))
        return picture.from_ppm(file.read_bytes())

    @property
    def pid(self) -> int:
        return self._qemu.pid

    def running(self) -> bool:
        return self._qemu.poll() is None

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far: of the guest's processor, of the threads that encode and send, of the rest of QEMU. VNC
        sends in QEMU's main thread, which is part of the rest."""
        used = {"guest": 0.0, "worker": 0.0, "rest": 0.0}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                name, seconds = usage.cpu(task)
                used["guest" if name.startswith(_VCPU) else "worker" if name.startswith(_WORKERS) else "rest"] += seconds
        return used

    def memory(self) -> int:
        """Resident bytes; 0 if it has ended."""
        with contextlib.suppress(OSError):
            return usage.memory(Path(f"/proc/{self.pid}"))
        return 0

    def _complaint(self) -> str:
        told = self.log.read_text(errors="replace").strip().splitlines()
        return told[-1] if told else "no reason told"

    def ended(self) -> str:
        """Why it ended."""
        return f"QEMU ended with {self._qemu.wait()}: {self._complaint()}"

    def close(self) -> None:
        for each in (self._serial, self._qmp):
            if each:
                each.close()
        if self.running():
            self._qemu.terminate()
            try:
                self._qemu.wait(10)
            except subprocess.TimeoutExpired:
                self._qemu.kill()
                self._qemu.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def state(hardware: Hardware, steps: Steps, orders: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Path:
    """A saved state of a guest that has booted and executed the orders, for Qemu(incoming=); made once, as that takes minutes on a busy
    machine. With the stock library, unless `env` says another."""
    told = repr((qemu_version(), hardware.arguments(), list(orders)))

    def make(folder: Path) -> None:
        steps.say(f"booting a guest with {hardware.display.partition(',')[0]}, once")
        with Qemu(hardware, Listener(), folder.parent, environment(paths.stock_library()) if env is None else env) as qemu:
            qemu.booted()
            for each in orders:
                qemu.order(each, seconds=_BOOT)
            qemu.migrate(f"exec:cat >{folder / 'state'}")

    return once(HOME / f"state-{hashlib.sha256(told.encode()).hexdigest()[:12]}", make) / "state"


def wait_for(what: str, seconds: float, true: Callable[[], Any], step: float = 0.2) -> None:
    """Until true() is; Failed, naming what was waited for, if it never is."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise Failed(f"no {what} in {seconds:.0f} s")
        time.sleep(step)
