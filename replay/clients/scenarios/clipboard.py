# SPDX-License-Identifier: LGPL-2.1-or-later
"""The clipboard is copied both ways while the guest draws. The guest carries the bytes; a stand-in on the host speaks the agent's protocol."""

from __future__ import annotations

import random
from contextlib import suppress

from clients.agent import Agent
from clients.drivers.base import Driver
from clients.world import World
from guest.errors import Failed
from guest.qemu import AGENT_PORT

_LETTERS = 60_000
_PATIENCE = 60
_AGAIN = 4


def _text(seed: int) -> str:
    return "".join(random.Random(seed).choices("abc xyz äöü €\n", k=_LETTERS))


def _copied(client: Driver, agent: Agent) -> str:
    """A client offers nothing until it has heard what the agent can, and not all tell when that is: copied again, as one would."""
    for _ in range(_AGAIN):
        client.copy(_text(1))
        with suppress(Failed):
            return agent.taken(_PATIENCE / _AGAIN)
    raise Failed("nothing from the client's clipboard")


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    agent = Agent(world.machine.relayed(AGENT_PORT))
    try:
        agent.met(_PATIENCE)
        if (got := _copied(client, agent)) != _text(1):
            raise Failed(f"the guest got {len(got)} letters of {_LETTERS}, or others")
        agent.offer(_text(2))
        if (got := client.paste()) != _text(2):
            raise Failed(f"the client got {len(got)} letters of {_LETTERS}, or others")
    finally:
        agent.close()
    return f"{_LETTERS} letters, there and back"
