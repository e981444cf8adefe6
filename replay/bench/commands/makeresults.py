# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run results: measures the pages of results/, and writes the index with the library of each page."""

from __future__ import annotations

import argparse
import lzma
import re
import shlex
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.commands import compare, readme, request
from bench.commands.folders import COMPARE, PARTS, Part, RELEASES, TABLE
from bench.common import atomic, paths, table
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.lab import links
from bench.measure import pictures
from bench.report import grouping, onetable, publish, report
from bench.runs import environment, results
from bench.source import setup
from recordings import catalogue

_INDEX = "README.md"
_MAIN = "main"
_NOTES = "notes.md"     # written by hand
_TABLE = "table.csv"    # the table of results/README.md as CSV
_RELEASES = "recordings/releases.md"
_SESSIONS = "live/sessions.md"
_RUNS, _PACKED = "compare.json", "compare.json.xz"
_PAGE = "compare.md"
_WRITTEN = (_PAGE, "compare.csv")
_INTERRUPTED = (130, -signal.SIGINT, -signal.SIGTERM)    # exit statuses
_SHOWN = 12     # shown digits of a hash
_APART = ("Other commands make these pages, each measured with a library of its own: [live](live/README.md) (`./run live`: response time of "
          "a guest in QEMU; [deployments](live/deployment.md){sessions}), "
          "[clients](clients/README.md) (`./run clients`, `./run installed`).")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Measures the folders of results/ with the library of this tree. Continues after a page that fails; the same "
                          "command again measures only what is missing. With a result file it only writes that file's page.")
    parser.add_argument("names", metavar="FOLDER", nargs="*", help=f"{', '.join(dict.fromkeys(part.folder for part in PARTS))}; "
                        f"a part: distance/download; {_MAIN}: what README.md shows; or FILE.json (default: all)")
    parser.add_argument("--repeat", metavar="N", type=int, help="runs per row (default: 4 for what README.md shows, else 1 to 3)")
    parser.add_argument("--output", metavar="DIR", type=Path, default=paths.RESULTS, help="folder for the pages (default: results)")
    parser.add_argument("--dry-run", action="store_true", help="list the parts and the estimated time, measure nothing")
    parser.add_argument("--index", action="store_true", help=f"measure nothing; write all pages again, {_INDEX} and the tables of ../README.md and docs/modes.md")


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


@dataclass(frozen=True)
class Made:
    """What exists of a part."""
    library: str | None     # the hash of patches/ and server/
    repeat: int
    complete: bool
    seconds: float | None
    argv: list[str]         # the command
    empty: bool             # a row has no run that counts
    wrong: bool             # a run shows a wrong picture


def made(part: Part, output: Path) -> Made | None:
    folder = output / part.where
    if part.kind == RELEASES:
        return None
    file = next((folder / name for name in (_RUNS, _PACKED) if (folder / name).is_file()), folder)
    if file == folder:
        return None
    found = results.load(file)
    return Made(found["environment"].get("library_tree"), found["plan"]["repeats"], found["complete"], found.get("seconds"),
                found["command"], bool(results.empty_cells(found)), any(map(pictures.is_wrong, found["runs"])))


def _is_done(part: Part, output: Path, repeat: int | None) -> bool:
    found = made(part, output)
    return found is not None and found.complete and not found.empty and _is_of_now(part, found) and found.repeat >= (
        repeat or part.repeat)


def _is_of_now(part: Part, found: Made) -> bool:
    """Whether it was measured with this library and the part's present command."""
    asked = shlex.split(part.arguments)
    return found.library == environment.library_tree() and (part.kind != COMPARE or found.argv[2:2 + len(asked)] == asked)


def _run(argv: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *argv], text=True, check=False, cwd=paths.ROOT, **more)


def pack(folder: Path) -> None:
    """Compresses the result file, to a tenth of its size."""
    plain = folder / _RUNS
    if plain.is_file():
        atomic.write_bytes(folder / _PACKED, lzma.compress(plain.read_bytes(), preset=9))
        plain.unlink()


def unpack(folder: Path) -> None:
    """Unpacks the result file of a comparison that is continued or gets more runs."""
    packed = folder / _PACKED
    if packed.is_file() and not (folder / _RUNS).is_file():
        atomic.write_text(folder / _RUNS, lzma.decompress(packed.read_bytes()).decode())


