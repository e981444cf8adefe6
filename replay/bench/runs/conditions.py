# SPDX-License-Identifier: LGPL-2.1-or-later
"""Conditions of all runs of a comparison. The command line sets them, the result file keeps them, and results that
differ in them cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from bench.common.errors import BenchError
from bench.lab import certs, lab
from bench.measure import channels


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Each field is a name in --with of ./run compare, and a key of a result's plan."""
    tls: str = "1.3"                    # the version, where the transport is TLS
    congestion: str = lab.CONGESTION    # the algorithm of TCP, at both ends
    slow_client: float = 1.0            # factor by which the client is slowed down
    beside_download: bool = False       # a bulk TCP download shares the link
    compression: str | None = None      # image compression; None: the player's default
    jpeg: str | None = None             # JPEG; None: over a slow link
    streaming: str | None = None        # video streaming; None: depends on the pace
    channels: str | None = None         # added traffic on other channels: see channels.py
    show_surfaces: bool = False         # pictures include every surface, not only the primary
    ahead: bool = False                 # the guest writes pixels into its screen before it sends the command

    @classmethod
    def read(cls, text: str) -> Self:
        """Parses --with: NAME or NAME=VALUE, separated by commas."""
        found: dict[str, Any] = {}
        for word in filter(None, text.split(",")):
            name, given, value = word.partition("=")
            field = name.replace("-", "_")
            if field not in _READ:
                raise BenchError(f"--with: unknown '{name}': choose one of {', '.join(HELP)}", 2)
            try:
                found[field] = _READ[field](value if given else None)
            except ValueError:
                raise BenchError(f"--with: '{word}' should be {HELP[name]}", 2) from None
        return cls(**found)

    def kept(self) -> dict[str, Any]:
        """The conditions as a result's plan has them."""
        return {each.name: getattr(self, each.name) for each in fields(Conditions)}


def _name(value: str | None) -> str:
    if not value:
        raise ValueError
    return value


def _one_of(*names: str) -> Callable[[str | None], str]:
    """Of those that spice-player knows."""
    def read(value: str | None) -> str:
        if value not in names:
            raise ValueError
        return value
    return read


COMPRESSIONS = ("auto-glz", "auto-lz", "off", "quic", "glz", "lz", "lz4")
JPEGS = ("auto", "always", "never")
STREAMINGS = ("filter", "off", "all")


def _flag(value: str | None) -> bool:
    if value is not None:
        raise ValueError
    return True


def _version(value: str | None) -> str:
    if value not in certs.VERSIONS:
        raise ValueError
    return value


def _factor(value: str | None) -> float:
    if not 1 <= float(value or "") < 1000:
        raise ValueError
    return float(value or "")


def _channels(value: str | None) -> str:
    """Here + separates them; for the player, a comma."""
    wanted = channels.ALL if value is None else value.replace("+", ",")
    if not channels.known(wanted):
        raise ValueError
    return wanted


_READ: dict[str, Callable[[str | None], Any]] = {
    "tls": _version, "congestion": _name, "slow_client": _factor, "beside_download": _flag, "compression": _one_of(*COMPRESSIONS),
    "jpeg": _one_of(*JPEGS), "streaming": _one_of(*STREAMINGS), "channels": _channels, "show_surfaces": _flag, "ahead": _flag}
HELP = {
    "tls": f"tls={' or '.join(certs.VERSIONS)}", "congestion": f"congestion=NAME: TCP's algorithm at both ends (default {lab.CONGESTION})",
    "slow-client": "slow-client=FACTOR: the client takes that many times as long (1 or more)",
    "beside-download": "beside-download: a bulk TCP download shares the link",
    "compression": f"compression={'|'.join(COMPRESSIONS)}: of images", "jpeg": f"jpeg={'|'.join(JPEGS)} (default: over a slow link)",
    "streaming": f"streaming={'|'.join(STREAMINGS)}: of video (default: off at pace max)",
    "channels": "channels: traffic on all other channels, or channels=sound+sound-raw+inputs+pointer+port:MIB",
    "show-surfaces": "show-surfaces: compare off-screen surfaces, too, by drawing each onto the screen for a moment",
    "ahead": "ahead: a guest that writes pixels before it sends their command"}
_SAID = {"tls": "the TLS version", "congestion": "congestion control", "slow_client": "the client's speed",
         "beside_download": "a download beside it", "compression": "image compression", "jpeg": "JPEG", "streaming": "streaming",
         "channels": "the other channels", "show_surfaces": "the surfaces shown",
         "ahead": "a guest ahead of its commands"}


def facts(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of a plan, with names for users. An older plan lacks those that were added later."""
    return {_SAID[each.name]: plan.get(each.name, each.default) for each in fields(Conditions)}
