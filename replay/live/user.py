# SPDX-License-Identifier: LGPL-2.1-or-later
"""The user at the client: one action at a time. The next action comes a think time after the client shows what the
guest's frame buffer holds. The response time runs from the action until the client's screen reached that picture.
It is taken from the screen log, so a screendump, which costs the guest time, is made only afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from guest.errors import Failed
from guest.picture import Pixels
from guest.qemu import Qemu
from live.tiles import Means, alike, differing, means_of, shown_at
from live.viewers import Viewer

LIMIT = 30.0        # seconds until the picture must be right
THINK = 0.25        # think time: from a shown picture to the next action; the guest must not change meanwhile
_STEP = 0.01
_QUIET = 0.05       # the client's picture has not changed for so long: it may be complete
_LOOK = 1.0         # largest interval between screendumps
_BLINKING = 1.2     # seconds: longest period of a blinking cursor


class AtRest(Failed):
    """The picture was not shown within LIMIT."""


@dataclass
class User:
    qemu: Qemu
    viewer: Viewer
    limit: float | None = None          # seconds, instead of LIMIT
    masked: Means | None = None         # areas that change without an action
    truth: Means = field(init=False)    # the guest's last screen at rest

    def __post_init__(self) -> None:
        """Waits until the client shows the guest."""
        self.truth = self._guest()
        self.masked = differing(self.truth, self.truth)
        ends = time.monotonic() + _BLINKING
        while time.monotonic() < ends:
            time.sleep(0.15)
            self.masked |= differing(self.truth, self._guest())
        if self.masked.mean() > 0.1:
            raise Failed("the guest does not stand still before it has anything to do")
        self.settled(time.monotonic_ns(), changes=False)

    def calm(self) -> None:
        """Waits until the client shows the guest, after something that is not timed."""
        self.viewer.follow()
        self.settled(time.monotonic_ns(), changes=False)

    def _guest(self) -> Means:
        return means_of(self.qemu.screen())

    def act(self, what: Callable[[], None]) -> float:
        """Performs the action, waits until its result is shown, and thinks. Returns the response time in seconds; raises
        AtRest."""
        self.viewer.follow()
        self.viewer.log.forget()
        began = time.monotonic_ns()
        what()
        shown = self.settled(began)
        return max(0.0, (shown - began) / 1e9)

    def settled(self, began: int, changes: bool = True) -> int:
        """When the client showed the guest's screen at rest; `changes`: that screen must differ from the last one."""
        limit = self.limit or LIMIT
        deadline, looked = time.monotonic() + limit, time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(_STEP)
            changed = self.viewer.follow()
            quiet = (time.monotonic_ns() - max(self.viewer.log.last, began)) / 1e9
            if not (not changed and _QUIET <= quiet and self.viewer.log.looks) and time.monotonic() - looked < _LOOK:
                continue
            looked = time.monotonic()
            truth = self._guest()
            if changes and alike(truth, self.truth, self.masked) or not self._shows(truth):
                time.sleep(_QUIET)
                continue
            time.sleep(THINK)
            if not alike(self._guest(), truth, self.masked) or not self._shows(truth):
                continue
            self.truth = truth
            return shown_at(self.viewer.log.base, self.viewer.log.looks, truth, self.masked) or began
        if alike(self._guest(), self.truth, self.masked) and changes:
            raise AtRest(f"nothing changed on the guest's screen in {limit:.0f} s")
        self.truth = self._guest()
        raise AtRest(f"the client does not show what the guest does in {limit:.0f} s")

    def _shows(self, truth: Means) -> bool:
        self.viewer.follow()
        return alike(self.viewer.log.means, truth, self.masked)

    def exact(self, seconds: float = 10.0) -> float:
        """Share of the pixels that differ: see differ()."""
        return differ(self.qemu.screen, self.viewer.picture, seconds)


def differ(guest: Callable[[], Pixels], client: Callable[[], Pixels], seconds: float) -> float:
    """Share of the pixels that differ after the time at most: JPEG may be refined later."""
    deadline = time.monotonic() + seconds
    while True:
        wanted, shown = guest(), client()
        if wanted.shape != shown.shape:
            raise Failed(f"the client's screen has {shown.shape[1]}x{shown.shape[0]} pixels, the guest's {wanted.shape[1]}x"
                         f"{wanted.shape[0]}")
        wrong = float((wanted != shown).any(axis=2).mean())
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(0.5)
