# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client stops reading for 30 s while the guest draws, then continues. QEMU must reply meanwhile, and afterwards the picture must be
right."""

from __future__ import annotations

import time

from clients.world import World
from guest.errors import Failed

_SECONDS = 30


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    world.must_flow(client, 3)
    client.freeze()
    worst, ends = 0.0, time.monotonic() + _SECONDS
    while time.monotonic() < ends:
        asked = time.monotonic()
        world.machine.qmp("query-status")
        worst = max(worst, time.monotonic() - asked)
        time.sleep(1)
    client.thaw()
    if not client.running():
        raise Failed(f"{client.name} did not come back: {client.complaint()}")
    world.must_flow(client, 10)
    if client.shows_pictures:
        world.must_show(client, world.card())
    world.figures["longest answer of QEMU, s"] = round(worst, 2)
    return f"{_SECONDS} s"
