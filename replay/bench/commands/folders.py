# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is in results/: a folder a question, as the commands that answer it. ./run results makes it."""

from __future__ import annotations

from dataclasses import dataclass

_SESSIONS = "vga-text-boot linux-boot linux-desktop linux-video"
# What a part depends on is played before it at once, and a processor must not be what they wait for: parts with a few thousand
# commands, where there are such.
_PARTS = "vga-text-boot@0-5 linux-boot@33-48 linux-desktop@20-35 linux-video@20-30"
_PACED = "--pace recorded --modes stock,batch,flow,flow:hold=0"
_GENERATED = "gdi-synthetic small-messages big-images all-commands"
_FAR = "20M40ms,50M100ms,100M10ms,2M100ms"
_EVERY_MODE = "stock,normal,gather,cork,more,window,batch,flow"

COMPARE, EGRESS, RELEASES = "compare", "egress", "releases"


@dataclass(frozen=True)
class Part:
    """One command and its page. `repeat`: how often, if nobody says; every other run is captured, the rest is timed."""
    where: str              # below results/
    question: str
    arguments: str
    repeat: int
    kind: str = COMPARE
    pictures: tuple[str, ...] = ()      # drawn for these recording/link/pace

    @property
    def folder(self) -> str:
        return self.where.split("/")[0]


PARTS: tuple[Part, ...] = (
    Part("first", "The newcomer's comparison: what does it save?", "", 2,
         pictures=("*",)),
    Part("modes", "What does each mode cost, as fast as it goes?", f"{_SESSIONS} {_GENERATED} --modes {_EVERY_MODE}", 2,
         pictures=("linux-desktop/lan/max",)),
    Part("modes/recorded", "And at the pace people work?",
         "linux-desktop@20-30 --pace recorded --modes stock,normal,gather,cork,window,batch,flow", 2),
    Part("distance", "How long does a session take over a distance?",
         f"{_SESSIONS} --link {_FAR} --modes stock,flow --transport tls --pauses 0 --jobs 8", 4, pictures=("linux-desktop/20M40ms/max",)),
    Part("distance/relay", "And through a relay?",
         f"linux-desktop --link {_FAR} --via relay --modes stock,flow --transport tls --pauses 0 --jobs 8", 4),
    Part("distance/download", "What is left of a line beside a bulk download?",
         "linux-desktop --link 20M40ms --modes stock,batch:window=400,flow --transport tls --pauses 0 --beside-download", 3),
    Part("distance/slow-client", "What if the client takes twice as long for everything?",
         "linux-desktop --pace 10 --slow-client 2 --modes stock,batch,flow --transport tls", 6),
    Part("age", "How old is the picture over a slow line?",
         f"{_SESSIONS} --link 2M100ms --pace recorded --modes stock,flow,flow:catchup=on --transport tls --jobs 8", 4,
         pictures=("linux-desktop/2M100ms/recorded",)),
    Part("age/relay", "And through a relay?",
         "linux-desktop --link 2M100ms --via relay --pace recorded --modes stock,flow --transport tls --jobs 8", 4),
    Part("lan", "What is the latency on a LAN at the pace people work, what does it cost, and what does the hold change?",
         f"{_PARTS} {_PACED}", 4, pictures=("linux-*/lan/recorded",)),
    Part("pace", "And over a distance: packets, bytes, the age of the picture?", f"{_PARTS} --link {_FAR} {_PACED} --jobs 12", 2),
    Part("channels", "What do sound, keys, the pointer, the clipboard and a port have of it?",
         "linux-desktop --link lan,20M40ms --channels --modes stock,batch,flow --transport tls --jobs 4", 3),
    Part("channels/burst", "And beside a desktop played as fast as a slow line takes it?",
         "linux-desktop@30-45 --link 2M100ms --channels=sound,inputs,pointer --modes stock,batch,flow --transport tls --jobs 4", 4),
    Part("kernel", "What does the stream layer alone ask of the kernel and the processor?", "", 5, EGRESS),
    Part("recordings", "Does every mode draw the same, on every surface?",
         "linux-desktop linux-video gdi-synthetic all-commands --show-surfaces", 1),
    Part("recordings/releases", "And every release, stock and patched?", "", 1, RELEASES),
)
