# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest plays a tone while it draws: sound keeps arriving."""

from __future__ import annotations

import time

from clients.world import World
from guest.errors import Failed

_SECONDS = 10


def run(world: World) -> str:
    client = world.client()
    client.hears()
    world.machine.order("draw")
    if not world.machine.tone:
        world.machine.order("tone")
        world.machine.tone = True
    time.sleep(3)
    heard = [client.hears()]
    for _ in range(_SECONDS):
        time.sleep(1)
        heard.append(client.hears())
    world.figures["bytes of sound"] = heard[-1] - heard[0]
    if heard[-1] == heard[0]:
        raise Failed("no sound")
    if heard[-1] == heard[-6]:
        raise Failed("sound stopped")
    return f"{heard[-1] - heard[0]} bytes in {_SECONDS} s"
