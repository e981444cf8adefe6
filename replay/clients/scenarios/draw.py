# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest draws text without a pause: messages keep arriving. The table above has their number per line."""

from __future__ import annotations

from clients.world import World


def run(world: World) -> str:
    client = world.client()
    world.machine.order("draw")
    lines, came = world.lines(), client.messages()
    world.must_flow(client, world.seconds)
    lines = world.lines() - lines
    world.figures["lines"] = lines
    if came is None:
        return f"{lines} lines"
    messages = (client.messages() or 0) - came
    world.figures |= {"messages": messages, "messages a line": round(messages / max(lines, 1), 2)}
    return f"{messages} messages, {lines} lines"
