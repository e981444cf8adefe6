# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run diff A [B]: what is better or worse in B than in A, two result files; or in the second library of one file.

Exit status 0: nothing is worse; 1: something is worse, or only B has a wrong picture; 2: not comparable.
"""

from __future__ import annotations

import argparse
import collections
import math
import statistics
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import table
from bench.common.errors import BenchError
from bench.measure import metrics, pictures, stats
from bench.measure.stats import Verdict
from bench.report import grouping, report
from bench.runs import conditions, libraries, modes, results

SAME_OR_BETTER, WORSE, NOT_COMPARABLE = 0, 1, 2
_MOST_UNKNOWN = 0.5     # share of the comparisons; with more the whole is unknown
# Probability of any false "worse". All rows together show smaller changes than single rows, so most of it is theirs.
_FALSE_ROW, _FALSE_TOGETHER = 0.2 * stats.FALSE, 0.8 * stats.FALSE
_WIDTH = 136            # of lines in --help
_HIDES = 0.1            # a change that may be this large is unknown
_METRICS = ("packets", "wire_bytes", "overhead", "cpu", "wall", "latency_p95", "response_p95", "staleness_p95")

# Metrics of the machine's speed, which changes from session to session: between pages of 24 to 28 November 2026 stock's CPU seconds
# differed by 20 % (root mean square), on machines of one kind.
_OF_MACHINE = ("cpu", "cpu_around", "wall")
_SESSIONS = 0.2
_MACHINE_UNKNOWN = stats.Shift(0.0, _SESSIONS, freedom=30)      # known by identity: a measured change may have the same figures

# prefixes of the names of times
TIMES = ("cpu", "wall", "over_path", "latency", "response", "staleness", "sound", "echo", "pointer", "own", "download")

Run = dict[str, Any]
Result = dict[str, Any]
Key = tuple[str, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Compares two result files of ./run compare row by row, or the two libraries in one. "
                          "Exit status 0: B is the same or better. 1: B is worse, or only B has a wrong picture. 2: not comparable, for "
                          "example because the machines differ, B lacks a row of A, or more than half of the comparisons are too "
                          "uncertain to exclude a change of 10 %. Three runs per row of a quiet host mostly show a change of 5 % in packets "
                          "or bytes and of 15 % in CPU or latency; a busy host hides larger ones. CPU and seconds of two files are judged "
                          "relative to stock's. Of 20 pairs of results of one library, one pair says worse by chance, and one better.")
    parser.add_argument("before", metavar="A", type=Path, help="a result file")
    parser.add_argument("after", metavar="B", type=Path, nargs="?", help="another result file (default: compare the two libraries in A)")
    parser.add_argument("--metrics", metavar="LIST", help=f"metrics to compare, of those below (default: {','.join(_METRICS[:4])},...); "
                        "also shows rows that are the same or unknown")
    parser.epilog = "\n".join(["metrics (* by default):", *textwrap.wrap(", ".join(
        f"{name}*" if name in _METRICS else name for name in metrics.METRICS), _WIDTH, initial_indent="  ", subsequent_indent="  ")])


def _facts(result: Result) -> dict[str, Any]:
    """The facts that must be equal for two results to be comparable, with names for users."""
    environment = result["environment"]
    return {"the kernel": environment["kernel"], "the CPU": environment["cpu"],
            "the client": environment["packages"].get("libspice-client-glib-2.0-8"), **conditions.facts(result["plan"]),
            **{f"recording {name}": digest for name, digest in environment["recordings"].items()}}


def differences(before: Result, after: Result) -> list[str]:
    """The facts that both results have and that differ."""
    first, second = _facts(before), _facts(after)
    return [name for name in first if name in second and first[name] != second[name]]


def _rows(result: Result) -> dict[Key, list[Run]]:
    return {(*group, cell[0], grouping.name(cell)): runs
            for group, group_runs in grouping.groups(result["runs"]).items()
            for cell, runs in grouping.cells(group_runs).items()}


def _wanted(text: str | None) -> list[str]:
    names = list(_METRICS) if text is None else [name for name in text.split(",") if name]
    unknown = [f"unknown metric '{name}'" for name in names if name not in metrics.METRICS] if names else ["no metric is given"]
    if unknown:
        raise BenchError(f"{unknown[0]}: choose of {', '.join(metrics.METRICS)}", 2)
    return names


Machine = dict[str, stats.Shift]        # by metric: what changed between two sessions, whatever library was measured


class Line(NamedTuple):
    """A metric of a row that both files have."""
    key: Key
    name: str
    found: stats.Comparison
    old: list[float]
    new: list[float]
    shift: stats.Shift | None       # as measured


def _shifts(before: Result, after: Result, names: Iterable[str], of: Callable[[Key], bool] = bool) -> dict[tuple[Key, str], stats.Shift | None]:
    """Of each such row that both have. The spread is that of all rows in these files, so that a busy host hides a change and does not make
    one."""
    first, second = _rows(before), _rows(after)
    usual = {name: metrics.spread([*first.values(), *second.values()], name) for name in names}
    return {(key, name): metrics.shift(first[key], second[key], name, usual[name])
            for key in sorted(first.keys() & second.keys()) if of(key) for name in usual}


def machine(before: Result, after: Result) -> Machine:
    """Of two sessions: the change of the same stock library. Unknown if they have no row of it in common."""
    same = before["environment"]["libraries"].get(libraries.STOCK) == after["environment"]["libraries"].get(libraries.STOCK)
    found = collections.defaultdict(list)
    for (_, name), shift in _shifts(before, after, _OF_MACHINE, _is_stock).items():
        found[name] += [shift] if shift and same else []
    return {name: stats.pooled(found[name]) if found[name] else _MACHINE_UNKNOWN for name in _OF_MACHINE}


def _is_stock(key: Key) -> bool:
    return key[-1].removesuffix(grouping.LOSSY) == modes.STOCK


def _judged(shift: stats.Shift | None, name: str, sessions: Machine) -> stats.Comparison:
    return metrics.judged(shift.less(sessions[name]) if shift and name in sessions else shift, name)


def compared(before: Result, after: Result, names: list[str], sessions: Machine) -> list[Line]:
    """Every metric of every row that both files have, corrected for the number of all. Not stock's metrics of the machine: the others are
    relative to them."""
    first, second = _rows(before), _rows(after)
    lines = [Line(key, name, _judged(shift, name, sessions), metrics.values(first[key], name), metrics.values(second[key], name), shift)
             for (key, name), shift in _shifts(before, after, names).items() if name not in sessions or not _is_stock(key)]
    lines = [line for line in lines if line.old or line.new]
    judged = stats.gated([line.found for line in lines], _FALSE_ROW)
    return [line._replace(found=found) for line, found in zip(lines, judged, strict=True)]


def _cautions(before: Result, after: Result, lines: list[Line], sessions: Machine) -> list[str]:
    """What the user must know of times, and of runs that are not compared."""
    shown = {line.name for line in lines}
    jobs = [result["plan"].get("jobs", 1) for result in (before, after)]
    said = []
    if jobs[0] != jobs[1] and any(name.startswith(TIMES) for name in shown):
        said.append(f"Before, {jobs[0]} at a time of the runs that wait, after, {jobs[1]}: times may differ for that.")
    of_machine = [name for name in sessions if name in shown]
    unknown = [name for name in of_machine if sessions[name] is _MACHINE_UNKNOWN]
    if unknown:
        said.append(f"No row of the same stock library is in both: the machine may change {' and '.join(unknown)} by {_SESSIONS:.0%} or "
                    "more, so only larger changes are called better or worse. Measure stock, too, or both libraries at once.")
    if known := [name for name in of_machine if name not in unknown]:
        said.append(f"{' and '.join(known)}: judged relative to stock, which changed by "
                    + " and ".join(f"{math.expm1(sessions[name].log):+.0%}" for name in known) + " (the machine).")
    bad = [sum(not run["valid"] for run in result["runs"]) for result in (before, after)]
    if any(bad):
        said.append(f"Runs that do not count: {bad[0]} of {len(before['runs'])} before, {bad[1]} of {len(after['runs'])} after.")
    if jpeg := sorted("/".join(key) for key in _rows(after).keys() - _rows(before).keys() if key[-1].endswith(grouping.LOSSY)):
        said.append(f"JPEG only in B, so not compared: {', '.join(jpeg)}.")
    return said


def _number(values: list[float]) -> str:
    return table.short(statistics.median(values)) if values else table.UNKNOWN


def _counts(lines: Iterable[Line]) -> str:
    """The runs behind figures, before and after."""
    return " → ".join(str(sum(map(len, side))) for side in zip(*((line.old, line.new) for line in lines), strict=True))


def _page(lines: list[Line], everything: bool) -> str:
    order = (Verdict.WORSE, Verdict.BETTER, Verdict.UNKNOWN, Verdict.SAME)
    rows = [[*line.key, line.name, _number(line.old), _number(line.new), report.change(line.found), _counts([line]), line.found.verdict.value]
            for line in sorted(lines, key=lambda line: (order.index(line.found.verdict), line.key))
            if everything or line.found.verdict in order[:2]]
    counts = ", ".join(f"{sum(line.found.verdict is verdict for line in lines)} {verdict.value}" for verdict in order)
    head = ("recording", "link", "pace", "transport", "mode", "figure", "before", "after", "change", "n", "verdict")
    return (table.markdown(head, rows, left=6) + "\n\n" if rows else "") + counts


Together = dict[tuple[str, str], stats.Comparison]     # by mode and metric


def together(lines: list[Line], sessions: Machine) -> Together:
    """For each mode and metric the mean change of all rows, corrected for the number of all."""
    shifts = collections.defaultdict(list)
    for line in lines:
        if line.shift is not None:
            shifts[line.key[-1], line.name].append(line.shift)
    found = {of: _judged(stats.pooled(each), of[1], sessions) for of, each in shifts.items()}
    return dict(zip(found, stats.gated(list(found.values()), _FALSE_TOGETHER), strict=True))


def _is_told(one: stats.Comparison) -> bool:
    return one.verdict is not Verdict.UNKNOWN or (one.low is not None and one.high is not None and max(-one.low, one.high) <= _HIDES)


def _together_page(found: Together, lines: list[Line], everything: bool) -> str:
    """Omits what is the same, unless everything is wanted."""
    rows = [[*of, report.change(one), _counts(line for line in lines if (line.key[-1], line.name) == of), one.verdict.value]
            for of, one in sorted(found.items()) if everything or one.verdict is not Verdict.SAME]
    return table.markdown(("mode", "figure", "change of all rows", "n", "verdict"), rows, left=2) if rows else ""


def _alone(one: Result, other: Result, has: Callable[[Run], bool]) -> str:
    """The rows with such a run in the first result, and none in the second, with JPEG or without."""
    first, second = ({"/".join(key).removesuffix(grouping.LOSSY) for key, runs in _rows(each).items() if any(map(has, runs))}
                     for each in (one, other))
    return ", ".join(sorted(first - second))


def split(result: Result) -> tuple[Result, Result]:
    """Splits a file of two libraries into two results whose rows match: each library's runs under the names of modes. An
    unpatched library has one row, which is compared with every mode of a patched one."""
    patched = {name: library["patched"] for name, library in result["environment"]["libraries"].items()}
    if len(patched) != 2:
        raise BenchError(f"the file has {len(patched)} libraries, not two: give a second file to compare with", NOT_COMPARABLE)
    before, after = patched
    shown = {run["mode"] for run in result["runs"]}

    def part(name: str, other: str) -> Result:
        runs = [run for run in result["runs"] if run["library"] == name]
        names = sorted(shown - {modes.STOCK}) if patched[other] and not patched[name] else None
        return {**result, "runs": [{**run, "library": libraries.PATCHED, "mode": mode} for run in runs for mode in names or [run["mode"]]]}
    return part(before, after), part(after, before)


def execute(args: argparse.Namespace) -> int:
    names = _wanted(args.metrics)
    before = results.load_complete(args.before, NOT_COMPARABLE)
    before, after = (before, results.load_complete(args.after, NOT_COMPARABLE)) if args.after else split(before)
    differing = differences(before, after)
    sessions = machine(before, after) if args.after else {}
    lines = compared(before, after, names, sessions)
    if not lines:
        common = _rows(before).keys() & _rows(after).keys()
        raise BenchError(f"not comparable: no row has {', '.join(names)}" if common else
                         "not comparable: no row (recording, link, pace, mode) is in both", NOT_COMPARABLE)
    print(_page(lines, args.metrics is not None))
    for caution in _cautions(before, after, lines, sessions):
        print(f"\n{caution}")
    all_rows = together(lines, sessions)
    if of_all := _together_page(all_rows, lines, args.metrics is not None):
        print(f"\n{of_all}")
    if differing:
        raise BenchError(f"not comparable: {', '.join(differing)} differ", NOT_COMPARABLE)
    wrong = _alone(after, before, pictures.is_wrong)
    if wrong:
        print(f"\nWrong pictures only in B: {wrong}")
    if wrong or Verdict.WORSE in {one.verdict for one in (*(line.found for line in lines), *all_rows.values())}:
        return WORSE
    if broken := _alone(before, after, lambda run: run["valid"]):
        raise BenchError(f"not comparable: B has no valid run of {broken}", NOT_COMPARABLE)
    unknown = sum(not _is_told(line.found) and not _is_told(all_rows.get((line.key[-1], line.name), line.found)) for line in lines)
    if unknown > _MOST_UNKNOWN * len(lines):
        raise BenchError(f"nothing can be said of {unknown} of {len(lines)} figures: measure more runs per row (--repeat)",
                         NOT_COMPARABLE)
    return SAME_OR_BETTER
