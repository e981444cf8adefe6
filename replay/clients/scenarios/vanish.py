# SPDX-License-Identifier: LGPL-2.1-or-later
"""The client is killed while the guest draws, three times; the next one connects and shows the right picture."""

from __future__ import annotations

from clients.world import World


def run(world: World) -> str:
    world.machine.order("draw")
    for _ in range(3):
        client = world.client()
        world.must_flow(client, 3)
        client.vanish()
        world.check_machine()
        world.nobody()
    world.last_shows()
    return "3 times"
