# SPDX-License-Identifier: LGPL-2.1-or-later
"""Conditions of all runs of a comparison. The command line sets them, the result file keeps them, and results that
differ in them cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from bench.common.errors import BenchError
from bench.lab import certs, lab
from bench.measure import channels


def _name(value: str | None) -> str:
    if not value:
        raise ValueError
    return value


def _one_of(*names: str) -> Callable[[str | None], str]:
    def read(value: str | None) -> str:
        if value not in names:
            raise ValueError
        return value
    return read


# those that spice-player knows
COMPRESSIONS = ("auto-glz", "auto-lz", "off", "quic", "glz", "lz", "lz4")
JPEGS = ("auto", "always", "never")
STREAMINGS = ("filter", "off", "all")


def _flag(value: str | None) -> bool:
    if value is not None:
        raise ValueError
    return True


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


def _condition(default: Any, read: Callable[[str | None], Any], form: str, says: str, of_player: bool = False) -> Any:
    """How it is parsed (ValueError if it cannot be), how it is written in --with, its name for users, and whether it is an option of
    spice-player, too."""
    return field(default=default, metadata={"read": read, "form": form, "says": says, "of_player": of_player})


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Each field is a name in --with of ./run compare, and a key of a result's plan. None: the player's default, or what is good for
    the pace."""
    tls: str = _condition("1.3", _one_of(*certs.VERSIONS), f"tls={' or '.join(certs.VERSIONS)}", "the TLS version")
    congestion: str = _condition(lab.CONGESTION, _name, f"congestion=NAME: TCP's algorithm at both ends (default {lab.CONGESTION})",
                                 "congestion control")
    slow_client: float = _condition(1.0, _factor, "slow-client=FACTOR: the client takes that many times as long (1 or more)",
                                    "the client's speed")
    beside_download: bool = _condition(False, _flag, "beside-download: a bulk TCP download shares the link", "a download beside it")
    compression: str | None = _condition(None, _one_of(*COMPRESSIONS), f"compression={'|'.join(COMPRESSIONS)}: of images",
                                         "image compression", of_player=True)
    jpeg: str | None = _condition(None, _one_of(*JPEGS), f"jpeg={'|'.join(JPEGS)} (default: over a slow link)", "JPEG", of_player=True)
    streaming: str | None = _condition(None, _one_of(*STREAMINGS), f"streaming={'|'.join(STREAMINGS)}: of video (default: off at pace max)",
                                       "streaming", of_player=True)
    channels: str | None = _condition(
        None, _channels, "channels: traffic on all other channels, or channels=sound+sound-raw+inputs+pointer+port:MIB",
        "the other channels", of_player=True)
    show_surfaces: bool = _condition(
        False, _flag, "show-surfaces: compare off-screen surfaces, too, by drawing each onto the screen for a moment", "the surfaces shown",
        of_player=True)
    ahead: bool = _condition(False, _flag, "ahead: a guest that writes pixels before it sends their command",
                             "a guest ahead of its commands", of_player=True)

    @classmethod
    def read(cls, text: str) -> Self:
        """Parses --with: NAME or NAME=VALUE, separated by commas."""
        known = {each.name.replace("_", "-"): each for each in fields(Conditions)}
        found: dict[str, Any] = {}
        for word in filter(None, text.split(",")):
            name, given, value = word.partition("=")
            if name not in known:
                raise BenchError(f"--with: unknown '{name}': choose one of {', '.join(known)}", 2)
            try:
                found[known[name].name] = known[name].metadata["read"](value if given else None)
            except ValueError:
                raise BenchError(f"--with: '{word}' should be {known[name].metadata['form']}", 2) from None
        return cls(**found)

    def player_options(self) -> list[str]:
        """Those that are set."""
        found: list[str] = []
        for each in fields(Conditions):
            if each.metadata["of_player"] and (value := getattr(self, each.name)):
                found += [f"--{each.name.replace('_', '-')}", *([] if value is True else [value])]
        return found

    def kept(self) -> dict[str, Any]:
        """The conditions as a result's plan has them."""
        return {each.name: getattr(self, each.name) for each in fields(Conditions)}


def forms() -> list[str]:
    """How each is written in --with."""
    return [each.metadata["form"] for each in fields(Conditions)]


def facts(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of a plan, with names for users. An older plan lacks those that were added later."""
    return {each.metadata["says"]: plan.get(each.name, each.default) for each in fields(Conditions)}
