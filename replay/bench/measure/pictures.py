# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether all runs of a recording show the same pictures, at its end and at the pause points.

On slow links a server sends photos as JPEG, decided by one measurement at connect (it also allows more messages in
flight then, so such runs differ in more than pictures). Which of them it sends again losslessly depends on timing.
JPEG changes many pixels a little, but hardly the mean of a block; a wrong picture differs in the mean of some block, and a wrong letter in
the brightness of a tile: JPEG stores colours coarsely, but the brightness of each 8 x 8 pixels nearly exactly.

The last picture is judged like those at pause points: a session may end with a photo, and is over before that has been sent again
without losses.
"""

from __future__ import annotations

import base64
import collections
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bench.lab import links

Run = dict[str, Any]
Series = tuple[tuple[int, str], ...]    # command and picture of each moment; the end is command -1

END = -1
_WRONG = "is not the reference picture"

# Of 255: largest difference where JPEG is allowed, of a channel's mean in a block of 32 x 32 pixels, and of the mean brightness in a tile of
# 8 x 8. JPEG of quality 85, which the server uses, changed them by up to 3 and 2 in linux-desktop and linux-video, and by up to 5 and 4 in
# kms-office: white letters on a red bar. One letter for another changes a tile by 5 to 30.
_CLOSE = 5
_CLOSE_TILE = 4
_BRIGHTNESS = (77, 150, 29)      # shares of R, G and B, of 256


def _series(run: Run) -> Series:
    return (*((pause["command"], pause["sha256"]) for pause in run["pauses"]), (END, run["picture_sha256"]))


def _may_be_slow(run: Run) -> bool:
    return links.find(run["link"]).emulated


def _most_common(runs: Iterable[Run]) -> Series:
    return collections.Counter(map(_series, runs)).most_common(1)[0][0]


def _without_loss(runs: list[Run], known: Mapping[int, str], may_lose: Callable[[Run], bool]) -> Series:
    """The known pictures; without any, what most runs of stock show, else most runs, on a LAN if there are any, among those whose last
    picture is the recording's."""
    near = [run for run in runs if not may_lose(run)] or runs
    good = [run for run in near if known.get(END) in (None, run["picture_sha256"])] or near
    stock = [run for run in good if run["mode"] == "stock"]
    return tuple((command, known.get(command, shown)) for command, shown in _most_common(stock or good))


def _difference(series: Series, expected: Series) -> str:
    command = next(command for (command, shown), (_, other) in zip(series, expected, strict=True) if shown != other)
    if command == END:
        return f"the final picture {_WRONG}"
    return f"the picture after command {command} {_WRONG} or that of the other runs"


def is_wrong(run: Run) -> bool:
    """Whether the run does not count because of a picture: compare() looks only at runs that count until then."""
    return not run["valid"] and bool(run["lossy"])


def _means(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _brightness(tiles: bytes | None) -> bytes | None:
    """Of the means of R, G and B."""
    return tiles and bytes(sum(map(operator.mul, _BRIGHTNESS, tiles[at:])) // 256 for at in range(0, len(tiles), len(_BRIGHTNESS)))


def _off_by(one: bytes | None, other: bytes | None) -> int | None:
    """The difference of the block that differs most; None if the client did not report blocks, or the sizes differ."""
    if one is None or other is None or len(one) != len(other):
        return None
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=None)


def _note(found: Run, other: Run, name: str) -> None:
    """Notes by how much a picture is off, unless it was noted when there were fewer runs: the blocks are gone then. `name`: the start of
    the fields' names."""
    if f"{name}off_by" not in found:
        found[f"{name}off_by"] = _off_by(*(_means(each.get(f"{name}blocks")) for each in (found, other)))
        found[f"{name}tile_off_by"] = _off_by(*(_brightness(_means(each.get(f"{name}tiles"))) for each in (found, other)))


def _is_close(off_by: int | None, tile_off_by: int | None) -> bool:
    return off_by is not None and off_by <= _CLOSE and tile_off_by is not None and tile_off_by <= _CLOSE_TILE


def _close(run: Run, expected: Run) -> bool:
    """Whether a lossy run's pictures are right but for what JPEG loses."""
    close = True
    for pause, other in zip(run["pauses"], expected["pauses"], strict=True):
        if pause["sha256"] != other["sha256"]:
            _note(pause, other, "")
            close &= _is_close(pause["off_by"], pause["tile_off_by"])
    if run["picture_sha256"] != expected["picture_sha256"]:
        _note(run, expected, "picture_")
        close &= _is_close(run["picture_off_by"], run["picture_tile_off_by"])
    return close


def _reference(runs: list[Run], known: Mapping[int, str], may_lose: Callable[[Run], bool]) -> tuple[Series, Run | None]:
    """The right pictures, and a run that shows them, preferably one that still has its blocks."""
    expected = _without_loss(runs, known, may_lose)
    likely = sorted(runs, key=lambda run: "picture_blocks" not in run)
    return expected, next((run for run in likely if _series(run) == expected), None)


def _compare(runs: list[Run], known: Mapping[int, str], may_lose: Callable[[Run], bool]) -> Run | None:
    """Compares the runs of one recording with the same pause points. The run with which runs that are added have to be compared."""
    expected, right = _reference(runs, known, may_lose)
    if right is None and all(map(may_lose, runs)):     # no run has the known pictures' blocks: compare the runs
        last = {END: known[END]} if known.get(END) in {run["picture_sha256"] for run in runs} else {}
        expected, right = _reference(runs, last, may_lose)
    for run in runs:
        series = _series(run)
        run["lossy"] = series != expected
        if run["lossy"] and not (may_lose(run) and right and _close(run, right)):
            run["valid"] = False
            run["invalid_reason"] = _difference(series, expected)
    return right if any(map(may_lose, runs)) else None


def forget(runs: Iterable[Run]) -> None:
    """Removes the blocks."""
    for run in runs:
        for name in ("blocks", "tiles"):
            run.pop(f"picture_{name}", None)
            for pause in run["pauses"]:
                pause.pop(name, None)


def compare(runs: list[Run], references: Mapping[str, Mapping[int, str]], jpeg: bool = False) -> None:
    """Makes runs invalid whose pictures are neither the ones without loss nor, over a link that may be slow, close to them; says
    of the others whether they are lossy. references: the pictures that are known, by command, the last one's by END; those
    between are of pace max, where no video is streamed. With them a mode that is played alone is not its own judge, but for
    links that may be slow without a run over another. jpeg: any link has it. Of the blocks only those of the reference are kept."""
    groups = collections.defaultdict(list)
    for run in runs:
        if run["valid"]:
            fast = run.get("pace", "max") == "max"
            groups[run["recording"], fast, tuple(pause["command"] for pause in run["pauses"])].append(run)
    kept = []
    for (recording, fast, _), group in groups.items():
        known = references.get(recording, {})
        kept.append(_compare(group, known if fast else {command: shown for command, shown in known.items() if command == END},
                             (lambda _: True) if jpeg else _may_be_slow))
    forget(run for run in runs if not any(run is right for right in kept))
