# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file is copied through webdav into the guest and another one back while it draws; every byte is compared."""

from __future__ import annotations

import random

from clients.webdav import Files
from clients.world import World
from guest.errors import Failed
from guest.qemu import FILES_PORT

_SIZE = 300_000


def run(world: World) -> str:
    client = world.client()
    folder = client.shares()
    world.machine.order("draw")
    there, back = random.Random(1).randbytes(_SIZE), random.Random(2).randbytes(_SIZE)
    (folder / "there").write_bytes(there)
    with world.machine.relayed(FILES_PORT) as port:
        files = Files(port)
        if (got := files.get("there")) != there:
            raise Failed(f"the guest got {len(got)} bytes of {_SIZE}, or others")
        files.put("back", back)
        if (got := (folder / "back").read_bytes()) != back:
            raise Failed(f"the client got {len(got)} bytes of {_SIZE}, or others")
    return f"{_SIZE} bytes, each way"
