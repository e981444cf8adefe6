# SPDX-License-Identifier: LGPL-2.1-or-later
"""Headless Chromium, controlled through a pair of pipes (DevTools protocol)."""

from __future__ import annotations

import json
import os
import select
import time
from pathlib import Path
from typing import Any

from guest.errors import Failed

_ANSWER = 90
# of every browser of these tests, also of ./run live's, which has a window
OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync", "--disable-component-update",
           "--ignore-certificate-errors")


def command(folder: Path, url: str, reads: int, writes: int) -> list[str]:
    """`reads` and `writes` are the browser's ends of the pipes; it wants them as 3 and 4."""
    return ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "bash", "chromium", "--headless=new", "--remote-debugging-pipe", *OPTIONS,
            "--autoplay-policy=no-user-gesture-required", "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
            "--window-size=1400,1000", f"--user-data-dir={folder / 'profile'}", url]


class Page:
    """The browser's only page."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        deadline = time.monotonic() + _ANSWER
        while self._session is None:
            found = [each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
            if found:
                self._session = self.ask("Target.attachToTarget", targetId=found[0]["targetId"], flatten=True)["sessionId"]
            elif time.monotonic() > deadline:
                raise Failed("the browser opens no page")
            else:
                time.sleep(0.2)

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        question = {"id": self._number, "method": method, "params": params}
        if self._session:
            question["sessionId"] = self._session
        try:
            os.write(self._writes, json.dumps(question).encode() + b"\0")
        except OSError:
            raise Failed("the browser is gone") from None
        deadline = time.monotonic() + _ANSWER
        while True:
            message = self._next(deadline)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Failed(f"the browser: {method}: {message['error'].get('message')}")
                return message["result"]

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._reads], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Failed("the browser does not answer")
            if not (more := os.read(self._reads, 1 << 20)):
                raise Failed("the browser is gone")
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def evaluate(self, expression: str) -> Any:
        told = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise Failed(f"the page: {told['exceptionDetails'].get('exception', {}).get('description', 'an error')[:200]}")
        return told["result"].get("value")

    def press(self, letter: str) -> None:
        code = 13 if letter == "\n" else ord(letter.upper())
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, windowsVirtualKeyCode=code, nativeVirtualKeyCode=code,
                     key="Enter" if letter == "\n" else letter, code="Enter" if letter == "\n" else f"Key{letter.upper()}")

    def close(self) -> None:
        os.close(self._reads)
        os.close(self._writes)
