# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run compare: plays recordings in the chosen modes and over the chosen transports, and writes a page of tables."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.commands import request
from bench.common import atomic, paths, privileges
from bench.common.progress import Progress, duration
from bench.measure import pictures
from bench.report import publish
from bench.runs import atonce, environment, groundtruth, libraries, matrix, modes, results
from bench.runs.runspec import RunSpec
from bench.source import setup
from recordings import catalogue

_SEED = 1       # seed of the order of the runs


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Plays recordings in several modes, and compares. "
                          f"Default: {request.NEWCOMER} at pace max, {request.NEWCOMER_PACED} at recorded pace; "
                          f"{','.join(request.QUICK_MODES)}.")
    request.configure(parser)
    out = parser.add_argument_group("what comes out")
    out.add_argument("--output", metavar="DIR", type=Path, default=paths.OWN_RESULTS, help="for compare.md, compare.csv, compare.json (default: results/own); "
                     "resumes there, or adds runs to what is there")
    out.add_argument("--keep", metavar="DIR", type=Path, help="keep captures of tcpdump, and traces of the patched library")
    out.add_argument("--dry-run", action="store_true", help="list the rows and the estimated time; builds what is missing, measures nothing")


def prepare(asked: request.Request) -> request.Request:
    """Brings the build up to date, as the user, before a user namespace is entered; returns the request with what the
    recordings themselves say."""
    if not privileges.inside():
        setup.current()
    for program in (paths.player, paths.client):
        program()
    for name in asked.libraries or []:
        libraries.find(name)        # a revision is built
    return replace(asked, recordings=[catalogue.looked_into(recording) for recording in asked.recordings])


def foretold(asked: request.Request) -> tuple[int, float]:
    """The number of runs, and their estimated duration in seconds."""
    cells = request.cells(asked)
    planned = [*_warm_ups(asked, cells), *matrix.order(cells, asked.repeats, _SEED)]
    return len(planned), atonce.seconds(atonce.batches(planned, asked.jobs), asked.jobs)


def _document(asked: request.Request, cells: Sequence[RunSpec]) -> dict[str, Any]:
    described = environment.describe(asked.recordings, {cell.library.name: cell.library for cell in cells}.values())
    plan = {"cells": [cell.case.row for cell in cells], "repeats": asked.repeats, "seed": _SEED, "jobs": asked.jobs,
            **asked.conditions.kept()}
    return results.document(described, ["./run", *sys.argv[1:]], plan)


