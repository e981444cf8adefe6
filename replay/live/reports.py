# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live reports: what people who run SPICE have reported, as rows that fail (exit status 1) if it happens: a viewer that does
not survive fast scrolling on a large screen, a pointer that leaves trails, a picture that stands still until the mouse moves, a server
that does not survive connections while a video plays."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy

from guest.qemu import Qemu, wait_for
from live import cell, deployment
from live.deployment import PATIENCE, Place, Row, Seen, at_rest, connected, shown, tested
from live.guests import LARGE
from live.tiles import ALIKE, Look, Means, apply
from live.user import User
from live.viewers import Drain
from live.ways import Way

NAME = "reports"
_PAGE_STEPS, _STEP_LINES = 8, 120       # steps of the wheel down a page, then as many up; lines of pixels per step
_STALE = 5.0                            # seconds for which a clock may stand still
_CONNECTED = 20.0                       # seconds for which a client may wait for a picture while a video plays
_BUSY = ("sh", "-c", "while :; do :; done")


def _page(qemu: Qemu) -> None:
    """Makes a page of two screens: text, and below it a band of noise, which is no smaller than a photo."""
    for order in ("line=$(cat /sys/class/graphics/fb0/stride) tall=$(cut -d, -f2 /sys/class/graphics/fb0/virtual_size)",
                  "listing 150 1 >/dev/tty1; cat /dev/fb0 /dev/fb0 >/run/page",
                  "head -c $((300 * line)) /dev/urandom | dd of=/run/page bs=$line seek=$((tall + 40)) conv=notrunc 2>/dev/null",
                  # Linux 6.1 shows nothing of what is written line by line
                  "fling() { dd if=/run/page of=/dev/fb0 ibs=$line obs=1048576 skip=$1 count=$tall 2>/dev/null; }"):
        qemu.order(f"eval {order}")
    shown = qemu.screen()
    qemu.order(f"eval fling {_PAGE_STEPS * _STEP_LINES}")
    wait_for("page on the guest's screen", 10, lambda: not numpy.array_equal(qemu.screen(), shown))


def _flung(qemu: Qemu, viewer: Drain) -> None:
    """Text that scrolls as fast as the guest can draw it, up and down; then the page, down and up."""
    down = [f"fling {at * _STEP_LINES}" for at in range(1, _PAGE_STEPS + 1)]
    back = r"for n in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\033[H\033Mline %d of those that come from above' $n; done >/dev/tty1"
    for order in ("listing 40 $((n += 40)) >/dev/tty1", back, *down, *down[-2::-1], "fling 0"):
        qemu.order(f"eval {order}")
        viewer.follow()


def _large(place: Place, way: Way, name: str) -> Seen:
    made = place.guest(name)
    with tested("20M40ms") as lab, shown(place, way, lab, made) as (qemu, viewer, user):
        height, width = qemu.screen().shape[:2]
        _page(qemu)
        lags: list[float | None] = []
        began, bytes_, used = time.monotonic(), cell.wire_of(lab)[0], qemu.cpu()["worker"]
        while not lags or time.monotonic() < began + (place.count or 60):
            _flung(qemu, viewer)
            stopped = time.monotonic_ns()
            lags.append(max(0.0, (user.settled(stopped, changes=False) - stopped) / 1e9))
        seconds = time.monotonic() - began
        says = (f"{width}x{height}: the viewer lived for {seconds:.0f} s; per round {(cell.wire_of(lab)[0] - bytes_) / 1e6 / len(lags):.1f} MB, "
                f"{(qemu.cpu()['worker'] - used) / len(lags):.1f} s of the worker")
        if wrong := user.exact(PATIENCE):
            says += f"; {wrong:.2%} of the picture stayed wrong"
    return Seen(lags, says, failed=bool(wrong))


# places of the pointer: in each row of the grid from left to right, left of the window that scrolls
_COLUMNS, _ROWS_OF_PLACES = 25, 27
_PLACES = [(16 + 16 * column, 60 + 24 * row) for row in range(_ROWS_OF_PLACES) for column in range(_COLUMNS)]
_MOTIONS = 60   # per second


