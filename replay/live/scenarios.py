# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is done at a guest, and which guests there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from live.qemu import Qemu
from live.user import AtRest, User

DRAW_SECONDS = 4.0
_GIVE_UP = 4        # failures one after the other: 30 s each


@dataclass
class Done:
    """What a scenario saw. Seconds; None for an action whose picture never came."""

    responses: list[float | None] = field(default_factory=list)     # from an action to its picture
    lags: list[float | None] = field(default_factory=list)          # from when the guest stopped to its picture
    lines: int = 0              # of text that the guest drew meanwhile, if it says how many
    drawing: float = 0.0        # seconds for which it drew, where it draws by itself
    changes: int = 0            # how often the client's picture was another one in that time
    why: str = ""               # of the last failure

    @property
    def waited(self) -> list[float | None]:
        return self.responses or self.lags

    def hopeless(self) -> bool:
        return len(self.waited) >= _GIVE_UP and not any(one is not None for one in self.waited[-_GIVE_UP:])


@dataclass(frozen=True)
class Scenario:
    name: str
    guest: str                  # kind
    says: str
    play: Callable[[User, Qemu, int], Done]
    count: int                  # actions of the main set
    seconds: float              # that one takes, about, with the think time
    figure: str = "response"    # or lag: what its waits are


def _acted(user: User, count: int, action: Callable[[int], None]) -> Done:
    done = Done()
    for number in range(count):
        try:
            done.responses.append(user.act(lambda at=number: action(at)))  # type: ignore[misc]
        except AtRest as error:
            done.responses.append(None)
            done.why = str(error)
            if done.hopeless():
                break
    return done


def _keys(app: str, key: str, wrap: int = 0) -> Callable[[User, Qemu, int], Done]:
    """Taps a key again and again in a program of the text guest; `wrap`: and Enter instead after so many."""

    def play(user: User, qemu: Qemu, count: int) -> Done:
        qemu.order(f"app {app}")
        user.calm()
        return _acted(user, count, lambda at: user.viewer.tap("enter" if wrap and at % wrap == wrap - 1 else key))

    return play


def scroll(user: User, qemu: Qemu, count: int) -> Done:
    """The guest draws lines for some seconds, then a card that stands still."""
    done = Done()
    for _ in range(count):
        user.viewer.follow()
        user.viewer.log.forget()
        before, began = int(qemu.order("lines", "lines") or 0), time.monotonic()
        qemu.order("draw")
        while time.monotonic() < began + DRAW_SECONDS:
            time.sleep(0.02)
            user.viewer.follow()
        done.changes += len(user.viewer.log.looks)
        done.drawing += time.monotonic() - began
        qemu.order("card")
        stopped = time.monotonic_ns()
        done.lines += int(qemu.order("lines", "lines") or 0) - before
        try:
            done.lags.append(max(0.0, (user.settled(stopped) - stopped) / 1e9))
        except AtRest as error:
            done.lags.append(None)
            done.why = str(error)
            if done.hopeless():
                break
    return done


SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (
    Scenario("scroll", "text", "18 lines of text a second for 4 s, then a card that stands still", scroll, 30, 6.0, "lag"),
    Scenario("type", "text", "a key, its letter", _keys("echo", "a", 40), 100, 0.4),
    Scenario("line", "text", "a key, a line of text: the screen scrolls by one", _keys("line", "space"), 100, 0.4),
    Scenario("page", "text", "a key, a new screen of text", _keys("page", "space"), 100, 0.5),
    Scenario("burst", "text", "a key, 600 lines of a listing", _keys("burst", "space"), 30, 1.5),
)}
