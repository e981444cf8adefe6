# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a recording to a client over a Unix socket, for its picture: no network, no figures."""
from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import paths, proc
from recordings import catalogue

# Video streams are lossy, depending on timing. Without them the same commands give the same picture.
WITHOUT_STREAMS = ("--streaming", "off")
_MEMORY = 8 << 30           # address space of each program, as the recording may be anybody's


@dataclass(frozen=True)
class Played:
    """An exit status is None if the program was not started, or was killed at the timeout."""
    player_status: int | None
    client_status: int | None
    player: dict[str, Any]       # the last event of each
    client: dict[str, Any]
    pauses: list[str]            # the picture's hash at each pause
    log: list[str]               # the last lines that both wrote for people

    @property
    def good(self) -> bool:
        return self.player_status == 0 and self.client_status == 0

    @property
    def reason(self) -> str:
        return self.log[-1] if self.log else "no reason told"


def play(recording: Path, *, png: Path | None = None, library: Path | None = None, seconds: float = 60,
         options: tuple[str, ...] = (), pause_at: tuple[int, ...] = ()) -> Played:
    """Plays to the end. `library` is the folder of another libspice-server, pauses are after so many commands."""
    if pause_at:
        options += ("--pause-at", ",".join(map(str, pause_at)))
    # Without catch-up, as the picture is taken at the end marker: a client that is behind would show some drawings after it.
    environment = {**os.environ, "SPICE_STREAM": "flow,catchup=off"}
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    plain = catalogue.unpacked(catalogue.find(str(recording)))
    limits = [proc.require("prlimit", "util-linux"), f"--as={_MEMORY}", "--core=0"]
    until = time.monotonic() + seconds
    mailbox: proc.Mailbox = proc.Mailbox()
    last: dict[str, dict[str, Any]] = {"player": {}, "client": {}}
    pauses: list[str] = []
    with tempfile.TemporaryDirectory(prefix="spice-play-") as folder:
        end = ["--unix", f"{folder}/spice"]
        with proc.Process("player", [*limits, str(paths.player()), *end, *options, str(plain)], env=environment, mailbox=mailbox) as player:
            if not player.wait_event("listening", until):
                return Played(player.wait(until), None, {}, {}, [], list(player.complaints))
            shows = [*limits, str(paths.client()), *end, *(["--png", str(png)] if png else [])]
            with proc.Process("client", shows, mailbox=mailbox) as client:
                ended = 0
                while ended < len(last) and (got := proc.receive(mailbox, until)):
                    who, event = got
                    if event is None:
                        ended += 1
                        continue
                    last[who.name] = event
                    if who is client and event.get("event") == "pause":
                        pauses.append(event["sha256"])
                        player.say("go")
                return Played(player.wait(until), client.wait(until), last["player"], last["client"], pauses,
                              [*player.complaints, *client.complaints])
