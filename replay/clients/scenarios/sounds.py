# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest plays on both of its sound devices, which share one audiodev, and the client connects four times: sound arrives each time."""

from __future__ import annotations

import time
from collections.abc import Callable

from clients.world import World
from guest.errors import Failed

_TIMES, _SECONDS = 4, 20
_PLAYBACK = 5   # type of a channel


def play_on_both(world: World) -> None:
    """For ever, as nothing tells the guest to stop."""
    if not world.machine.tone:
        world.machine.order("tone")
        world.machine.tone = True
    world.machine.order("eval [ -e /run/both ] || { : >/run/both; yes zyxwvutsrqponmlkjihgfedcba >/dev/dsp1 & }")


def must_hear(hears: Callable[[], int]) -> int:
    """Bytes of sound in two seconds, once there is any."""
    deadline, before = time.monotonic() + _SECONDS, hears()
    while time.monotonic() < deadline:
        time.sleep(2)
        if (heard := hears() - before) > 0:
            return heard
    raise Failed(f"no sound in {_SECONDS} s")


def run(world: World) -> str:
    channels = set()
    for _ in range(_TIMES):
        client = world.client()
        client.hears()
        play_on_both(world)
        must_hear(client.hears)
        channels.add(sum(channel.get("channel-type") == _PLAYBACK for channel in world.machine.clients()))
        world.nobody()
    if len(channels) != 1:
        raise Failed(f"{sorted(channels)} playback channels, as the client connects again")
    return f"{_TIMES} times, {channels.pop()} playback channel(s)"
