# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run results: measures the pages of results/, and writes the index with the library of each page."""

from __future__ import annotations

import argparse
import lzma
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2

from bench.commands import compare, request
from bench.common import atomic, page, paths, table
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.measure import pictures
from bench.report import publish, report
from bench.report.stored import POSTED, Stored
from bench.runs import environment, results
from bench.source import setup
from pages import documents
from pages.parts import COMPARE, PARTS, Part, RELEASES, TABLE
from recordings import catalogue

_INDEX = "README.md"
_MAIN = "main"
_NOTES = "notes.md"     # written by hand
_RELEASES = "recordings/releases.md"
_SESSIONS = "live/sessions.md"
_RUNS, _PACKED = "compare.json", "compare.json.xz"
_PAGE = "compare.md"
_WRITTEN = (_PAGE, "compare.csv")
_INTERRUPTED = (130, -signal.SIGINT, -signal.SIGTERM)    # exit statuses


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures the folders of results/ with the library of this tree. Continues after a page that fails; the same "
                          "command again measures only what is missing. With a result file it only writes that file's page.")
    parser.add_argument("names", metavar="FOLDER", nargs="*", help=f"{', '.join(dict.fromkeys(part.folder for part in PARTS))}; "
                        f"a part: distance/download; {_MAIN}: what README.md shows; or FILE.json (default: all)")
    parser.add_argument("--repeat", metavar="N", type=int, help="runs per row (default: 4 for what README.md shows, else 1 to 3)")
    parser.add_argument("--output", metavar="DIR", type=Path, default=paths.RESULTS, help="folder for the pages (default: results)")
    parser.add_argument("--dry-run", action="store_true", help="list the parts and the estimated time, measure nothing")
    parser.add_argument("--index", action="store_true", help="measure nothing; write all pages again, also those of live and clients, "
                        "and the tables of README.md and docs/modes.md")


def chosen(names: Sequence[str]) -> list[Part]:
    """The parts of these names, in their order; all parts without a name."""
    known = {part.where for part in PARTS} | {part.folder for part in PARTS} | {_MAIN}
    for name in names:
        if name.rstrip("/") not in known:
            raise BenchError(f"unknown folder '{name}': choose one of {_MAIN}, {', '.join(part.where for part in PARTS)}", 2)
    wanted = {name.rstrip("/") for name in names}
    # a folder's name is also that of its first part: alone it means all of it
    return [part for part in PARTS if not wanted or {part.where, part.folder} & wanted or part.main and _MAIN in wanted]


def command(part: Part, output: Path, repeat: int | None) -> list[str]:
    """The arguments of ./run for a part (except the releases). The page shows them, without the tree's path."""
    count = ["--repeat", str(repeat or part.repeat)]
    folder = str((output.relative_to(paths.ROOT) if output.is_relative_to(paths.ROOT) else output) / part.where)
    return ["compare", *shlex.split(part.arguments), *count, "--output", folder]


def made(part: Part, output: Path) -> dict[str, Any] | None:
    """What exists of a part; first of all what was interrupted or is not packed yet."""
    if part.kind != COMPARE:
        return None
    plain = output / part.where / _RUNS
    return results.load(plain) if plain.is_file() else Stored(output).result(part.where)


def _is_done(part: Part, output: Path, repeat: int | None) -> bool:
    """Whether all rows have enough runs that count."""
    found = made(part, output)
    return found is not None and bool(found["complete"]) and not results.empty_cells(found) and _is_of_now(part, found) and (
        found["plan"]["repeats"] >= (repeat or part.repeat))


def _is_of_now(part: Part, found: dict[str, Any]) -> bool:
    """Whether it was measured with this library and the part's present command."""
    asked = shlex.split(part.arguments)
    return results.library(found) == environment.library_tree() and found["command"][2:2 + len(asked)] == asked


def _run(argv: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *argv], text=True, check=False, cwd=paths.ROOT, **more)


def pack(folder: Path) -> None:
    """Compresses the result file, to a tenth of its size, without pictures."""
    plain = folder / _RUNS
    if plain.is_file():
        result = results.load(plain)
        pictures.forget(result["runs"])
        results.save(result, plain)
        atomic.write_bytes(folder / _PACKED, lzma.compress(plain.read_bytes(), preset=9))
        plain.unlink()


def unpack(folder: Path) -> None:
    """Unpacks the result file of a comparison that is continued or gets more runs."""
    packed = folder / _PACKED
    if packed.is_file() and not (folder / _RUNS).is_file():
        atomic.write_text(folder / _RUNS, lzma.decompress(packed.read_bytes()).decode())


def page_of(folder: str, output: Path) -> str | None:
    """One page for all results in a folder; None without any."""
    found = {f"{part.where}: {part.question}": result for part in PARTS if part.folder == folder and (result := Stored(output).result(part.where))}
    return publish.pages(found, f"../{_INDEX}#columns") if found else None


def write_page(folder: str, output: Path) -> None:
    if text := page_of(folder, output):
        for part in PARTS:
            for name in _WRITTEN if part.folder == folder else ():
                (output / part.where / name).unlink(missing_ok=True)
        atomic.write_text(output / folder / _PAGE, text)


