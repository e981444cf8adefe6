# SPDX-License-Identifier: LGPL-2.1-or-later
"""The screen changes its size while the guest draws, from VGA text to the qxl driver's frame buffer (once in each run of QEMU)."""

from __future__ import annotations

from clients.world import World
from guest import picture
from guest.errors import NotRun


def run(world: World) -> str:
    client = world.client()
    client.picture()
    if world.machine.graphics:
        raise NotRun("the guest had another screen already")
    before = world.card()
    world.must_show(client, before)
    world.machine.order("draw")
    world.machine.order("graphics qxl")
    world.machine.graphics = True
    world.must_flow(client, 5)
    after = world.card()
    world.must_show(client, after)
    return f"{picture.size(before)} to {picture.size(after)}"
