# SPDX-License-Identifier: LGPL-2.1-or-later
"""A second client takes the session over from the first, as upstream allows."""

from __future__ import annotations

from clients.world import World


def run(world: World) -> str:
    world.machine.order("draw")
    first = world.client()
    world.must_flow(first, 3)
    world.last_shows(6)
    return "the second one has it"
