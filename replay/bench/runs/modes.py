# SPDX-License-Identifier: LGPL-2.1-or-later
"""The modes, in the order of all tables: name and description; the settings that --modes accepts.

`stock` is the unpatched library. Every other mode is a value of SPICE_STREAM for the patched one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.common.errors import BenchError

STOCK = "stock"
UPSTREAM_IN_FLIGHT, _WINDOW_IN_FLIGHT = 40, 400     # messages


@dataclass(frozen=True)
class Mode:
    name: str
    says: str          # one line for tables and --help


MODES: dict[str, Mode] = {mode.name: mode for mode in (
    Mode(STOCK, "the unpatched library"),
    Mode("normal", "one write per message; over TLS one record per iovec"),
    Mode("gather", "as normal; a small message (threshold=1024 bytes) is one TLS record"),
    Mode("cork", "TCP_CORK around the messages of a send turn: upstream today"),
    Mode("more", "no cork: MSG_MORE on every message of a send turn except the last"),
    Mode("window", "cork, more messages in flight (window=400)"),
    Mode("batch", "messages share writes and TLS records"),
    Mode("flow", "batch, about one bandwidth-delay product in flight; a slow client gets the current screen instead of stale updates"),
)}


# The settings of SPICE_STREAM (red_stream_policy_parse): minimum and maximum of numbers, and the other values.
_SETTINGS = {"threshold": (1, 16384), "record": (512, 16384), "window": (1, 2**32 - 2), "hold": (0, 1_000_000),
             "zerocopy": (4096, 16 * 1024 * 1024)}
_WORDS = ("record=auto", "hold=auto", "catchup=on", "catchup=off", "exact=on", "exact=off", "display=on", "display=off",
          "ktls=on", "ktls=off", "timestamps=on", "timestamps=off", "zerocopy=off")


def check(name: str) -> str:
    """Returns a valid name (with its settings, as in gather:threshold=64), or raises BenchError with the known ones."""
    mode, *settings = re.split("[:,]", name)
    if mode not in MODES:
        raise BenchError(f"unknown mode '{mode}': choose one of {', '.join(MODES)}", 2)
    for setting in settings:
        what, _, value = setting.partition("=")
        least, most = _SETTINGS.get(what, (0, -1))
        if mode == STOCK or (mode, what) == ("flow", "window") or \
                setting not in _WORDS and not (value.isdecimal() and least <= int(value) <= most):
            known = ", ".join(f"{what}={low}-{high}" for what, (low, high) in _SETTINGS.items())
            raise BenchError(f"mode {mode} has no setting '{setting}': choose from {known} "
                             "(flow no window)", 2)
    return name


def base(name: str) -> Mode:
    """The mode without settings."""
    return MODES[name.split(":", 1)[0]]


def stream_value(name: str) -> str:
    """The value of SPICE_STREAM for a mode of the command line: gather:threshold=64 -> gather,threshold=64. Empty for stock, which has no
    modes."""
    return "" if name == STOCK else name.replace(":", ",")


def catches_up(name: str) -> bool:
    """Whether catch-up is on by default."""
    return base(name).name == "flow"


def unasked(name: str, pace: str) -> str | None:
    """The setting that is added to a run at this pace. At pace max catch-up is off, so that all modes send the same drawings."""
    return "catchup=off" if pace == "max" and catches_up(name) and "catchup=" not in name else None


def in_flight(name: str) -> int | None:
    """The mode's limit of messages in flight; None: limited by the BDP."""
    if base(name).name == "flow":
        return None
    asked = re.search(r"[:,]window=(\d+)", name)
    return int(asked[1]) if asked else _WINDOW_IN_FLIGHT if base(name).name == "window" else UPSTREAM_IN_FLIGHT


def row(library: str, mode: str) -> str:
    """The name of a table row. The tree's two libraries need no name."""
    return mode if library in ("stock", "patched") else f"{mode} ({library})"