def write_page(folder: str, output: Path) -> None:
    """Writes one page for all results in a folder."""
    found = {}
    for part in PARTS:
        if part.folder == folder and (file := output / part.where / _PACKED).is_file():
            found[f"{part.where}: {part.question}"] = results.load(file)
            for name in _WRITTEN:
                (output / part.where / name).unlink(missing_ok=True)
    if found:
        atomic.write_text(output / folder / _PAGE, report.page(found, f"../{_INDEX}#columns"))


def _make(part: Part, output: Path, repeat: int | None) -> bool:
    """Returns whether every row has runs that count. Raises BenchError if interrupted, as all later parts would be."""
    folder = output / part.where
    if part.kind == RELEASES:
        done = _run(["recordings.releases"], stdout=subprocess.PIPE)
        if done.stdout:
            atomic.write_text(output / _RELEASES, "# Every recording on every release\n\n"
                               f"Library {_short(environment.library_tree())}.\n\n{done.stdout}")
        return done.returncode == 0
    argv = command(part, output, repeat)
    if part.kind == COMPARE:
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


def _short(digest: str | None) -> str:
    return (digest or "unknown")[:_SHOWN]


def _one_table(output: Path) -> list[dict[str, Any]]:
    """The results for the table of results/README.md, as far as they exist."""
    return [results.load(file) for where in TABLE if (file := output / where / _PACKED).is_file()]


def index(output: Path) -> str:
    """The page index: question and library of each page."""
    folders = list(dict.fromkeys(part.folder for part in PARTS))
    found = [(part, there) for part in sorted(PARTS, key=lambda part: folders.index(part.folder)) if (there := made(part, output))]
    libraries = dict.fromkeys(there.library for _, there in found)
    if not found:
        first = "Nothing is measured yet."
    elif len(libraries) == 1:
        first = f"All pages were measured with library {_short(next(iter(libraries)))}."
    else:
        first = f"**The pages were measured with {len(libraries)} versions of the library** (last column)."
    rows = [[f"[{part.where}]({part.folder}/{_PAGE})", part.question, str(there.repeat),
             duration(there.seconds) if there.seconds else table.UNKNOWN, _short(there.library)] for part, there in found]
    head = ("page", "question", "n", "duration", "library")
    more = [f"[{name}]({name})" for name in (_TABLE, _RELEASES) if (output / name).is_file()]
    return "\n\n".join(part for part in (
        "# Results", first, "`./run results [FOLDER]` measures all pages, or those of a folder ([how long](../CONTRIBUTING.md#the-first-hour)). The same "
        "command again measures only what is missing. *library*: hash of patches/ and server/; *n*: runs per row. Each page has its command, commit and kernel. Your own results are in "
        "results/own/, or where `--output` says. Links: 20M40ms is 20 Mbit/s and a round trip of 40 ms.",
        table.markdown(head, rows, left=2) if rows else "",
        f"[{_NOTES}]({_NOTES}): targets met and missed, and what the older libraries lack." if (output / _NOTES).is_file() else "",
        _APART.format(sessions="; [sessions at once](live/sessions.md)" if (output / _SESSIONS).is_file() else ""),
        f"More: {', '.join(more)}." if more else "",
        "In each folder, `compare.md` has the tables and `compare.json.xz` every run ([fields](../replay/bench/runs/README.md#the-result-file), "
        "[definitions of figures](../replay/bench/measure/README.md)). `./run results FILE.json.xz` writes `compare.csv`, every figure "
        "with interval and n.", onetable.markdown(_one_table(output)),
        report.whole_legend() if found else "") if part) + "\n"


_DISTANCES: tuple[tuple[str, str, str, str, Callable[[float], str]], ...] = (   # says, part, link, metric, as it is written
    *((f"{name}: seconds", part, name, "wall", lambda value: f"{value:.1f} s") for part, name in
      (("distance", "20M40ms"), ("distance/links", "50M100ms"), ("distance/links", "100M10ms"), ("distance/links", "2M100ms"))),
    ("20M40ms, beside a bulk download: share of the link", "distance/download", "20M40ms", "own_share",
     lambda value: f"{value * 100:.0f} %"),
    ("2M100ms, recorded pace: p95 latency", "staleness", "2M100ms", "latency_p95",
     lambda value: f"{value / 1e3:.2f} s"),
    ("2M100ms, recorded pace: p95 staleness", "staleness", "2M100ms", "staleness_p95", lambda value: f"{value / 1e3:.1f} s"),
    ("20M40ms: bytes on the wire", "distance", "20M40ms", "wire_bytes", table.megabytes),
    ("2M100ms, recorded pace: bytes on the wire", "staleness", "2M100ms", "wire_bytes", table.megabytes))


