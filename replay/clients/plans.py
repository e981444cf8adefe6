# SPDX-License-Identifier: LGPL-2.1-or-later
"""All clients, transports and scenarios, and which combinations are run."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from clients import target
from clients.drivers.base import Driver
from clients.drivers.counting import GtkLike, PureSpiceLike, RyllLike
from clients.drivers.gtk import BullseyeGtk, SpiceGtk, TrixieGtk
from clients.drivers.html5 import Html5, NpmHtml5
from clients.drivers.remote_viewer import RemoteViewer
from clients.drivers.ryll import Ryll
from clients.world import World

DRIVERS: tuple[type[Driver], ...] = (
    RemoteViewer, SpiceGtk, BullseyeGtk, TrixieGtk, Html5, NpmHtml5, Ryll, PureSpiceLike, RyllLike, GtkLike)

# in this order on a QEMU; resize changes its screen permanently
SCENARIOS = ("draw", "keys", "screen", "reconnect", "takeover", "vanish", "sleep", "port", "sound", "sounds", "clipboard", "vdagent", "file", "disk", "idle", "resize")
IDLE = "idle"   # the only scenario through common relays, and it runs only there


@dataclass(frozen=True)
class Plan:
    """The cells to run on one QEMU after the other."""

    driver: type[Driver]
    transport: str
    scenario: str


def scenario(name: str) -> Callable[[World], str]:
    run: Callable[[World], str] = importlib.import_module(f"clients.scenarios.{name}").run
    return run


def plans(drivers: list[type[Driver]], transports: list[str], scenarios: list[str]) -> list[Plan]:
    return [
        Plan(driver, transport, name)
        for name in SCENARIOS
        if name in scenarios
        for driver in drivers
        for transport in target.TRANSPORTS
        if transport in transports and transport in driver.transports
        if (transport in target.PROXIES) == (name == IDLE)
    ]
