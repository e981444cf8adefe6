# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of clients and of migrations. A cell is the last run of a case that could be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from bench.common import table as tables
from bench.runs import store
from bench.runs.modes import STOCK
from bench.runs.runner import TRIES, Outcome
from bench.runs.store import Run
from guest.errors import BREAKS, GuestLost, NotRun
from guest.qemu import TCG

GOOD, BAD, NOT_RUN = "good", "bad", "not run"


LOST = "the guest was lost"     # as happens now and then with every library and an emulated processor


def outcome(play: Callable[[], str], attempt: int) -> Outcome:
    """It returns what was seen. A client or a scenario that is not here is not tried again; with a guest that was lost a run does not count
    the first time."""
    try:
        return Outcome({"says": play()})
    except NotRun as error:
        return Outcome(invalid=str(error), again=False)
    except GuestLost as error:
        return Outcome(invalid=f"{LOST}: {error}") if attempt < TRIES else Outcome({"says": f"{error}, {attempt} times"}, failed=True)
    except BREAKS as error:
        return Outcome({"says": str(error)}, failed=True)


def conditions(accel: str) -> tuple[tuple[str, str], ...]:
    return () if accel == TCG else (("accel", accel),)


def accel_of(run: Run) -> str:
    return dict(run.case.conditions).get("accel", TCG)


def outcome_of(run: Run) -> str:
    return NOT_RUN if not run.counts else BAD if run.failed else GOOD


def said(run: Run) -> str:
    """One line for the terminal."""
    return f"{outcome_of(run)}: {run.invalid or run.figures['says']}"


def kept(runs: Iterable[Run], migrations: bool = False) -> list[Run]:
    """Of the runs of a folder those of clients or those of migrations, whose modes are pairs; repeats as one case."""
    return [replace(run, case=replace(run.case, repeat=1)) for run in runs if (">" in run.case.mode) == migrations]


def worse_than_stock(shown: Sequence[Run]) -> list[Run]:
    """Cells that are bad although the stock library's is good or was not run."""
    fails = {(run.case.what, run.case.link) for run in shown if run.case.mode == STOCK and run.failed}
    return [run for run in shown if run.case.mode != STOCK and run.failed and (run.case.what, run.case.link) not in fails]


def repeated(runs: Sequence[Run]) -> str:
    """What became of bad runs that were repeated. Before that day they were not counted."""
    last = {run.case: run for run in store.latest(runs)}
    count = sum(run.failed and run is not last[run.case] and run.library == last[run.case].library for run in runs)
    return f"Bad runs that a repeat with the same library replaced, since 29 November 2026: {count or 'none'}."


def lost(runs: Iterable[Run]) -> int:
    """The number of cases that were repeated since the guest was lost."""
    return len({run.case for run in runs if (run.invalid or "").startswith(LOST)})


def libraries(shown: Iterable[Run]) -> str:
    """The number of runs of each library, newest first."""
    found: dict[str, list[Run]] = {}
    for run in sorted(shown, key=lambda run: run.date, reverse=True):
        if run.counts:
            found.setdefault(_named(run.library), []).append(run)
    return "".join(f"- {library}: {len(those)} run{'s'[:len(those) != 1]}, {_days(those)}\n" for library, those in found.items())


def _named(library: str | None) -> str:
    return "stock" if library is None else f"library {library}" if library else "an older library"


def _days(runs: Sequence[Run]) -> str:
    days = sorted(f"{run.date} UTC" for run in runs if run.date)
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "date not recorded"


def _shown(found: Sequence[Run], modes: Sequence[str]) -> str:
    """One table cell: the outcome, with its modes if it is not the same in all modes."""
    groups: dict[str, list[str]] = {}
    for mode, outcome in ((run.case.mode, outcome_of(run)) for mode in modes for run in found if run.case.mode == mode):
        groups.setdefault(outcome, []).append(mode)
    if not groups:
        return tables.UNKNOWN
    if len(groups) == 1 and len(*groups.values()) == len(modes):
        return next(iter(groups))
    return "; ".join(f"{outcome}: {', '.join(inside)}" for outcome, inside in groups.items())


def markdown(shown: Sequence[Run], modes: Sequence[str], scenarios: Sequence[str], first: str) -> str:
    """A row per client and transport, with the modes that were run; a column per scenario."""
    columns = [scenario for scenario in scenarios if any(run.case.what[1] == scenario for run in shown)]
    lines = []
    for client, transport in dict.fromkeys((run.case.what[0], run.case.link) for run in shown):
        here = [run for run in shown if (run.case.what[0], run.case.link) == (client, transport)]
        made = [mode for mode in modes if any(run.case.mode == mode for run in here)]
        lines.append([client, transport, ", ".join(made), *(_shown([run for run in here if run.case.what[1] == scenario], made)
                                                            for scenario in columns)])
    return tables.markdown([first, "transport", "modes", *columns], lines, left=3 + len(columns), padded=False)


def reasons(shown: Sequence[Run], outcome: str) -> str:
    """Each reason once, with the cells that have it."""
    places: dict[tuple[str, str], list[str]] = {}
    for run in shown:
        if outcome_of(run) == outcome:
            client, scenario = run.case.what
            places.setdefault((client, run.invalid or run.figures["says"]), []).append(f"{scenario} ({run.case.link}, {run.case.mode})")
    return "".join(f"- {client}: {says}: {_listed(where)}\n" for (client, says), where in places.items())


def _listed(where: Sequence[str]) -> str:
    return ", ".join(where) if len(where) <= 4 else f"{', '.join(where[:3])} and {len(where) - 3} more"
