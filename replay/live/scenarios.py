# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scenarios: actions at a guest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from guest.qemu import Qemu
from live.user import LIMIT, AtRest, User
from live.viewers import LEFT, WHEEL_DOWN, WHEEL_UP, Viewer
from live.ways import BROWSERS, VNC

DRAW_SECONDS = 4.0
_GIVE_UP = 4        # failures in a row, 30 s each
_RAISE = 1.5        # seconds until a requested window starts to appear on a busy machine
_MIDDLE = (600, 400)
_TITLE, _STEPS = (440, 208), 10     # pixels per step of the dragged window; steps until it goes back
_LETTERS = "thequickbrownfoxjumpsoverthelazydog"


@dataclass
class Done:
    """Results of a scenario, in seconds; None for a picture that was not shown."""

    responses: list[float | None] = field(default_factory=list)     # from an action until its picture is shown
    lags: list[float | None] = field(default_factory=list)          # from when the guest stopped until its picture is shown
    lines: int = 0              # lines of text that the guest drew, if known
    drawing: float = 0.0        # seconds for which the guest drew by itself
    changes: int = 0            # changes of the client's picture in that time
    why: str = ""               # message of the last failure

    @property
    def waited(self) -> list[float | None]:
        return self.responses or self.lags

    def hopeless(self) -> bool:
        return len(self.waited) >= _GIVE_UP and not any(one is not None for one in self.waited[-_GIVE_UP:])


Ready = Callable[[User, Qemu], None]
Play = Callable[[User, Qemu, int], Done]


@dataclass(frozen=True)
class Scenario:
    name: str
    guest: str                  # kind
    says: str
    ready: Ready                # preparation, not measured
    play: Play
    count: int                  # actions in the main set
    seconds: float              # seconds per action, about, including think time
    figure: str = "response"    # or lag
    not_by: Mapping[str, str] = field(default_factory=dict)     # way -> why the scenario cannot run with it


def _repeated(action: Callable[[User, int], None]) -> Play:
    """Performs the actions one after another."""

    def play(user: User, _qemu: Qemu, count: int) -> Done:
        done = Done()
        for number in range(count):
            try:
                done.responses.append(user.act(lambda at=number: action(user, at)))  # type: ignore[misc]
            except AtRest as error:
                done.responses.append(None)
                done.why = str(error)
                if done.hopeless():
                    break
        return done

    return play


def _taps(key: str) -> Play:
    return _repeated(lambda user, _at: user.viewer.tap(key))


