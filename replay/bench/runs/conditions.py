# SPDX-License-Identifier: LGPL-2.1-or-later
"""What holds for every run of a comparison. The command line sets it, results keep it, and what differs in it can't be
compared."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from bench.lab import lab


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Each field is an option of ./run compare, and a key of a result's plan."""
    tls: str = "1.3"                    # the version, where the transport is TLS
    emulator: str = lab.SPICE_LINK      # of links that are not the machine's own
    congestion: str = lab.CONGESTION    # the algorithm of TCP, at both ends
    slow_client: float = 1.0            # the client takes so many times as long for everything
    beside_download: bool = False       # a bulk TCP download shares the link
    compression: str | None = None      # of images; None: as the player has it
    jpeg: str | None = None             # for pictures; None: over a slow link
    streaming: str | None = None        # of video; None: as is good for the pace
    channels: str | None = None         # made-up traffic beside the display: see channels.py
    show_surfaces: bool = False         # pictures hold every surface, not the primary alone
    probe_every: int | None = None      # milliseconds; 0: no probes, None: as is good for the pace
    max_stolen: float | None = None     # percent of the processors' time that the machine's host may take; None: any

    @classmethod
    def asked(cls, args: argparse.Namespace) -> Self:
        return cls(**{each.name: getattr(args, each.name) for each in fields(Conditions)})

    def kept(self) -> dict[str, Any]:
        """As a result's plan keeps them."""
        return {each.name: getattr(self, each.name) for each in fields(Conditions)}


_SAID = {"tls": "the TLS version", "emulator": "the link's emulator", "congestion": "congestion control", "slow_client": "the client's speed",
         "beside_download": "a download beside it", "compression": "image compression", "jpeg": "JPEG", "streaming": "streaming",
         "channels": "the other channels", "show_surfaces": "the surfaces shown", "probe_every": "the probes",
         "max_stolen": "what the host may take of the processors"}


def facts(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan keeps of them, by the name a person knows it by. An older plan lacks those that came later."""
    return {_SAID[each.name]: plan.get(each.name, each.default) for each in fields(Conditions)}