def _make(part: Part, output: Path, repeat: int | None) -> bool:
    """Returns whether every row has runs that count. Raises BenchError if interrupted, as all later parts would be."""
    folder = output / part.where
    if part.kind == RELEASES:
        done = _run(["pages.releases"], stdout=subprocess.PIPE)
        if done.stdout:
            atomic.write_text(output / _RELEASES, "# Every recording on every release\n\n"
                               f"Library {environment.library()}.\n\n{done.stdout}")
        return done.returncode == 0
    argv = command(part, output, repeat)
    before = made(part, output)
    if before is None or not _is_of_now(part, before):
        (folder / _RUNS).unlink(missing_ok=True)    # the repository keeps what was there
    else:
        unpack(folder)
    status = _run(["bench", *argv], stdout=subprocess.DEVNULL).returncode
    if status in _INTERRUPTED:
        raise BenchError(f"{part.where}: ./run {shlex.join(argv)} ended with status {status}; to continue, run the same again", status)
    if not (folder / _RUNS).is_file():
        print(f"results: {part.where}: ./run {shlex.join(argv)} measured nothing, status {status}", file=sys.stderr)
        return False
    pack(folder)
    write_page(part.folder, output)
    return status == 0


def _named(found: dict[str, Any]) -> str:
    return environment.named(results.library(found))


def index(output: Path) -> str:
    """The page index: question and library of each page."""
    folders = list(dict.fromkeys(part.folder for part in PARTS))
    found = [(part, there) for part in sorted(PARTS, key=lambda part: folders.index(part.folder)) if (there := made(part, output))]
    pages = table.of(found, (
        ("page", lambda each: f"[{each[0].where}]({each[0].folder}/{_PAGE})"), ("question", lambda each: each[0].question),
        ("n", lambda each: str(each[1]["plan"]["repeats"])),
        ("duration", lambda each: duration(each[1]["seconds"]) if each[1].get("seconds") else table.UNKNOWN),
        ("library", lambda each: _named(each[1]))), left=2) if found else None
    return page.fill(
        "pages/index.md.j2", libraries=list(dict.fromkeys(_named(there) for _, there in found)), pages=pages,
        there={name: (output / name).is_file() for name in (_NOTES, _SESSIONS, _RELEASES)}, posted=POSTED, legend=publish.whole_legend(),
        one_table=report.one_table([result for where in TABLE if (result := Stored(output).result(where))]))


def _note(output: Path) -> None:
    for file, text in documents.written(Stored()).items() if output == paths.RESULTS else ():
        atomic.write_text(file, text)
    atomic.write_text(output / _INDEX, index(output))


def write_pages(files: Sequence[Path]) -> int:
    """Of what was measured before, beside it. Of a compressed file only the table of figures: in results/ the page beside it is of all
    parts of the folder. Returns the exit status of ./run compare."""
    status = 0
    for file in files:
        name = Path(file.name.removesuffix(".xz")).stem
        try:
            result = results.load_complete(file)
            status = max(status, compare.verdict(result))
            written = publish.write(result, file.parent, name, paged=not file.name.endswith(".xz"))
        except (LookupError, TypeError, ValueError, AttributeError, jinja2.TemplateError) as error:
            raise BenchError(f"{file} is damaged: {error!r}: measure again", 2) from None
        print(f"written: {', '.join(map(str, written))}", file=sys.stderr)
    return status


def execute(args: argparse.Namespace) -> int:
    files = [Path(name) for name in args.names if name.endswith((".json", ".json.xz"))]
    if files and len(files) < len(args.names):
        raise BenchError("give folders of results/ or result files, not both", 2)
    if files:
        if args.dry_run or args.index or args.repeat is not None or args.output != paths.RESULTS:
            raise BenchError("the pages of result files are written beside them, without options", 2)
        return write_pages(files)
    parts = chosen(args.names)
    args.output = args.output.resolve()
    if args.repeat is not None and args.repeat < 1:
        raise BenchError("--repeat must be at least 1", 2)
    told = [] if args.index else foretell(parts, args.output, args.repeat)
    if args.dry_run:
        print("".join(f"{line}\n" for line in told), end="")
        return 0
    print("".join(f"results: {line}\n" for line in told[-1:]), end="", file=sys.stderr)
    missing = []
    for part in parts if not args.index else []:
        if _is_done(part, args.output, args.repeat):
            print(f"results: {part.where} is done", file=sys.stderr)
            there = made(part, args.output)
            missing += [part.where] if there and any(map(pictures.is_wrong, there["runs"])) else []
            continue
        print(f"results: {part.where}: {part.question}", file=sys.stderr)
        if not _make(part, args.output, args.repeat):
            missing.append(part.where)
        _note(args.output)
    for folder in dict.fromkeys(part.folder for part in parts) if args.index else ():
        write_page(folder, args.output)
    _note(args.output)
    if missing:
        print(f"bench: failed, rows without a run that counts, or pictures that differ: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


def _foretold(part: Part, output: Path, repeat: int | None) -> tuple[int, float]:
    parser = argparse.ArgumentParser()
    compare.configure(parser)
    asked = request.read(parser.parse_intermixed_args(command(part, output, repeat)[1:]))
    return compare.foretold(replace(asked, recordings=[catalogue.looked_into(one) for one in asked.recordings]))


def foretell(parts: Sequence[Part], output: Path, repeat: int | None) -> list[str]:
    """One line per part with its estimated duration, and the total."""
    setup.current()
    told, runs, seconds, uncounted = [], 0, 0.0, []
    for part in parts:
        if _is_done(part, output, repeat):
            told.append(f"{part.where}: is done")
        elif part.kind == COMPARE:
            more, longer = _foretold(part, output, repeat)
            told.append(f"{part.where}: {more} runs, about {duration(longer)}")
            runs, seconds = runs + more, seconds + longer
        else:
            uncounted.append(part.where)
    return [*told, f"all: {runs} runs, about {duration(seconds)} on two processors that nobody else uses"
            + (f", and some minutes for {' and '.join(uncounted)}" if uncounted else "")]
