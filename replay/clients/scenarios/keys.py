# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keys typed at the client reach the guest, letter by letter, while it draws."""

from __future__ import annotations

from clients.world import World
from guest.errors import Failed

_TEXT = "sphinxofblackquartz"


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    world.must_flow(client, 6)
    client.type(_TEXT + "\n")
    typed = world.machine.typed(30)
    if typed != _TEXT:
        raise Failed(f"the guest read {typed!r}, not {_TEXT!r}")
    return f"{len(_TEXT)} letters"
