# SPDX-License-Identifier: LGPL-2.1-or-later
"""A QEMU with the guest and a chosen libspice-server."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import proc
from bench.lab import certs
from bench.lab.lab import Lab, free_port
from clients import picture, target
from clients.errors import Failed, GuestLost
from clients.guest import Guest, once
from clients.lines import Lines
from clients.proxies import Proxy
from clients.counted_relay import Relay
from clients.target import Target

QEMU = os.environ.get("SPICE_CLIENTS_QEMU", "qemu-system-x86_64")
ECHO_PORT = "org.spice-batch.echo"
AGENT_PORT, FILES_PORT = "com.redhat.spice.0", "org.spice-space.webdav.0"     # as SPICE names them
_DENIED = ("obsolete", "elevateprivileges", "spawn", "resourcecontrol")     # in a sandbox, as libvirt has it
_BOOT = 900  # seconds, on a busy machine that emulates the guest's processor
_ANSWER = 60
_GREETING = 5
_READ = "exec:cat "
STOCK = "stock"
INSTALLED = "installed"  # with whatever the environment says

OPEN, SASL, UNIX, SANDBOX = "open", "sasl", "unix", "sandbox"  # ways a QEMU can be listening
WAY = {target.SASL: SASL, target.UNIX: UNIX, target.SOCAT: UNIX, target.SANDBOX: SANDBOX}  # of a transport; the others are all served by an open one


@dataclass(frozen=True)
class Library:
    """`mode` is STOCK, INSTALLED or what SPICE_STREAM says. Without a folder it is the one that is installed."""

    folder: Path | None
    mode: str
    version: str

    def environment(self) -> dict[str, str]:
        if self.mode == INSTALLED:
            return dict(os.environ)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SPICE_")}
        kept["LD_LIBRARY_PATH"] = str(self.folder)
        return kept if self.mode == STOCK else {**kept, "SPICE_STREAM": self.mode}


def qemu_version() -> str:
    return subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


# what of a QEMU a guest that has booted depends on
_HARDWARE = (
    "-machine pc -accel tcg -m 256 -nodefaults -no-user-config -display none -nic none -device qxl-vga "
    "-serial chardev:serial "
    f"-device virtio-serial -chardev spiceport,id=echo,name={ECHO_PORT} "
    f"-device virtserialport,chardev=echo,name={ECHO_PORT} "
    "-chardev spicevmc,id=agent,name=vdagent "
    f"-device virtserialport,chardev=agent,name={AGENT_PORT} -device virtserialport,chardev=host-agent,name=host.{AGENT_PORT} "
    f"-chardev spiceport,id=files,name={FILES_PORT} "
    f"-device virtserialport,chardev=files,name={FILES_PORT} -device virtserialport,chardev=host-files,name=host.{FILES_PORT} "
    "-device qemu-xhci -chardev spicevmc,id=usb,name=usbredir -device usb-redir,chardev=usb "
    "-audiodev spice,id=sound -device intel-hda -device hda-output,audiodev=sound,mixer=off "
    "-device intel-hda,id=other -device hda-output,bus=other.0,audiodev=sound,mixer=off"
)


_SECOND = "second"      # display of a guest with two


class Machine:
    """Boots in the constructor; close() ends it. `folder` is its own, for sockets and logs."""

    def __init__(
        self,
        guest: Guest,
        library: Library,
        folder: Path,
        way: str = OPEN,
        incoming: str | None = None,
        seamless: bool = False,
        lab: Lab | None = None,
        displays: int = 1,
        size: str = "",
    ) -> None:
        """`incoming` is where the guest comes from, if it has booted somewhere else. With `lab` it listens there, else on loopback.
        `size`: the largest screen of the guest's frame buffer, WIDTHxHEIGHT, if not the driver's."""
        self.displays, self._size, self._lab = displays, size, lab
        self.library, self.way, self._folder, self._seamless = library, way, folder, seamless
        self._address = lab.server_address if lab else target.HOST
        self.port, self.tls_port = lab.ports if lab else (free_port(), free_port())
        self.certificates = certs.kept(self._address)
        self.log = folder / "qemu.log"
        self.graphics = self.tone = False  # what the guest has been told to do, and cannot be told not to
        self._relay: Relay | None = None
        self._proxies: dict[str, Proxy] = {}
        self._lines: Lines | None = None
        self._qmp: Lines | None = None
        self._incoming = incoming is not None
        state = self._opened(incoming) if incoming and way == SANDBOX else None
        command = [*self._command(guest), *(["-incoming", f"fd:{state}" if state is not None else incoming] if incoming else [])]
        environment = library.environment()
        if way == SASL:
            environment["SASL_CONF_PATH"] = str(self._sasl())
        with self.log.open("wb") as log:
            self._qemu = subprocess.Popen(
                proc.inside(lab.server if lab else None, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=[] if state is None else [state],
            )
        if state is not None:
            os.close(state)
        try:
            self._qmp = Lines(folder / "qmp")
            self._qmp.wait("{", _ANSWER)
            self.qmp("qmp_capabilities")
        except Failed:
            self.close()
            raise Failed(f"QEMU does not start: {self._complaint()}") from None

    def _command(self, guest: Guest) -> list[str]:
        spice = ["disable-ticketing=on"] if self.way != SASL else ["sasl=on"]
        if self._seamless:
            spice.append("seamless-migration=on")
        if self.displays > 1 or self._size:     # over a slow link JPEG would change the pixels, and could not be compared
            spice.append("jpeg-wan-compression=never")
        if self.way == UNIX:
            spice += ["unix=on", f"addr={self._folder / 'spice'}"]
        else:
            made = self.certificates
            spice += [
                f"addr={self._address}",
                f"port={self.port}",
                f"tls-port={self.tls_port}",
                f"x509-key-file={made.key}",
                f"x509-cert-file={made.certificate}",
                f"x509-cacert-file={made.ca}",
            ]
        files = ["-kernel", str(guest.kernel), "-initrd", str(guest.initrd)]
        sockets = ["-chardev", f"socket,id=serial,path={self._folder / 'serial'},server=on,wait=off"]
        for name, port in (("agent", AGENT_PORT), ("files", FILES_PORT)):
            sockets += ["-chardev", f"socket,id=host-{name},path={self._folder / port},server=on,wait=off"]
        sockets += ["-qmp", f"unix:{self._folder / 'qmp'},server=on,wait=off"]
        words = "quiet loglevel=0 mitigations=off"
        sandbox = ["-sandbox", ",".join(["on", *(f"{what}=deny" for what in _DENIED)])] if self.way == SANDBOX else []
        return [QEMU, *sandbox, *sockets, *_hardware(guest, self.displays, self._size), "-spice", ",".join(spice), *files, "-append", words]

    @staticmethod
    def _opened(incoming: str) -> int:
        """The file that booted() says, for a QEMU that may not run a program."""
        return os.open(incoming.removeprefix(_READ), os.O_RDONLY)

    def _sasl(self) -> Path:
        """A user in a database of this machine's own."""
        home = self._folder / "sasl"
        home.mkdir()
        database = home / "users.db"
        # without a realm: it is the host's name then, which is what the server asks for
        subprocess.run(
            [proc.require("saslpasswd2", "sasl2-bin"), "-p", "-c", "-f", database, "-a", "qemu", target.USER],
            input=target.PASSWORD.encode(),
            check=True,
            capture_output=True,
        )
        (home / "qemu.conf").write_text(
            # the one that encrypts, without which neither end goes on over a plain connection
            f"mech_list: digest-md5\npwcheck_method: auxprop\nauxprop_plugin: sasldb\n"
            f"sasldb_path: {database}\n"
        )
        shutil.copy(home / "qemu.conf", home / "spice.conf")
        return home

    def booted(self) -> None:
        """Waits for the guest."""
        if self._lines is not None:
            return
        self._lines = Lines(self._folder / "serial")
        if self._incoming:
            wait_for("arrival of the guest", _BOOT, lambda: self.qmp("query-status")["status"] == "running")
            self._greet()
        else:
            self._lines.wait("ready", _BOOT)

    def _greet(self) -> None:
        """Until the guest answers: what was on its serial line when it was moved may be lost, and half a line with it."""
        assert self._lines
        for _ in range(_ANSWER // _GREETING):
            self._lines.say("hello")
            with contextlib.suppress(Failed):
                self._lines.wait("done hello", _GREETING)
                return
        before = self.screen()
        time.sleep(_GREETING)
        raise GuestLost(f"the guest that came does not answer, and {'stands still' if self.screen() == before else 'draws on'}")

    def migrate(self, where: str) -> None:
        """Sends the guest there, as QEMU names it, and waits until it has gone."""
        self.qmp("migrate", uri=where)
        wait_for("end of the migration", _BOOT, lambda: self._migration() not in ("setup", "active", "device"), 0.05)
        if self._migration() != "completed":
            raise Failed(f"the migration {self._migration()}: {self._complaint()}")

    def _migration(self) -> str:
        return str(self.qmp("query-migrate").get("status", "setup"))

    def guest(self, command: str, answer: str = "") -> str:
        """Has the guest do something; returns what follows `answer` in what it says, if any is wanted."""
        self.booted()
        assert self._lines
        self._lines.say(command)
        said = self._lines.wait(answer, _ANSWER) if answer else ""
        self._lines.wait(f"done {command}", _ANSWER)
        return said

    def relayed(self, port: str) -> socket.socket:
        """As if this were a program in the guest that has opened that port of SPICE: the guest carries every byte."""
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(self.relay(port)))
        return made

    def relay(self, port: str) -> Path:
        """The Unix socket of that."""
        self.guest(f"relay {port}")
        return self._folder / port

    def typed(self, seconds: float) -> str:
        """The next line that somebody typed at the guest."""
        self.booted()
        assert self._lines
        return self._lines.wait("typed ", seconds)

    def qmp(self, command: str, **arguments: Any) -> Any:
        assert self._qmp
        answer = self._qmp.ask({"execute": command, "arguments": arguments, "id": command}, "id", _ANSWER)
        if "error" in answer:
            raise Failed(f"QEMU: {command}: {answer['error'].get('desc')}")
        return answer["return"]

    def screen(self, display: int = 0) -> picture.Picture:
        file = self._folder / "screen.ppm"
        self.qmp("screendump", filename=str(file), **({"device": _SECOND} if display else {}))
        return picture.from_ppm(file.read_bytes())

    @property
    def pid(self) -> int:
        return self._qemu.pid

    def running(self) -> bool:
        return self._qemu.poll() is None

    def target(self, transport: str) -> Target:
        made = self.certificates
        if transport in target.PROXIES:
            return self._proxied(transport)
        if transport == target.UNIX:
            # nothing tells how much such a socket has sent, so it is counted on the way
            self._relay = self._relay or Relay(self._folder / "spice", self._folder / "relay")
            return Target(transport, path=self._folder / "relay")
        if transport in (target.TLS, target.WSS, target.SANDBOX):
            return Target(transport, self.tls_port, ca=made.ca, host=self._address, netns=self._lab.client if self._lab else None)
        if transport == target.RELAY:
            self._relay = self._relay or Relay(self.port)
            return Target(transport, int(str(self._relay.address)))
        return Target(transport, self.port, host=self._address, netns=self._lab.client if self._lab else None)

    def _proxied(self, transport: str) -> Target:
        if transport not in self._proxies:
            server = self._folder / "spice" if self.way == UNIX else self.port
            self._proxies[transport] = Proxy(transport, server, self._folder)
        port = self._proxies[transport].port
        if transport == target.SQUID:
            return Target(transport, self.port, proxy=f"http://{target.HOST}:{port}")
        return Target(transport, port)

    def sent(self) -> int:
        """Bytes that QEMU's open connections of SPICE have sent and the other end has acknowledged, or taken."""
        if self.way == UNIX and not self._proxies:
            return self._relay.sent if self._relay else 0
        ports = [each.port for each in self._proxies.values()] if self.way == UNIX else [self.port, self.tls_port]
        told = subprocess.run(
            proc.inside(self._lab.server if self._lab else None,
                        ["ss", "-tinH", "state", "established", f"( {' or '.join(f'sport = :{port}' for port in ports)} )"]),
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        return sum(int(word.partition(":")[2]) for word in told.split() if word.startswith("bytes_acked:"))

    def clients(self) -> list[dict[str, Any]]:
        """The channels that QEMU says are open."""
        return list(self.qmp("query-spice").get("channels", []))

    def memory(self) -> int:
        """Resident bytes."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self._qemu.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def _complaint(self) -> str:
        told = self.log.read_text(errors="replace").strip().splitlines()
        return told[-1] if told else "no reason told"

    def ended(self) -> str:
        """Why it ended."""
        return f"QEMU ended with {self._qemu.wait()}: {self._complaint()}"

    def close(self) -> None:
        for each in (*self._proxies.values(), self._relay, self._lines, self._qmp):
            if each:
                each.close()
        if self.running():
            self._qemu.terminate()
            try:
                self._qemu.wait(10)
            except subprocess.TimeoutExpired:
                self._qemu.kill()
                self._qemu.wait()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _hardware(guest: Guest, displays: int, size: str) -> list[str]:
    hardware = _HARDWARE.replace("-accel tcg", f"-accel {guest.accel}")
    if size:
        hardware = hardware.replace("qxl-vga", f"qxl-vga,xres={size.replace('x', ',yres=')}")
    return [*hardware.split(), *(["-device", f"qxl,id={_SECOND}"] if displays > 1 else [])]


def booted(guest: Guest, library: Library, displays: int = 1, size: str = "") -> str:
    """Where a guest that has booted comes from, for Machine(incoming=): it boots once, which takes minutes on a busy machine."""
    version = hashlib.sha256((qemu_version() + " ".join(_hardware(guest, displays, size))).encode()).hexdigest()[:8]

    def make(folder: Path) -> None:
        with Machine(guest, library, folder.parent, displays=displays, size=size) as machine:
            machine.booted()
            machine.migrate(f"exec:cat >{folder / 'state'}")

    return f"{_READ}{once(guest.initrd.parent.with_name(f'{guest.initrd.parent.name}-{version}'), make) / 'state'}"


def wait_for(what: str, seconds: float, true: Any, step: float = 0.2) -> None:
    """Until true() is; Failed, naming what was waited for, if it never is."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise Failed(f"no {what} in {seconds:.0f} s")
        time.sleep(step)