_RELAYED = {"distance": "distance/links", "staleness": "staleness/links"}


def distances(output: Path) -> str | None:
    """linux-desktop over TLS, direct and through a relay, as far as measured with the library of the first page: rows and columns
    without a figure are left out. None without any."""
    files = {part: output / part / _PACKED for part in (*(part for _, part, *_ in _DISTANCES), *_RELAYED.values())}
    made = {part: results.load(file) for part, file in files.items() if file.is_file()}
    first = made.get(_DISTANCES[0][1])
    if first is None:
        return None
    library = first["environment"].get("library_tree")
    loaded = {part: page["runs"] for part, page in made.items() if page["environment"].get("library_tree") == library}

    def values(part: str, link: str, metric: str, mode: str) -> list[float]:
        through = _RELAYED.get(part, part) if link.endswith(links.RELAY) else part
        return grouping.values([run for run in loaded.get(through, ()) if (run["recording"], run["link"], run["mode"], run["transport"])
                                == ("linux-desktop", link, mode, "tls")], metric)

    rows = []
    for says, part, link, metric, written in _DISTANCES:
        found = [values(part, through, metric, mode) for through in (link, link + links.RELAY) for mode in ("stock", "flow")]
        if any(found):
            rows.append([says, *(written(statistics.median(each)) if each else table.UNKNOWN for each in found),
                         str(min(len(each) for each in found if each))])
    if not rows:
        return None
    columns = [column for column in zip(("linux-desktop", "stock", "`flow`", "stock, relay", "`flow`, relay", "n"), *rows, strict=True)
               if any(cell != table.UNKNOWN for cell in column[1:])]
    head, *rows = (list(row) for row in zip(*columns, strict=True))
    return table.markdown(head, rows) + "\n"


_FIRST_TABLES = {"pace": ("lan",), "modes": ("modes", "modes/made")}


def first_table(mark: str, output: Path) -> str | None:
    """The overhead tables of pages, joined; for a page without one, its first table."""
    pages = [report.markdown(results.load(file)) for where in _FIRST_TABLES[mark] if (file := output / where / _PACKED).is_file()]
    found = [shown[0].splitlines() for page in pages
             if (shown := re.search(r"(?:^\|.*\n)+", page.partition("\n### Overhead ")[2] or page, re.MULTILINE))]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for number, lines in enumerate(found)
            for line in (lines[2:] if number else [lines[0], *lines[2:]])]
    return table.markdown(rows[0], rows[1:], left=3) + "\n" if rows else None


def fill_tables(page: Path, output: Path) -> None:
    """Fills a page's marked tables with the first tables of the pages, and distances()."""
    text = page.read_text()
    for mark, shown in (("distance", distances(output)), *((mark, first_table(mark, output)) for mark in _FIRST_TABLES)):
        if shown:
            text = re.sub(rf"(<!-- {mark}:.*-->\n)(?:.*\n)*?(<!-- end -->)", lambda found, table=shown: found[1] + table + found[2],
                          text)
    atomic.write_text(page, text)


def _note(output: Path) -> None:
    if documents := _one_table(output):
        atomic.write_text(output / _TABLE, onetable.text(documents))
    atomic.write_text(output / _INDEX, index(output))
    if output == paths.RESULTS:
        readme.update()
        fill_tables(paths.ROOT / "docs/modes.md", output)


def write_pages(files: Sequence[Path]) -> None:
    """Of what was measured before, beside it. Of a compressed file only the table of figures: in results/ the page beside it is of all
    parts of the folder."""
    for file in files:
        name = Path(file.name.removesuffix(".xz")).stem
        written = publish.write(results.load_complete(file), file.parent, name, page=not file.name.endswith(".xz"))
        print(f"written: {', '.join(map(str, written))}", file=sys.stderr)


def execute(args: argparse.Namespace) -> int:
    files = [Path(name) for name in args.names if name.endswith((".json", ".json.xz"))]
    if files and len(files) < len(args.names):
        raise BenchError("give folders of results/ or result files, not both", 2)
    if files:
        if args.dry_run or args.index or args.repeat is not None or args.output != paths.RESULTS:
            raise BenchError("the pages of result files are written beside them, without options", 2)
        write_pages(files)
        return 0
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
            missing += [part.where] if there and there.wrong else []
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
    if paths.build_is_ours():
        setup.setup()
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
