# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run compare: plays recordings in every mode and transport asked for and prints what each cost."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import (certs, environment, libraries, matrix, modes, paths, privileges, recordings, report, results, run,
                   setup, validity)
from bench.errors import BenchError
from bench.progress import Progress

_NEWCOMER = "vga-text-boot"
_NEWCOMER_REPEATS = 2
_REPEATS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Plays recordings through libspice-server to a real client over a real link and compares "
                          f"what the modes cost. Without arguments: {_NEWCOMER} in modes "
                          f"{', '.join(modes.defaults())}, plain and TLS.")
    parser.add_argument("recordings", metavar="RECORDING", nargs="*", help="a shipped one's name, or a path")
    parser.add_argument("--modes", metavar="LIST", help=f"of {','.join(modes.MODES)}; options follow a colon, as in "
                        "gather:threshold=64")
    parser.add_argument("--transport", metavar="LIST", default="plain,tls", help="plain,tls")
    parser.add_argument("--repeat", metavar="N", type=int, help=f"runs of each (default {_REPEATS}; "
                        f"{_NEWCOMER_REPEATS} when no recording is named)")
    parser.add_argument("--library", metavar="NAME", action="append",
                        help="stock, patched or a directory holding libspice-server.so.1; may be given again")
    parser.add_argument("--tls", choices=certs.VERSIONS, default="1.3", help="the TLS version")
    parser.add_argument("--quick", action="store_true", help="one run of each")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the runs")
    parser.add_argument("--json", metavar="FILE", help="where the result file goes (- is standard output; default: "
                        "beside the table)")
    parser.add_argument("--output", metavar="DIR", type=Path, default=paths.RESULTS, help="where the table goes")
    parser.add_argument("--keep-pcap", metavar="DIR", nargs="?", type=Path, const=Path("pcap"),
                        help="keep every capture, in DIR (default: pcap)")


def _listed(text: str, what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise BenchError(f"no {what} given", 2)
    return list(dict.fromkeys(names))


def transports(text: str) -> list[str]:
    names = _listed(text, "transport")
    for name in names:
        if name not in run.TRANSPORTS:
            raise BenchError(f"unknown transport '{name}': it is one of {', '.join(run.TRANSPORTS)}", 2)
    return names


@dataclass(frozen=True)
class Request:
    """The command line, checked as far as it can be before anything is built."""
    recordings: list[recordings.Recording]
    modes: list[str]
    modes_named: bool
    libraries: list[str] | None
    transports: list[str]
    repeats: int


def read(args: argparse.Namespace) -> Request:
    names = [modes.check(name) for name in _listed(args.modes, "mode")] if args.modes is not None else modes.defaults()
    for name in args.library or []:
        if name not in (libraries.STOCK, libraries.PATCHED):
            libraries.find(name)
    return Request([recordings.find(name) for name in args.recordings or [_NEWCOMER]], names, args.modes is not None,
                   args.library, transports(args.transport), _repeats(args))


def rows(request: Request) -> list[tuple[libraries.Library, str]]:
    """Which library plays in which mode. A library that knows no modes has the one row `stock`; the patched library
    has no such row, so there `stock` means the unpatched build."""
    names = request.modes
    if request.libraries is None:
        return [(libraries.find(libraries.STOCK if name == modes.STOCK else libraries.PATCHED), name) for name in names]
    found: list[tuple[libraries.Library, str]] = []
    for wanted in dict.fromkeys(request.libraries):
        library = libraries.find(wanted)
        if library.patched:
            found += [(library, name) for name in names if name != modes.STOCK]
        elif request.modes_named and modes.STOCK not in names:
            raise BenchError(f"library {wanted} is not patched: it knows none of the modes {', '.join(names)}", 2)
        else:
            found.append((library, modes.STOCK))
    if not found:
        raise BenchError("no mode left to play: the patched library has no mode 'stock'", 2)
    return found


def _repeats(args: argparse.Namespace) -> int:
    if args.quick:
        return 1
    if args.repeat is None:
        return _REPEATS if args.recordings else _NEWCOMER_REPEATS
    if args.repeat < 1:
        raise BenchError("--repeat wants a number above 0", 2)
    return int(args.repeat)


def cells(args: argparse.Namespace, request: Request) -> list[run.RunSpec]:
    """One spec a cell, of everything the command line asks for."""
    return [run.RunSpec(recording=recording, library=library, mode=mode, transport=transport, tls_version=args.tls,
                        keep_pcap=args.keep_pcap)
            for recording in request.recordings for transport in request.transports
            for library, mode in rows(request)]


def _build() -> None:
    """Brings the build up to date; as the user, before a user namespace is entered."""
    if paths.build_is_ours() and not privileges.inside():
        setup.setup()


def _document(args: argparse.Namespace, request: Request, wanted: list[run.RunSpec]) -> dict[str, Any]:
    described = environment.describe(request.recordings, {cell.library.name: cell.library for cell in wanted}.values())
    return results.document(described, ["./run", *sys.argv[1:]], {
        "cells": len(wanted), "repeats": request.repeats, "seed": args.seed, "tls": args.tls, "pace": "max"})


def execute(args: argparse.Namespace) -> int:
    request = read(args)
    _build()
    for built in (paths.player, paths.client):
        built()
    wanted = cells(args, request)
    privileges.acquire(sys.argv[1:])
    matrix.remove_stale()
    for recording in request.recordings:
        recordings.unpacked(recording)
    result = _document(args, request, wanted)
    json_file = args.json or str(args.output / "compare.json")
    planned = matrix.order(wanted, request.repeats, args.seed)
    progress = Progress(len(planned))

    def done(record: dict[str, Any]) -> None:
        result["runs"].append(record)
        if json_file != results.STDOUT:
            results.save(result, json_file)

    try:
        matrix.run_all(planned, progress, done)
    finally:
        progress.clear()
    validity.compare_pictures(result["runs"], {recording.name: recording.picture_sha256 for recording in request.recordings})
    result["complete"] = True
    results.save(result, json_file)
    return _tell(args, result, wanted)


def _tell(args: argparse.Namespace, result: dict[str, Any], wanted: list[run.RunSpec]) -> int:
    """Prints and writes the table; the status is 0 when every cell has a run that counts."""
    page = report.markdown(result)
    results.write_text(args.output / "compare.md", page)
    if args.json != results.STDOUT:
        sys.stdout.write(page)
        print(f"\nwritten to {args.output / 'compare.md'}", file=sys.stderr)
    counted = {(record["recording"], record["link"], record["transport"], record["library"], record["mode"])
               for record in result["runs"] if record["valid"]}
    empty = [cell for cell in wanted if cell.cell not in counted]
    if empty:
        print(f"bench: {len(empty)} of {len(wanted)} rows have no run that counts", file=sys.stderr)
        return 1
    return 0
