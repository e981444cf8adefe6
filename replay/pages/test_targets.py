# SPDX-License-Identifier: LGPL-2.1-or-later
"""Targets: a value beyond the limit is shown as a miss, and nothing that was not measured is judged."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from bench import test_samples as samples
from bench.report.stored import Stored
from pages import targets
from pages.parts import PARTS


def _pages(factor: float) -> Stored:
    """The page staleness with stock's session, and the same of flow with `factor` times the bytes."""
    stock = samples.result(["stock"], repeats=2)["runs"]
    for run in stock:
        run.update(recording="linux-desktop", link="2M100ms")
    ours = deepcopy(stock)
    for run in ours:
        run.update(mode="flow")
        run["server"]["wire_bytes"] = int(run["server"]["wire_bytes"] * factor) if run["server"]["wire_bytes"] else None
    return Stored(Path("/nowhere"), {"staleness": {"runs": [*stock, *ours]}})


def _row(pages: Stored) -> list[str]:
    found = [line for line in targets.markdown(pages).splitlines() if line.startswith("| wire bytes")]
    assert len(found) == 1
    return [cell.strip() for cell in found[0].strip("|").split("|")]


def test_a_value_beyond_the_limit_is_a_miss() -> None:
    assert _row(_pages(1.04))[4:] == ["–", "4", "–", "–", "2", "yes"]
    assert _row(_pages(1.5))[4:] == ["–", "**50**", "–", "–", "2", "0 of 1"]


def test_runs_that_do_not_count_are_not_judged() -> None:
    pages = _pages(1.5)
    for run in pages.all_runs("staleness"):
        run["valid"] = False
    assert targets.markdown(pages) == ""


def test_runs_with_jpeg_are_not_mixed_with_others() -> None:
    """As in the tables. A page may have two rows of stock, if the server took a link for slow in some runs."""
    pages = _pages(1.04)
    for run in pages.all_runs("staleness"):
        if run["mode"] == "stock" and run["repeat"] == 2:
            run["lossy"] = True
            run["server"]["wire_bytes"] *= 10
    assert _row(pages)[5] == "4"


def test_each_target_is_of_a_page_that_has_its_link() -> None:
    arguments = {part.where: part.arguments for part in PARTS}
    for target in targets.TARGETS:
        for where, link in ((target.where, target.link), *([target.direct] if target.direct else [])):
            assert link == "lan" and "--links" not in arguments[where] or link in arguments[where], (where, link)
