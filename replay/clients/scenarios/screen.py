# SPDX-License-Identifier: LGPL-2.1-or-later
"""After drawing, the client's picture equals QEMU's screendump, pixel by pixel; three times."""

from __future__ import annotations

from clients.world import World
from guest import picture


def run(world: World) -> str:
    client = world.client()
    client.picture()
    for _ in range(3):
        world.machine.order("draw")
        world.must_flow(client, 3)
        shown = world.card()
        world.must_show(client, shown)
    return f"{picture.size(shown)}, 3 times"
