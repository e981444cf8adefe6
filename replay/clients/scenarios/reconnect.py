# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client connects and disconnects four times while the guest draws; the last one shows the right picture."""

from __future__ import annotations

from clients.world import World


def run(world: World) -> str:
    world.machine.order("draw")
    for _ in range(3):
        world.must_flow(world.client(), 3)
        world.nobody()
    world.last_shows()
    return "4 times"
