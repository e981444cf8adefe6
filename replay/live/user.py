# SPDX-License-Identifier: LGPL-2.1-or-later
"""The user at the client: one action at a time. The next action comes a think time after the client shows what the
guest's frame buffer holds. The response time runs from the action until the client's screen reached that picture.
It is taken from the screen log, so a screendump, which costs the guest time, is made only afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from clients.errors import Failed
from live.qemu import Qemu
from live.tiles import Means, alike, differing, means_of, shown_at
from live.viewers import Viewer

LIMIT = 30.0        # seconds for a picture to be the right one
THINK = 0.25        # from when it is until the next action; the guest has to stand still as long
_STEP = 0.01
_QUIET = 0.05       # the client's picture has not changed for so long: it may be all
_LOOK = 1.0         # the guest is looked at so often at least
_BLINKING = 1.2     # seconds: a cursor is on and off within


class AtRest(Failed):
    """What is not there within LIMIT."""


@dataclass
class User:
    qemu: Qemu
    viewer: Viewer
    limit: float | None = None          # seconds, instead of LIMIT
    masked: Means | None = None         # what changes while nobody does anything
    truth: Means = field(init=False)    # of the guest at rest, as it was seen last

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
        """After something that nobody timed: until the client shows it."""
        self.viewer.follow()
        self.settled(time.monotonic_ns(), changes=False)

    def _guest(self) -> Means:
        return means_of(self.qemu.screen())

    def act(self, what: Callable[[], None]) -> float:
        """Does it, waits until it is shown, and thinks. Returns the seconds that it took to be shown; raises AtRest."""
        self.viewer.follow()
        self.viewer.log.forget()
        began = time.monotonic_ns()
        what()
        shown = self.settled(began)
        return max(0.0, (shown - began) / 1e9)

    def settled(self, began: int, changes: bool = True) -> int:
        """When the client had become what the guest shows at rest; `changes`: which is something else than before."""
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
        """How large a part of the pixels differs, at the latest when nothing gets better any more; JPEG may be made good later."""
        deadline = time.monotonic() + seconds
        while True:
            wanted, shown = self.qemu.screen(), self.viewer.picture()
            if wanted.shape != shown.shape:
                raise Failed(f"the client's screen has {shown.shape[1]}x{shown.shape[0]} pixels, the guest's {wanted.shape[1]}x"
                             f"{wanted.shape[0]}")
            wrong = float((wanted != shown).any(axis=2).mean())
            if not wrong or time.monotonic() > deadline:
                return wrong
            time.sleep(0.5)
