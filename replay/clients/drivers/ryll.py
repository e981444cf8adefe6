# SPDX-License-Identifier: LGPL-2.1-or-later
"""ryll, a client in Rust: installed with cargo, run headless, queried through its control socket."""

from __future__ import annotations

import base64
import os
import shutil
import time
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from clients import target
from clients.drivers.base import BETWEEN, SCAN_CODES, Driver, first_line
from guest import picture
from guest.errors import Failed, NotRun
from guest.lines import Lines
from guest.picture import Pixels

_ANSWER = 20


def program() -> Path:
    """The program that SPICE_CLIENTS_RYLL names; otherwise the one built here, or an installed one."""
    named = os.environ.get("SPICE_CLIENTS_RYLL")
    own = paths.cache_dir() / "clients" / "ryll" / "bin" / "ryll"
    return Path(named) if named else own if own.exists() else Path(shutil.which("ryll") or own)


class Ryll(Driver):
    name = "ryll"
    transports = frozenset({target.PLAIN, target.TLS, target.RELAY})
    _control: Lines | None = None

    @classmethod
    def install(cls, steps: Steps) -> None:
        """Builds it unless it exists: without window, sound and video files; about 10 minutes on two processors."""
        if program().exists():
            return
        if not shutil.which("cargo"):
            raise NotRun("cargo is missing; SPICE_CLIENTS_RYLL=FILE names a ryll")
        home = paths.cache_dir() / "clients" / "ryll"
        fast = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in (("OPT_LEVEL", "1"), ("LTO", "off"), ("DEBUG", "0"))}
        try:
            steps.run("building ryll", ["nice", "cargo", "install", "ryll", "--locked", "--no-default-features", "--root", home,
                                        "--target-dir", home / "target"], env={**os.environ, **fast})
        except BenchError as error:
            raise NotRun(f"ryll cannot be built here: {error}") from None
        shutil.rmtree(home / "target", ignore_errors=True)

    @classmethod
    def version(cls) -> str:
        return first_line([str(program()), "--version"], "ryll is not built")

    def start(self) -> None:
        vv = self.folder / "target.vv"
        lines = ["[virt-viewer]", "type=spice", f"host={target.HOST}"]
        if self.target.encrypted:
            assert self.target.ca
            authority = self.target.ca.read_text().strip().replace("\n", "\\n")
            lines += [f"tls-port={self.target.port}", f"ca={authority}\\n", f"host-subject=CN={target.HOST}"]
        else:
            lines += [f"port={self.target.port}"]
        vv.write_text("\n".join(lines) + "\n")
        socket = self.folder / "control"
        socket.unlink(missing_ok=True)
        self._run([program(), "--file", vv, "--headless", "--control-socket", socket], {"HOME": str(self.folder), "RUST_LOG": "info"})
        self._numbers = 0
        try:
            self._control = Lines(socket)
            self._ask("hello", {"client_name": "clients", "protocol_version": "1.4"})
        except Failed:
            raise Failed(f"ryll does not start: {self.complaint()}") from None

    def _ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        assert self._control
        self._numbers += 1
        answer = self._control.ask({"id": self._numbers, "method": method, "params": params or {}}, "id", _ANSWER)
        if not answer.get("ok"):
            raise Failed(f"ryll: {method}: {answer.get('error')}")
        return dict(answer.get("result") or {})

    def picture(self, display: int = 0) -> Pixels:
        told = self._ask("screenshot", {"format": "rgba"})
        return picture.from_rgba(told["width"], told["height"], base64.b64decode(told["data_base64"]))

    def type(self, text: str) -> None:
        for letter in text:
            for state in ("down", "up"):
                self._ask("send_key", {"scancode": SCAN_CODES[letter], "state": state})
                time.sleep(BETWEEN)

    def messages(self) -> int:
        return int(self._ask("stats")["display"]["messages_received"])

    def stop(self) -> None:
        if self._control:
            self._control.close()
            self._control = None
        super().stop()
