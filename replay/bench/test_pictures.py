# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

from typing import Any

from bench import pictures


def run(mode: str, last: str, *between: str, link: str = "lan") -> dict[str, Any]:
    return {"recording": "r", "library": "patched", "mode": mode, "link": link, "valid": True, "invalid_reason": None,
            "picture_sha256": last, "pauses": [{"command": 10 * number, "sha256": shown}
                                               for number, shown in enumerate(between, 1)]}


def judged(runs: list[dict[str, Any]], reference: str | None = None) -> list[tuple[bool, bool]]:
    pictures.compare(runs, {"r": reference})
    return [(one["valid"], one["lossy"]) for one in runs]


GOOD, LOSSY, BAD = (True, False), (True, True), (False, True)


def test_the_final_picture_must_be_the_reference() -> None:
    runs = [run("cork", "a"), run("batch", "a"), run("flow", "b")]
    assert judged(runs, "b") == [BAD, BAD, GOOD]
    assert runs[0]["invalid_reason"] == "the final picture is not the reference picture"


def test_without_a_reference_the_majority_is_it() -> None:
    assert judged([run("cork", "a"), run("batch", "b"), run("flow", "a")]) == [GOOD, BAD, GOOD]


def test_pictures_in_between_must_agree() -> None:
    runs = [run("cork", "a", "w", "x"), run("batch", "a", "w", "y"), run("flow", "a", "w", "x")]
    assert judged(runs, "a") == [GOOD, BAD, GOOD]
    assert runs[1]["invalid_reason"] == "the picture after command 20 is not that of the other runs"


def test_a_slow_link_may_lose_if_it_does_so_in_every_mode() -> None:
    near, far = [run("stock", "a", "x"), run("batch", "a", "x")], ("stock", "batch", "flow")
    assert judged([*near, *(run(mode, "a", "jpeg", link="2M100ms") for mode in far)], "a") == [GOOD] * 2 + [LOSSY] * 3
    # on a lan it may not, and what only one mode shows is a fault of that mode
    assert judged([*near, run("flow", "a", "jpeg"), run("cork", "a", "jpeg")], "a") == [GOOD] * 2 + [BAD] * 2
    assert judged([*near, *(run("batch", "a", "wrong", link="2M100ms") for _ in range(3))], "a") == [GOOD] * 2 + [BAD] * 3


def test_runs_without_pauses_are_compared_with_each_other() -> None:
    assert judged([run("stock", "a", "x"), run("batch", "a"), run("stock", "a"), run("flow", "b")]) == [GOOD, GOOD, GOOD, BAD]


def test_runs_that_do_not_count_have_no_say() -> None:
    bad = [{**run("stock", "b"), "valid": False} for _ in range(3)]
    good = [run("stock", "a"), run("flow", "a")]
    pictures.compare([*bad, *good], {})
    assert all(one["valid"] for one in good)
