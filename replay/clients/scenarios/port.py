# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bytes go through a port into the guest and come back unchanged while it draws."""

from __future__ import annotations

import random

from clients.world import World
from guest.errors import Failed
from guest.qemu import ECHO_PORT

_SIZE = 200_000


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    data = random.Random(1).randbytes(_SIZE)
    back = client.through_port(data, ECHO_PORT)
    if back != data:
        same = next((at for at, (a, b) in enumerate(zip(data, back, strict=False)) if a != b), min(len(back), _SIZE))
        raise Failed(f"{len(back)} of {_SIZE} bytes came back, the first {same} as they were sent")
    return f"{_SIZE} bytes, there and back"
