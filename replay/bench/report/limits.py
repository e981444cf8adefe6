# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a page cannot show, by what was measured on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recordings import catalogue

_ALWAYS = (
    "Real links and other machines: links are emulated on one host, with one kernel, one CPU type and one release of the client's library. Server, "
    "client and link share the host's CPUs.",
    "Other guests: recordings are of Linux on an emulated processor, or generated; none is of Windows or of a guest under KVM.",
    "A client's window: figures end when the client's library has decoded the picture. A client draws it later.")
_MAX = ("pace max: what a user waits for. No guest draws so fast for long, and `flow` sends every drawing (`catchup=off`), unlike in use. It is "
        "throughput.")
_OPEN = ("Recorded pace (open loop): what a late server does to a guest and its user. Both would slow down; the recording does not. Response times: "
         "pace/user, and [live](../live/README.md).")
_USER = ("User's pace (closed loop): the way of a key or click to the guest, and a guest that draws more or less because the server is "
         "quicker or slower: the drawings are those of the recording. Think times are at most 2 s.")
_QEMU = ("{names}: staleness and seconds of a live machine. QEMU itself made these drawings; a live QEMU makes the next update only when the "
         "last one has been taken, so it never has so many waiting. Use [live](../live/README.md).")


def drawn_by_qemu(names: Iterable[str]) -> list[str]:
    """The recordings, of these or of which these are parts, that have QEMU's own updates."""
    known = catalogue.manifest()
    return sorted({whole for name in names if "QEMU itself draws" in known.get(whole := name.partition("@")[0], {}).get("driver", "")})


def section(runs: Iterable[dict[str, Any]]) -> str:
    paces, names = ({run[what] for run in runs} for what in ("pace", "recording"))
    said = [*_ALWAYS]
    said += [_MAX] * ("max" in paces) + [_OPEN] * bool(paces - {"max", "user"}) + [_USER] * ("user" in paces)
    said += [_QEMU.format(names=", ".join(found)) for found in [drawn_by_qemu(names)] if found]
    return "\n".join(("## What this page cannot show\n", *(f"- {one}" for one in said)))
