# SPDX-License-Identifier: LGPL-2.1-or-later
"""Output and end of child processes."""

from __future__ import annotations

import time
from typing import IO

import pytest

from bench.common import proc


def test_what_a_child_says_last_is_known_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    read = proc.Process._read_complaints

    def read_late(self: proc.Process, stream: IO[str]) -> None:
        while self.running():
            time.sleep(0.01)
        time.sleep(0.1)
        read(self, stream)

    monkeypatch.setattr(proc.Process, "_read_complaints", read_late)
    for said, found in (("ready", True), ("broken", False)):
        with proc.Process("child", ["sh", "-c", f"echo {said} >&2"]) as process:
            assert process.wait_complaint("ready", time.monotonic() + 60) == found
            assert list(process.complaints) == [said]


def test_an_event_is_waited_for_until_the_output_ends() -> None:
    script = 'echo \'{"event":"one"}\'; echo \'{"event":"two","n":3}\'; echo \'{"event":"four"}\''
    with proc.Process("child", ["sh", "-c", script]) as process:
        assert process.wait_event("two", time.monotonic() + 60) == {"event": "two", "n": 3}
        assert process.wait_event("one", time.monotonic() + 60) is None
    with proc.Process("child", ["sleep", "60"]) as process:
        assert process.wait_event("one", 0) is None
