# SPDX-License-Identifier: LGPL-2.1-or-later
"""Through a common relay: the guest draws, the picture is right, keys arrive. Then the session is idle for longer than the minute after
which many relays close idle connections. Then keys must arrive, the guest draws again, and the picture must be right."""

from __future__ import annotations

import time

from clients.drivers.base import Driver
from clients.world import World
from guest.errors import Failed


def _works(world: World, client: Driver, text: str) -> None:
    world.machine.order("draw")
    world.must_flow(client, 6)
    client.type(text + "\n")
    if (typed := world.machine.typed(30)) != text:
        raise Failed(f"the guest read {typed!r}, not {text!r}")
    shown = world.card()
    if client.shows_pictures:
        world.must_show(client, shown)


def run(world: World) -> str:
    client = world.client()
    _works(world, client, "before")
    before = {(each["channel-type"], each["channel-id"]) for each in world.machine.clients()}
    time.sleep(world.rest)
    client.must_run()
    gone = before - {(each["channel-type"], each["channel-id"]) for each in world.machine.clients()}
    try:
        _works(world, client, "after")
    except Failed as error:
        raise Failed(f"after {world.rest:.0f} s without traffic {len(gone)} of {len(before)} channels are closed: {error}") from None
    if gone:
        raise Failed(f"after {world.rest:.0f} s without traffic {len(gone)} of {len(before)} channels are closed")
    return f"{world.rest:.0f} s without traffic"
