# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run live deployment without a guest: what is chosen, links, the page."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any, cast

import pytest

from bench.common.errors import BenchError
from bench.lab import links
from bench.runs.libraries import Library
from bench.runs.store import Case, Run
from clients import table
from guest.errors import Failed
from live import deployment
from live.ways import Way

def _args(**given: Any) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    deployment.configure(parser)
    return argparse.Namespace(**{**vars(parser.parse_args([])), **given})


def test_all_rows_with_stock_and_flow_by_default() -> None:
    cases = deployment.planned(_args())
    assert [(case.what[0], case.mode) for case in cases] == [(row, mode) for row in deployment.ROWS for mode in ("stock", "flow")]
    cases = deployment.planned(_args(rows=["paste", "alone"], modes="flow:catchup=off", repeat=2))
    assert list(map(str, cases)) == [f"{row}/flow:catchup=off{run}" for run in ("", " run 2") for row in ("paste", "alone")]


@pytest.mark.parametrize("given", [{"rows": ["tea"]}, {"modes": "vnc"}, {"modes": "html5"}, {"modes": "rdp"}, {"repeat": 0}])
def test_what_there_is_not_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BenchError):
        deployment.planned(_args(**given))


def test_an_outage_begins_a_second_after_the_sign_and_lasts_as_long_as_it_says() -> None:
    changes = links.find(deployment.outage(20)).changes
    assert [(change.at, change.rate) for change in changes] == [(1, None), (21, 20_000_000)]


def _run(way: str, waits: list[float | None], says: str = "", row: str = "paste", accel: str = "tcg", library: str | None = None,
         invalid: str | None = None, failed: bool = False) -> Run:
    return Run(Case((row,), way, conditions=table.conditions(accel)), {"waits": waits, "says": says, "load": [0.5]}, invalid, failed, library,
               "2026-11-30 08:00", environment={"qemu": "QEMU", "machine": "one", "release": "0.15.2", "processors": 2, "commit": "abc"})


def test_a_cell_has_median_worst_and_what_was_seen() -> None:
    assert deployment.cell([]) == "–"
    assert deployment.cell([_run("flow", [1.0, 2.0]), _run("flow", [4.0], "gone")]) == "2.00 s (longest 4.00, n = 3); gone"
    assert deployment.cell([_run("flow", [None], "gone"), _run("flow", [None], "gone")]) == "never (n = 2); gone"
    assert deployment.cell([_run("flow", [1.0, None])]) == "1.00 s (longest 1.00, n = 2), 1 never"
    assert deployment.cell([_run("flow", [1.0], "wrong", failed=True)]) == "1.00 s (longest 1.00, n = 1); FAILED: wrong"


def test_kvm_has_columns_of_its_own() -> None:
    text = deployment.page([_run("stock", [30.0]), _run("flow", [0.03], accel="kvm"), _run("flow", [3.0])])
    text = " ".join(text.split())
    assert "| stock | flow | flow, KVM |" in text and "30.00, n = 1) | 3.00 s (longest 3.00, n = 1) | 0.03 s" in text
    assert "QEMU (KVM, TCG), one;" in text


def test_the_page_has_the_rows_that_were_run_in_their_order() -> None:
    text = deployment.page([_run("stock", [30.0]), _run("flow", [0.03], row="alone")])
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")][2:]
    assert rows == ["alone", "paste"] and "preliminary" not in text


def test_runs_of_an_older_library_and_those_that_do_not_count_have_no_figures() -> None:
    old = [_run("stock", [30.0]), _run("flow", [9.0], library="")]        # as published: the library is not said
    assert "| 30.00 s" in deployment.page(old) and "| 9.00 s" in deployment.page(old)
    new = [_run("flow", [1.5], library="new"), _run("stock", [70.0], invalid="no link")]
    text = deployment.page([*old, *new])
    assert "| 30.00 s (longest 30.00, n = 1) | 1.50 s (longest 1.50, n = 1) |" in text
    assert "## Runs that do not count\n\n- paste, stock: no link\n\n## What" in text
    assert "| paste" not in deployment.page(new[1:])


def test_a_page_without_a_run_that_counts_says_why() -> None:
    text = deployment.page([_run("stock", [], invalid="no link")])
    assert "- paste, stock: no link\n" in text and "| row |" in text


@pytest.mark.parametrize("runs", [True, False])
def test_a_picture_that_never_comes_is_not_of_a_qemu_that_has_ended(runs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Qemu:
        def qmp(self, _: str) -> None:
            if not runs:
                raise Failed("QEMU is gone")

    def client(*_: object) -> contextlib.nullcontext[None]:
        raise Failed("did not connect: ")

    monkeypatch.setattr(deployment, "at_rest", lambda *_: contextlib.nullcontext(Qemu()))
    monkeypatch.setattr(deployment, "connected", client)
    nothing = cast(Any, None)
    if runs:
        assert deployment._first_picture(nothing, nothing, nothing) == deployment.Seen([None], "did not connect")
    else:
        with pytest.raises(Failed, match="QEMU is gone"):
            deployment._first_picture(nothing, nothing, nothing)


def test_several_clients_are_let_in_only_where_they_are_wanted() -> None:
    library = Library("stock", Path("/nowhere"), False)
    assert "SPICE_DEBUG_ALLOW_MC" not in Way("stock", library).environment()
    assert Way("stock", library, several=True).environment()["SPICE_DEBUG_ALLOW_MC"] == "1"


def test_keys_are_told_in_milliseconds() -> None:
    assert deployment.keys_of([100.0, 110.4, 400.0]) == "keys 110 ms, the slowest 400 ms"
    assert deployment.keys_of([]) == "no key was answered"
