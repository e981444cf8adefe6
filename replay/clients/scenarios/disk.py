# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest reads a USB disk that the client redirects (usbredir) while it draws; every byte is compared."""

from __future__ import annotations

import hashlib
import random
import time

from clients.world import World
from guest.errors import Failed

_SIZE = 1 << 20
_PATIENCE = 60


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    data = random.Random(1).randbytes(_SIZE)
    image = world.folder / "disc"
    image.write_bytes(data)
    client.plug_disk(image)
    deadline, seen = time.monotonic() + _PATIENCE, "none"
    while seen != hashlib.sha256(data).hexdigest():
        if time.monotonic() > deadline:
            raise Failed("the guest sees no disk" if seen == "none" else "the guest reads something else")
        time.sleep(1)
        seen = world.machine.order("disk", "disk")
    return f"{_SIZE} bytes"