def followed(base: Means, looks: Sequence[Look], moved: Sequence[float]) -> tuple[list[float | None], int, float]:
    """For each motion of a pointer that the guest draws, at those times in ns: seconds until the client shows it there, or at a later
    place (None: never). The largest number of other places at which the client shows a pointer besides, and the share of looks
    at which it shows any."""
    rows, columns = ([place // 8 for place in axis] for axis in ([y + 5 for _, y in _PLACES], [x + 3 for x, _ in _PLACES]))
    means, newest, most, trails = base.copy(), -1, 0, 0
    waits: list[float | None] = [None] * len(moved)
    for look in looks:
        apply(means, look)
        shown = (abs(means[rows, columns] - base[rows, columns]) > ALIKE).nonzero()[0]
        sent = sum(when <= look.when for when in moved) - 1
        at = [number for place in shown if (number := sent - (sent - int(place)) % len(_PLACES)) >= 0]
        if at and max(at) > newest:
            for number in range(newest + 1, max(at) + 1):
                waits[number] = (look.when - moved[number]) / 1e9
            newest = max(at)
        most, trails = max(most, len(at) - 1), trails + (len(at) > 1)
    return waits, most, trails / max(1, len(looks))


def _pointer(place: Place, way: Way, link: str) -> Seen:
    made = place.guest("desktop-std")
    with tested(link) as lab, shown(place, way, lab, made) as (qemu, viewer, user):
        height, width = qemu.screen().shape[:2]
        qemu.order("eval for each in $terminal $page $web $editor $behind $moved; do xdotool windowminimize $each; done")
        qemu.order("eval xterm -T scrolling -geometry 80x50+450+10 -fa 'DejaVu Sans Mono' -fs 8 -e sh -c "
                   "'until [ -e /tmp/go ]; do sleep 0.1; done; while [ -e /tmp/go ]; do n=$((n + 1)); "
                   "echo $n the quick brown fox jumps over the lazy dog $((n * 7919 % 65521)) times; sleep 0.05; done; sleep 1000' "
                   "</dev/null >/dev/null 2>&1 &")
        time.sleep(5)
        viewer.move(width - 40, height - 40)
        user.calm()
        qemu.order("eval : >/tmp/go")
        time.sleep(1)
        viewer.follow()
        viewer.log.forget()
        moved: list[float] = []
        began = time.monotonic()
        for number in range(place.count or 20 * _MOTIONS):
            viewer.move(*_PLACES[number % len(_PLACES)])
            moved.append(time.monotonic_ns())
            viewer.follow()
            time.sleep(max(0.0, began + len(moved) / _MOTIONS - time.monotonic()))
        qemu.order("eval rm /tmp/go")
        stopped = time.monotonic_ns()
        user.settled(stopped, changes=False)
        lags, most, share = followed(viewer.log.base, viewer.log.looks, moved)
        says = f"up to {most} trails, at {share:.0%} of the looks; text and pointer after a stop exact"
        if wrong := user.exact(PATIENCE):
            says = f"up to {most} trails; {wrong:.2%} of the picture stayed wrong"
    return Seen(lags, says, failed=bool(wrong) or None in lags)


@contextlib.contextmanager
def _busy_host(processes: int) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(processes):
            stack.callback(stack.enter_context(subprocess.Popen(_BUSY)).kill)
        yield


def _view_only(place: Place, way: Way, busy: bool) -> Seen:
    """The guest's clock ticks by itself, and the harness only reads the client's log: whatever it sent could wake the server."""
    with tested("wifi-lossy") as lab, shown(place, way, lab) as (qemu, viewer, _):
        qemu.order(r"eval while :; do n=$((n + 1)); echo $n >/run/ticks; printf '\033[H%8d' $n; sleep 1; done </dev/null >/dev/tty1 2>/dev/null &")
        with _busy_host(2 * (os.cpu_count() or 1) if busy else 0):
            ticks, waits = int(qemu.order("eval echo ticks $(cat /run/ticks)", "ticks") or 0), []
            began = last = time.monotonic()
            while time.monotonic() < began + (place.count or 120):
                time.sleep(0.05)
                if viewer.follow():
                    waits.append(max(0.0, viewer.log.last / 1e9 - last - 1))
                    last = viewer.log.last / 1e9
                    viewer.log.forget()
                elif time.monotonic() > last + 1 + _STALE:
                    break
        stood = time.monotonic() - last
        drawn = int(qemu.order("eval echo ticks $(cat /run/ticks)", "ticks")) - ticks
    frozen = stood > 1 + _STALE and drawn > len(waits) + _STALE / 2
    says = f"{drawn} ticks of the guest, {len(waits)} changes at the client"
    return Seen(sorted(waits)[-100:], f"{says}; stood still for {stood:.0f} s" if frozen else says, failed=frozen)


def _video(place: Place, way: Way, streaming: str) -> Seen:
    made, chance, waits = place.guest("desktop-qxl"), random.Random(1), list[float | None]()
    with tested("4g") as lab, at_rest(place, replace(way, video=streaming), lab, made) as qemu:
        height, width = qemu.screen().shape[:2]
        with connected(place, lab, "first", size=(width, height)) as viewer:
            user = User(qemu, viewer, PATIENCE)
            qemu.order("app terminal")
            time.sleep(2)
            user.calm()
            qemu.order("draw")
            time.sleep(5)
            began, before = time.monotonic(), cell.wire_of(lab)[0]
            time.sleep(10)
            viewer.follow()
            rate = (cell.wire_of(lab)[0] - before) * 8 / 1e6 / (time.monotonic() - began)
        for number in range(place.count or 100):
            began = time.monotonic()
            with connected(place, lab, f"client-{number}", size=(width, height)) as viewer:
                while not viewer.follow():
                    if time.monotonic() > began + _CONNECTED:
                        return Seen([*waits, None], f"client {number + 1} got no picture", failed=True)
                    time.sleep(0.02)
                waits.append(time.monotonic() - began)
                time.sleep(chance.random())
            qemu.qmp("query-status")
        qemu.screen()       # of the worker's thread
        qemu.order("card")
        with connected(place, lab, "last", size=(width, height)) as viewer:
            wrong = User(qemu, viewer, PATIENCE).exact(PATIENCE)
    says = f"{rate:.1f} Mbit/s while it plays; {f'{wrong:.2%} of the last picture stayed wrong' if wrong else 'the last picture exact'}"
    return Seen(waits, says, failed=bool(wrong))


ROWS = {row.name: row for row in (
    *(Row(f"large-{name.removeprefix('text-')}", "the last picture after fast scrolling, text and a page, both directions, over 20M40ms",
          partial(_large, name=name)) for name in LARGE),
    *(Row(f"pointer-{link}", f"a pointer that the guest draws, {_MOTIONS} motions per second beside text that scrolls, over {link}",
          partial(_pointer, link=link)) for link in ("lan", "20M40ms", "2M100ms")),
    Row("view-only", "a clock, by a client that never sends input, over wifi-lossy: staleness of the 100 oldest changes",
        partial(_view_only, busy=False)),
    Row("view-only-busy", "the same beside twice as many busy processes as processors", partial(_view_only, busy=True)),
    *(Row(f"video-{streaming}", f"the first picture of a client that connects over 4g while a video plays, QXL, streaming-video={streaming}",
          partial(_video, streaming=streaming)) for streaming in ("filter", "all")),
)}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures what people have reported: large screens, a pointer drawn by the guest, a client that only watches, "
                          "connections while a video plays. A row fails (exit status 1) if what was reported happens.")
    deployment.options(parser, ROWS)
    parser.add_argument("--count", type=int, metavar="N", help="length of a run: seconds, connections or motions, by row")


def execute(args: argparse.Namespace) -> int:
    return deployment.execute(args, NAME, ROWS)