def _and_back(turn: int, there: Callable[[Viewer], None], back: Callable[[Viewer], None]) -> Play:
    """Performs `there` so many times, then `back` equally often."""
    return _repeated(lambda user, at: (back if at // turn % 2 else there)(user.viewer))


def _app(name: str) -> Ready:
    """Starts a program of the text guest."""

    def ready(user: User, qemu: Qemu) -> None:
        qemu.order(f"app {name}")
        user.calm()

    return ready


def _window(name: str, warm: Callable[[Viewer], None] | None = None) -> Ready:
    """Prepares a window of the desktop, with the pointer in its middle. `warm` is done once, as programs ignore the first step of
    a wheel, or need long for the first key."""

    def ready(user: User, qemu: Qemu) -> None:
        qemu.order(f"app {name}")
        time.sleep(_RAISE)
        user.calm()
        user.viewer.move(*_MIDDLE)
        user.calm()
        if warm:
            warm(user.viewer)
            time.sleep(_RAISE)
            user.calm()

    return ready


def _grasp(user: User, qemu: Qemu) -> None:
    """Presses the button on a window's title. The first motion only starts the drag in the window manager; if the client draws
    the pointer, nothing changes on the guest's screen."""
    _window("windows")(user, qemu)
    user.viewer.move(*_TITLE)
    user.calm()
    user.viewer.button(LEFT, True)
    user.calm()
    user.viewer.move(_TITLE[0] - 20, _TITLE[1] - 12)
    time.sleep(_RAISE)
    user.calm()


def _drag(user: User, at: int) -> None:
    """Moves the window one step to the lower right, or back."""
    far = (at + 1) % (2 * _STEPS)
    far = min(far, 2 * _STEPS - far)
    user.viewer.move(_TITLE[0] + 20 * far, _TITLE[1] + 12 * far)


def _letter(user: User, at: int) -> None:
    user.viewer.tap("enter" if at % 40 == 39 else _LETTERS[at % len(_LETTERS)])


def scroll(user: User, qemu: Qemu, count: int, beside: Callable[[], None] = lambda: None) -> Done:
    """The guest draws lines for some seconds, while `beside` is done over and over, then a still picture."""
    done = Done()
    for _ in range(count):
        user.viewer.follow()
        user.viewer.log.forget()
        before, began = int(qemu.order("lines", "lines") or 0), time.monotonic()
        qemu.order("draw")
        while time.monotonic() < began + DRAW_SECONDS:
            time.sleep(0.02)
            user.viewer.follow()
            beside()
        done.changes += len(user.viewer.log.looks)
        done.drawing += time.monotonic() - began
        qemu.order("card")
        stopped = time.monotonic_ns()
        done.lines += int(qemu.order("lines", "lines") or 0) - before
        _stopped(user, done, stopped)
        if done.hopeless():
            break
    return done


def _tone(user: User, qemu: Qemu) -> None:
    qemu.order("tone")
    time.sleep(_RAISE)
    user.calm()


def video(user: User, qemu: Qemu, count: int) -> Done:
    """The video plays for some seconds, then its last frame stays."""
    done = Done()
    for _ in range(count):
        user.viewer.log.forget()
        qemu.order("draw")
        deadline = time.monotonic() + LIMIT
        while not user.viewer.follow() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(1)
        user.viewer.follow()
        user.viewer.log.forget()
        began = time.monotonic()
        while time.monotonic() < began + DRAW_SECONDS:
            time.sleep(0.02)
            user.viewer.follow()
        qemu.order("card")
        done.changes += len(user.viewer.log.looks)
        done.drawing += time.monotonic() - began
        _stopped(user, done, time.monotonic_ns())
        qemu.order("end")
        time.sleep(_RAISE)
        try:
            user.calm()
        except AtRest as error:     # the picture is still of the video: counted as a failure
            done.lags.append(None)
            done.why = f"after the video, {error}"
        if done.hopeless():
            break
    return done


def _stopped(user: User, done: Done, when: int) -> None:
    """Waits until the client shows the guest's last picture."""
    try:
        done.lags.append(max(0.0, (user.settled(when, changes=False) - when) / 1e9))
    except AtRest as error:
        done.lags.append(None)
        done.why = str(error)


def _nothing(user: User, qemu: Qemu) -> None:
    pass


SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (
    Scenario("scroll", "text", "18 lines of text per second for 4 s, then a still picture", _nothing, scroll, 20, 4.8, "lag"),
    Scenario("sound", "sound", "sound, and beside it 18 lines of text per second for 4 s, then a still picture", _tone, scroll,
             10, 4.8, "lag",
             {VNC: "TigerVNC's viewer plays no sound", **dict.fromkeys(BROWSERS, "a browser's sound is not examined")}),
    Scenario("type", "text", "a key; its letter appears", _app("echo"), _taps("a"), 100, 0.4),
    Scenario("line", "text", "a key; the screen scrolls by one line of text", _app("line"), _taps("space"), 100, 0.4),
    Scenario("page", "text", "a key; a new screen of text", _app("page"), _taps("space"), 100, 0.4),
    Scenario("burst", "text", "a key; a listing of 600 lines", _app("burst"), _taps("space"), 30, 1.5),
    Scenario("terminal", "desktop", "a key in less (xterm); the text scrolls by a line", _window("terminal", lambda viewer: viewer.tap("down")),
             _and_back(50, lambda viewer: viewer.tap("down"), lambda viewer: viewer.tap("up")), 100, 0.6),
    Scenario("pdf", "desktop", "a key in mupdf; most of a page down", _window("page", lambda viewer: viewer.tap("space")),
             _and_back(15, lambda viewer: viewer.tap("space"), lambda viewer: viewer.tap("b")), 100, 0.8),
    Scenario("web", "desktop", "a step of the mouse wheel on a page in NetSurf", _window("web", lambda viewer: viewer.wheel(WHEEL_DOWN)),
             _and_back(30, lambda viewer: viewer.wheel(WHEEL_DOWN), lambda viewer: viewer.wheel(WHEEL_UP)), 100, 0.7),
    Scenario("editor", "desktop", "a key in Mousepad; its letter appears, the line moves", _window("editor", lambda viewer: viewer.tap("a")),
             _repeated(_letter), 100, 0.6),
    Scenario("drag", "desktop", "a window is dragged 23 pixels over another one", _grasp, _repeated(_drag), 100, 0.7),
    Scenario("video", "desktop", "a video of 320x240 for 4 s, then its last frame", _window("terminal"), video, 20, 8.7,
             "lag"),
)}
