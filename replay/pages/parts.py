# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pages of results/: one question per page, and the ./run compare command that answers it."""

from __future__ import annotations

from dataclasses import dataclass

_SESSIONS = "vga-text-boot linux-boot linux-desktop linux-video"
_GENERATED = "gdi-synthetic small-messages big-images all-commands"
# Parts of recordings with only a few thousand commands before them, where possible: those are played at once, and the CPU must not be the
# bottleneck. The manifest has their last pictures. linux-video shows its video, 80 frames, from second 39 to 43.
_DESKTOP, _VIDEO, _BOOT = "linux-desktop@20-35", "linux-video@36-46", "linux-boot@33-48"
_PARTS = f"vga-text-boot@0-5 {_BOOT} {_DESKTOP} {_VIDEO}"
_QUIET = "kms-page@0-50 kms-office@0-52"     # as parts: when these pages were measured, no whole session might end with JPEG
_EVERY_MODE = "--modes stock,normal,gather,cork,more,window,batch,flow"
_PLAIN_MODES = "--modes stock,normal,cork,window,batch,flow"    # gather differs in TLS records only; more is left out
_FAST = "--modes stock,flow"
_PACED = f"--pace recorded {_FAST}"
_LINES = "20M40ms,20M40ms-loss,wifi-lossy,4g,20M-1M-20M,20M-outage,2M100ms,1M200ms,20M:4M/40ms/queue2s"
_TLS, _PLAIN = "--transports tls", "--transports plain"

COMPARE, RELEASES = "compare", "releases"


@dataclass(frozen=True)
class Part:
    """One command and its page. `repeat`: runs per row by default; every other run is captured, the rest is timed."""
    where: str              # below results/
    question: str
    arguments: str
    repeat: int
    kind: str = COMPARE
    main: bool = False                  # README.md shows it

    @property
    def folder(self) -> str:
        return self.where.split("/")[0]


# What README.md shows comes first, so that an interrupted ./run results has it. Who adds a row looks at `./run results --dry-run`,
# and at the times in CONTRIBUTING.md. Three runs of a row are enough for `./run diff`; two where a row waits for stock, for minutes.
PARTS: tuple[Part, ...] = (
    Part("distance", "Full speed (pace max), a link with delay: how long does a session take?",
         # with 16 at once stock took this link for slow in some runs: at the start of a session its bandwidth test needs the processors
         f"{_SESSIONS} --links 20M40ms {_FAST} {_TLS} --jobs 4", 4, main=True),
    Part("lan", "Recorded pace on a LAN: what are latency and cost?",
         f"{_PARTS} --pace recorded --modes stock,flow,flow:hold=0 {_TLS}", 4, main=True),
    Part("modes", "Pace max on a LAN: what does each mode cost?", f"{_SESSIONS} {_EVERY_MODE} {_TLS}", 4, main=True),
    Part("modes/plain", "As modes, without TLS", f"{_SESSIONS} {_PLAIN_MODES} {_PLAIN}", 2, main=True),
    Part("staleness", "Recorded pace, a slow link: how stale is the client's screen?",
         f"{_SESSIONS} --links 2M100ms {_PACED} {_TLS} --jobs 16", 4, main=True),

    Part("distance/links", "As distance, over three other links, and through a relay beside the server",
         f"linux-desktop --links 50M100ms,100M10ms,2M100ms,20M40ms+relay {_FAST} {_TLS} --jobs 16", 3),
    Part("distance/download", "As distance, beside a bulk download: what share of the link does SPICE get?",
         f"linux-desktop --links 20M40ms {_FAST} {_TLS} --with beside-download", 2),
    Part("distance/slow-client", "Ten times the recorded pace, client of half the speed: what is latency?",
         f"linux-desktop --pace 10 --with slow-client=2 {_FAST} {_TLS}", 3),
    Part("staleness/links", "As staleness, over a faster and a slower link, and through a relay beside the server",
         f"linux-desktop linux-video --links 20M40ms,1M200ms,2M100ms+relay {_PACED} {_TLS} --jobs 16", 2),
    Part("staleness/quiet", "staleness of a guest without 2D acceleration whose user reads, types and pauses",
         f"{_QUIET} --links 20M40ms,2M100ms {_PACED} {_TLS} --jobs 16", 2),
    Part("pace", "Recorded pace over links with delay: packets, bytes, latency, staleness",
         f"{_PARTS} --links 20M40ms,50M100ms,2M100ms {_PACED} {_TLS} --jobs 16", 2),
    Part("pace/plain", "Recorded pace without TLS, on a slow link",
         f"{_DESKTOP} {_VIDEO} --links 2M100ms {_PACED} {_PLAIN} --jobs 16", 3),
    Part("pace/user", "Closed loop: what is the response time?",
         f"{_BOOT} {_DESKTOP} {_VIDEO} --links 20M40ms,2M100ms --pace user {_FAST} {_TLS} --jobs 8", 3),
    # not over a slow link: pictures that stay JPEG never equal the recording's
    Part("pace/quiet", "As pace/user, of a guest without 2D acceleration whose user reads, types and pauses",
         f"{_QUIET} --links 20M40ms --pace user {_FAST} {_TLS} --jobs 8", 2),
    Part("modes/made", "As modes, with generated recordings", f"{_GENERATED} {_EVERY_MODE} {_TLS}", 2),
    Part("modes/lines", "Recorded pace over links with losses, changes or outages", f"{_DESKTOP} --links {_LINES} {_PACED} {_TLS} --jobs 16", 3),
    Part("modes/bbr", "Recorded pace with BBR as TCP's congestion control",
         f"{_DESKTOP} --links 20M40ms,20M40ms-loss --with congestion=bbr {_PACED} {_TLS} --jobs 8", 3),
    Part("channels", "How late are sound, keys, pointer and data of a port?",
         f"linux-desktop@30-45 --links lan,20M40ms --with channels {_FAST} {_TLS} --jobs 4", 2),
    Part("channels/burst", "Sound, keys and pointer beside a desktop at pace max on a slow link",
         f"linux-desktop@30-45 --links 2M100ms --with channels=sound+inputs+pointer {_FAST} {_TLS} --jobs 4", 2),
    Part("recordings", "Does every mode draw the same, on every surface?",
         "linux-desktop linux-video gdi-synthetic all-commands --with show-surfaces", 1),
    Part("recordings/releases", "Does every release, stock and patched, draw the same?", "", 1, RELEASES),
)
# The pages from which the table of results/README.md is made.
TABLE = tuple(part.where for part in PARTS if part.folder == "modes")
