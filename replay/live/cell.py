# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run of ./run live: a scenario at a guest, shown in one way over one link. It counts only if the link passed
its test, client and QEMU stayed alive, and steal time was low."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.lab import lab as labs
from bench.lab import beside, linktest, netns
from bench.lab.lab import Lab
from bench.lab.links import Link
from bench.measure import channels
from bench.measure.pcap import ETHERNET_HEADER
from bench.measure.stats import quantile
from bench.measure.steal import StealTime
from bench.measure.validity import STOLEN_LIMIT
from bench.runs.runner import Outcome
from bench.runs.store import Case
from guest.errors import Failed, NotRun
from guest.qemu import Qemu
from live import guests, viewers
from live.guests import Guest
from live.scenarios import Scenario
from live.user import User
from live.viewers import Viewer
from live.ways import Way

Record = dict[str, Any]


def wire(text: str, device: str, framed: bool) -> tuple[int, int]:
    """Bytes that the device has sent and received, from /proc/net/dev, as Ethernet frames; `framed`: the device's count includes
    Ethernet headers."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == device:
            numbers = [int(word) for word in rest.split()]
            header = 0 if framed else ETHERNET_HEADER
            return numbers[8] + header * numbers[9], numbers[0] + header * numbers[1]
    raise BenchError(f"no device {device} to count at")


def wire_of(lab: Lab) -> tuple[int, int]:
    return wire(Path(f"/proc/{netns.holder_of(lab.server)}/net/dev").read_text(), lab.device, lab.emulator != labs.SPICE_LINK)


@contextmanager
def _shown(way: Way, lab: Lab, qemu: Qemu, folder: Path) -> Iterator[Viewer]:
    height, width = qemu.screen().shape[:2]
    if way.page:
        from live import web        # these need packages that SPICE does not need
        show = functools.partial(web.browser, way.page)
    elif way.spice:
        show = viewers.drain
    else:
        from live import xviewer
        show = xviewer.tiger
    with show(lab, folder, width, height) as viewer:
        yield viewer


def _play(guest: Guest, scenario: Scenario, way: Way, lab: Lab, folder: Path, count: int) -> Record:
    if way.page and lab.link.relay:
        raise BenchError(f"a page has a relay of its own: not over {lab.link.name}")
    port = lab.ports[way.spice and not lab.link.unix]
    with guest.start(way, lab, folder) as qemu, \
            beside.relay(lab, port, guests.socket(way, lab, folder)) if lab.link.relay else nullcontext():
        qemu.booted()
        with _shown(way, lab, qemu, folder) as viewer:
            user = User(qemu, viewer)
            scenario.ready(user, qemu)
            lab.begin_changes()
            before, used, began = wire_of(lab), qemu.cpu(), time.monotonic()
            done = scenario.play(user, qemu, count)
            ended, after, now = time.monotonic(), wire_of(lab), qemu.cpu()
            record = {
                **asdict(done), "figure": scenario.figure, "seconds": ended - began,
                "bytes": after[0] - before[0], "bytes_up": after[1] - before[1],
                "cpu": {kind: now[kind] - used[kind] for kind in now}, "inexact": user.exact(),
            }
    return record | ({"sound": _sound(viewer, began, ended)} if guest.hardware.sound else {})


def _sound(viewer: Viewer, began: float, ended: float) -> Record:
    """The sound that was heard, of a guest that plays it all the time; times are of the monotonic clock."""
    arrivals, period = viewer.heard()
    heard = channels.heard([at for at in arrivals if began <= at / 1e9 <= ended], period)
    if not heard.seconds:
        raise Failed("no sound came")
    return {**asdict(heard), "late": quantile(heard.late, 0.95)}


def watched(play: Callable[[], Outcome]) -> Outcome:
    """A run with its steal time and load. It does not count if something broke, or the host took too much of the processors."""
    load, share = os.getloadavg()[0], None
    try:
        with StealTime() as stolen:
            began = time.monotonic_ns()
            done = play()
            ended = time.monotonic_ns()
        share = stolen.share(began, ended)
    except (Failed, NotRun, BenchError) as error:
        done = Outcome(invalid=str(error))
    taken = f"the host took {share:.0%} of the processors" if share is not None and share > STOLEN_LIMIT else None
    return replace(done, figures={**done.figures, "load": [load, os.getloadavg()[0]], "stolen": share}, invalid=done.invalid or taken)


def run(case: Case, guest: Guest, scenario: Scenario, way: Way, link: Link) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="spice-live-", ignore_cleanup_errors=True) as name, \
            labs.connect(link, seed=case.repeat) as lab:
        if wrong := linktest.check(lab):
            return Outcome(invalid=wrong)
        return watched(lambda: Outcome(_play(guest, scenario, way, lab, Path(name), case.count)))
