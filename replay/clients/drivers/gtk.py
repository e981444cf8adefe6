# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-gtk without a window, driven by a script (gtk_session.py): of this Debian, or of another one in a chroot."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import debsource
from bench.source.builder import RootBuilder
from clients import target
from clients.drivers.base import BETWEEN, SCAN_CODES, Driver, debian_version
from guest import picture
from guest.errors import Failed, NotRun
from guest.lines import Lines
from guest.picture import Pixels

_SCRIPT = Path(__file__).with_name("gtk_session.py")
_ANSWER = 60
_LIBRARY = "libspice-client-glib-2.0-8"


class SpiceGtk(Driver):
    name = "spice-gtk"
    shows_displays = True
    transports = frozenset({target.PLAIN, target.TLS, target.SASL, target.UNIX, target.RELAY, target.SANDBOX}) | target.PROXIES - target.WEB_PROXIES

    @classmethod
    def version(cls) -> str:
        return f"{debian_version(_LIBRARY)}, driven by a script"

    def _command(self, argv: Sequence[str | Path]) -> list[str | Path]:
        return list(argv)

    def start(self) -> None:
        socket = self.folder / "session"
        socket.unlink(missing_ok=True)
        # here, as nothing else is in a root of another Debian
        shutil.copy(_SCRIPT, self.folder)
        authority = [Path(shutil.copy(self.target.ca, self.folder))] if self.target.encrypted and self.target.ca else []
        self._shared.mkdir(exist_ok=True)
        login = {"SPICE_GTK_USER": target.USER, "SPICE_GTK_PASSWORD": target.PASSWORD} if self.target.transport == target.SASL else {}
        self._run(self._command(["/usr/bin/python3", self.folder / _SCRIPT.name, socket, self.target.uri, *authority]),
                  {"SPICE_GTK_SHARED": str(self._shared), "SPICE_GTK_DISC": str(self.folder / "disc"), **self.target.environment, **login})
        try:
            self._lines = Lines(socket)
        except Failed:
            raise Failed(f"{self.name} does not start: {self.complaint()}") from None

    def _ask(self, **question: Any) -> dict[str, Any]:
        answer = self._lines.ask(question, "answer", _ANSWER)
        if answer.get("error"):
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def picture(self, display: int = 0) -> Pixels:
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            told = self._ask(do="picture", file=file.name, display=display)
            if not told["answer"]:
                return picture.none()
            return picture.from_bgrx(told["width"], told["height"], told["stride"], Path(file.name).read_bytes())

    def type(self, text: str) -> None:
        self._ask(do="type", codes=[SCAN_CODES[letter] for letter in text], between=BETWEEN)

    def hears(self) -> int:
        return int(self._ask(do="heard")["answer"])

    def through_port(self, data: bytes, name: str) -> bytes:
        return bytes.fromhex(self._ask(do="port", name=name, data=data.hex())["answer"])

    def copy(self, text: str) -> None:
        self._ask(do="copy", text=text)

    def paste(self) -> str:
        return str(self._ask(do="paste")["answer"])

    def send_file(self, file: Path) -> None:
        shutil.copy(file, self.folder)
        self._ask(do="send", file=str(self.folder / file.name))

    @property
    def _shared(self) -> Path:
        return self.folder / "shared"

    def shares(self) -> Path:
        return self._shared

    def plug_disk(self, image: Path) -> None:
        shutil.copy(image, self.folder / "disc")
        self._ask(do="plug")

    def stop(self) -> None:
        if hasattr(self, "_lines"):
            self._lines.close()
        super().stop()


class OtherGtk(SpiceGtk):
    """Of another Debian: a root with its Python and its spice-gtk, made once, that sees this machine's network and its /tmp."""

    suite = ""

    @classmethod
    def _home(cls) -> Path:
        return paths.cache_dir() / "clients" / cls.suite

    @classmethod
    def install(cls, steps: Steps) -> None:
        places = debsource.places(debsource.machine_sources(), debsource.codename(), cls.suite)
        try:
            RootBuilder(cls.suite, cls._home(), steps, ("python3-gi", "gir1.2-spiceclientglib-2.0")).prepare(places[:1])
        except BenchError as error:
            raise NotRun(str(error)) from None

    @classmethod
    def version(cls) -> str:
        told = subprocess.run(
            ["dpkg-query", f"--admindir={cls._home() / 'root/var/lib/dpkg'}", "-W", "-f", "${Package} ${Version}\n"],
            capture_output=True, text=True, check=False,
        ).stdout
        found = dict(line.split(" ", 1) for line in told.splitlines() if " " in line)
        version = next((found[name] for name in (_LIBRARY, f"{_LIBRARY}t64") if name in found), "")
        if not version or "python3-gi" not in found:
            raise NotRun(f"no chroot with spice-gtk of {cls.suite} could be made")
        return f"{version}, driven by a script"

    def _command(self, argv: Sequence[str | Path]) -> list[str | Path]:
        enter = 'mkdir -p "$0$1" && mount --bind "$1" "$0$1" && mount -t proc proc "$0/proc" && root=$0 && shift && exec chroot "$root" "$@"'
        return ["unshare", "--mount", "sh", "-ec", enter, self._home() / "root", tempfile.gettempdir(), *argv]


class BullseyeGtk(OtherGtk):
    name = "spice-gtk (Debian 11)"
    suite = "bullseye"


class TrixieGtk(OtherGtk):
    name = "spice-gtk (Debian 13)"
    suite = "trixie"
