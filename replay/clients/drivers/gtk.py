# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-gtk without a window: its library, driven by a script (gtk_session.py); of this Debian, or of another in a folder of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from clients import picture, target
from clients.drivers.base import Driver, debian_version
from clients.errors import Failed
from clients.keys import BETWEEN, SCAN_CODES
from clients.lines import Lines

_SCRIPT = Path(__file__).with_name("gtk_session.py")
_ANSWER = 60


class SpiceGtk(Driver):
    name = "spice-gtk"
    transports = frozenset({target.PLAIN, target.TLS, target.SASL, target.UNIX, target.RELAY})

    @classmethod
    def version(cls) -> str:
        return f"{debian_version('libspice-client-glib-2.0-8')}, driven by a script"

    def start(self) -> None:
        socket = self.folder / "session"
        socket.unlink(missing_ok=True)
        authority = [str(self.target.ca)] if self.target.encrypted else []
        self._run(
            ["/usr/bin/python3", _SCRIPT, socket, self.target.uri, *authority],
            {"SPICE_GTK_USER": target.USER, "SPICE_GTK_PASSWORD": target.PASSWORD}
            if self.target.transport == target.SASL
            else {},
        )
        try:
            self._lines = Lines(socket)
        except Failed:
            raise Failed(f"{self.name} does not start: {self.complaint()}") from None

    def _ask(self, **question: Any) -> dict[str, Any]:
        answer = self._lines.ask(question, "answer", _ANSWER)
        if answer.get("error"):
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def picture(self) -> picture.Picture:
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            told = self._ask(do="picture", file=file.name)
            if not told["answer"]:
                return picture.Picture(1, 1, bytes(3))
            return picture.from_bgrx(told["width"], told["height"], told["stride"], Path(file.name).read_bytes())

    def type(self, text: str) -> None:
        self._ask(do="type", codes=[SCAN_CODES[letter] for letter in text], between=BETWEEN)

    def hears(self) -> int:
        return int(self._ask(do="heard")["answer"])

    def through_port(self, data: bytes, name: str) -> bytes:
        return bytes.fromhex(self._ask(do="port", name=name, data=data.hex())["answer"])

    def stop(self) -> None:
        if hasattr(self, "_lines"):
            self._lines.close()
        super().stop()
