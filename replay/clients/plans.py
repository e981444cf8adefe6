# SPDX-License-Identifier: LGPL-2.1-or-later
"""All clients, transports and scenarios, and which combinations are run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from bench.runs.modes import STOCK
from bench.runs.store import Case
from clients import machine, target
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


def scenario(name: str) -> Callable[[World], str]:
    run: Callable[[World], str] = importlib.import_module(f"clients.scenarios.{name}").run
    return run


def cases(drivers: Sequence[type[Driver]], transports: Sequence[str], modes: Sequence[str], scenarios: Sequence[str],
          conditions: tuple[tuple[str, str], ...] = ()) -> list[Case]:
    """Those that share a QEMU follow each other."""
    found = [Case((driver.name, name), mode, transport, conditions, ours=mode != STOCK)
             for mode in modes for name in SCENARIOS if name in scenarios for driver in drivers
             for transport in target.TRANSPORTS if transport in transports and transport in driver.transports
             if (transport in target.PROXIES) == (name == IDLE)]
    ways = [machine.OPEN, machine.SASL, machine.UNIX, machine.SANDBOX]
    return sorted(found, key=lambda case: (modes.index(case.mode), ways.index(machine.WAY.get(case.link, machine.OPEN))))
