# SPDX-License-Identifier: LGPL-2.1-or-later
"""The screen changes its size while the guest draws, from VGA text to the qxl driver's frame buffer (once in each run of QEMU)."""

from __future__ import annotations

from clients.errors import NotRun
from clients.world import World


def run(world: World) -> str:
    client = world.client()
    client.picture()
    if world.machine.graphics:
        raise NotRun("the guest had another screen already")
    before = world.card()
    world.must_show(client, before)
    world.machine.guest("draw")
    world.machine.guest("graphics")
    world.machine.graphics = True
    world.must_flow(client, 5)
    after = world.card()
    world.must_show(client, after)
    return f"{before.width}x{before.height} to {after.width}x{after.height}"
