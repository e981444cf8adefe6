# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ways to show a guest: SPICE with a library and a mode, or QEMU's VNC server; in a program or in a browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bench.common.errors import BenchError
from bench.runs import libraries, modes
from bench.runs.libraries import Library
from guest import qemu

VNC = "vnc"
# name -> Debian's package of the client in the browser, and the server that it shows
BROWSERS = {"html5-stock": ("spice-html5", modes.STOCK), "html5": ("spice-html5", "flow"), "novnc": ("novnc", VNC)}


@dataclass(frozen=True)
class Way:
    name: str                           # name in tables
    library: Library | None   # None: VNC
    mode: str = ""                      # value of SPICE_STREAM; "" for a library without modes
    page: str = ""                      # the client in the browser, if any
    several: bool = False               # clients at once
    video: str = ""                     # streaming-video, if not QEMU's default

    @property
    def spice(self) -> bool:
        return self.library is not None

    def environment(self) -> dict[str, str]:
        several = {"SPICE_DEBUG_ALLOW_MC": "1"} if self.several else {}
        return qemu.environment(self.library.directory if self.library else None, self.mode, **several)


def _shows(name: str) -> str:
    """The mode, stock or VNC; `name` may be a browser's."""
    return BROWSERS.get(name, ("", name))[1]


def title(name: str, given: Library | None = None) -> str:
    """The name in tables; another library than this tree's is named there."""
    return name if given is None or _shows(name) in (VNC, modes.STOCK) else modes.row(given.short, name)


def of_tree(title: str) -> bool:
    """Whether the way with this name in tables shows the library of this tree."""
    return " (" not in title and _shows(title) not in (VNC, modes.STOCK)


def titled(titles: Iterable[str], given: Library | None) -> dict[str, Way]:
    """The ways with these names in tables."""
    return {title: find(title.partition(" (")[0], given) for title in dict.fromkeys(titles)}


def check(name: str) -> None:
    """Raises BenchError, one line, for what is no way."""
    if name == VNC or name in BROWSERS:
        return
    if name.partition(":")[0] not in modes.MODES:
        raise BenchError(f"unknown mode '{name}': choose {VNC}, {', '.join(BROWSERS)}, or a mode: {', '.join(modes.MODES)}", 2)
    modes.check(name)


def find(name: str, given: Library | None = None) -> Way:
    """`given`: the library of every mode except stock, instead of the tree's."""
    if name in BROWSERS:
        page, shown = BROWSERS[name]
        return replace(find(shown, given), name=title(name, given), page=page)
    if name == VNC:
        return Way(VNC, None)
    check(name)
    return Way(title(name, given), libraries.of_mode(name, given), modes.stream_value(name))