def _identity(result: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of a comparison: plan, recordings, libraries, programs and machine, without the number of repeats. --jobs is left out too, as each
    run records it."""
    plan = {name: value for name, value in result["plan"].items() if name not in ("jobs", "repeats")}
    return plan, environment.machine(result["environment"])


def _goes_on(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether the comparison found is a part of the wanted one: interrupted, or complete with fewer repeats. The first runs of
    one that needed no warm-up are not comparable with later ones."""
    before, now = found["plan"]["repeats"], wanted["plan"]["repeats"]
    return _identity(found) == _identity(wanted) and (
        before == now and not found["complete"] or before < now and bool(found["warm_ups"]))


def resumed(result: dict[str, Any], file: Path, progress_note: list[str]) -> dict[str, Any]:
    """The comparison in the file, if the new one continues it; otherwise the new one. An older one of the same kind is
    overwritten, any other is renamed."""
    if not file.is_file() or not file.stat().st_size:
        return result
    found = results.load(file)
    if _goes_on(found, result):
        progress_note.append(f"going on with {file}: {len(found['runs'])} runs are done")
        found["plan"]["jobs"] = max(found["plan"].get("jobs", 1), result["plan"]["jobs"])
        found["plan"]["repeats"] = result["plan"]["repeats"]
        found["command"] = result["command"]
        found["complete"] = False
        return found
    if not found["complete"] or _identity(found) != _identity(result):
        aside = _unused(file)
        file.rename(aside)
        progress_note.append(f"another comparison, which was in {file}, is now in {aside}")
    return result


def _unused(file: Path) -> Path:
    """An unused name beside the file's: compare.1.json."""
    names = (file.with_name(f"{file.stem}.{number}{file.suffix}") for number in itertools.count(1))
    return next(name for name in names if not name.exists())


def _warm_ups(asked: request.Request, cells: Sequence[RunSpec]) -> list[RunSpec]:
    """None for a first look or for one run per mode, as these show no differences of a few percent."""
    few = asked.repeats <= 2 if asked.first_look else asked.repeats == len(asked.recordings) == 1
    return [] if few else matrix.warm_ups(cells)


def measure(asked: request.Request, cells: list[RunSpec], file: Path) -> dict[str, Any]:
    """Does all runs that the file does not have, and writes the file after each."""
    privileges.acquire(sys.argv[1:])
    matrix.remove_stale()
    for recording in asked.recordings:
        catalogue.unpacked(recording)
    for cell in cells:
        if groundtruth.wanted(cell):
            groundtruth.look(cell.recording)
        if cell.is_user:
            groundtruth.look_at_bursts(cell.recording)
    result = _document(asked, cells)
    notes: list[str] = []
    result = resumed(result, file, notes)

    begun = time.monotonic() - result["seconds"]

    def save() -> None:
        result["seconds"] = round(time.monotonic() - begun, 1)
        results.save(result, file)

    def done(record: dict[str, Any]) -> None:
        result["runs"].append(record)
        save()

    measured = matrix.Matrix(matrix.order(cells, asked.repeats, _SEED), result["runs"], done, jobs=asked.jobs)
    warming = matrix.Matrix(_warm_ups(asked, cells) if measured.left else [], [],
                            lambda record: result["warm_ups"].append(record), jobs=asked.jobs)
    progress = Progress(len(warming.left) + len(measured.left), warming.expected_seconds + measured.expected_seconds)
    for note in notes:
        progress.note(note)
    try:
        warming.do_all(progress)
        measured.do_all(progress)
    except KeyboardInterrupt:
        if result["runs"]:      # the interruption may have come before the last write
            save()
        raise
    finally:
        progress.clear()
    pictures.compare(result["runs"], references(asked), jpeg=asked.conditions.jpeg == "always")
    result["complete"] = True
    save()
    return result


def references(asked: request.Request) -> dict[str, dict[int, str]]:
    """The known pictures, by command: the final one for the primary surface alone; the others only if no option changes
    pictures."""
    if asked.conditions.show_surfaces:
        return {}
    exact = asked.conditions.jpeg != "always" and asked.conditions.streaming in (None, "off")
    return {one.name: {**(dict(one.pauses) if exact else {}), **({pictures.END: one.picture_sha256} if one.picture_sha256 else {})}
            for one in asked.recordings}


def _tell(args: argparse.Namespace, result: dict[str, Any]) -> int:
    """Prints and writes the tables; returns the exit status."""
    written = publish.write(result, args.output, "compare")
    sys.stdout.write(publish.markdown(result))
    sys.stdout.flush()
    print(f"\nwritten: {', '.join(map(str, written))}", file=sys.stderr)
    return verdict(result)


def verdict(result: dict[str, Any]) -> int:
    """The exit status: 0 if every cell has a run that counts, and no run shows a wrong picture. Says what is wrong."""
    empty = results.empty_cells(result)
    if empty:
        print(f"bench: {len(empty)} of {len(result['plan']['cells'])} rows have no run that counts", file=sys.stderr)
    wrong = [f"{results.case(run).row} run {run['repeat']}" for run in result["runs"] if pictures.is_wrong(run)]
    if wrong:
        print(f"bench: wrong pictures in {len(wrong)} of {len(result['runs'])} runs: {', '.join(wrong)}", file=sys.stderr)
    return 1 if empty or wrong else 0


def execute(args: argparse.Namespace) -> int:
    asked = request.read(args)
    for folder in (args.output, args.keep) if not args.dry_run else ():
        if folder:
            atomic.require(folder)
    asked = prepare(asked)
    cells = request.cells(asked)
    if args.dry_run:
        runs, seconds = foretold(asked)
        print("\n".join(cell.case.row for cell in cells))
        print(f"{len(cells)} rows, {runs} runs, about {duration(seconds)}")
        return 0
    result = measure(asked, cells, args.output / "compare.json")
    if not (asked.first_look or args.modes or args.repeat):
        print(f"bench: a quick look; --repeat 10 for narrower intervals, --modes {','.join(modes.MODES)} for every mode", file=sys.stderr)
    return _tell(args, result)
