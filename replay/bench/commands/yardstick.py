# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run yardstick: the same pictures at the same times by TigerVNC, over the same links, looked at in the same way."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.common import paths, privileges, table
from bench.lab import links
from bench.measure import stats
from bench.report import report
from bench.runs import environment, matrix, recordings, results, seen, vnc

_SAYS = """\
The recording is played by spice-player at its own pace over loopback to a client (spice-x-show) that puts its pictures on the screen
of an Xvnc, without losses or video streams. Over the link xtigervncviewer shows that screen on an Xvfb, and the pixels there are
looked at every 10 ms, as those of the SPICE client are (replay/bench/measure/README.md), against the same log of what was to be
seen. Both TigerVNC programs are as Debian has them and choose encoding, JPEG quality and pace themselves (Tight, fences, continuous
updates); the connection is TLS (TLSNone). *MB*: what the server's Ethernet frames hold. What differs: Xvnc never slows the session
down, for X clients do not wait for viewers; the hop from the player to its screen is in VNC's ages, some ms; the viewer and its
screen take processor time that spice-drain does not need; both may send pictures with losses, and neither is asked to be exact
here."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Shows recordings by TigerVNC (packages tigervnc-standalone-server, tigervnc-viewer, xvfb, and libx11-dev and "
                          "libxext-dev to build with), and says how old the picture was and what was sent. With --beside, our rows of "
                          "the same recordings and links stand beside it.")
    parser.add_argument("recordings", metavar="RECORDING", nargs="+", help="a shipped one's name, a part as in NAME@30-45, or a path")
    parser.add_argument("--link", metavar="LIST", default="2M100ms,20M40ms", help="as for ./run compare (default %(default)s)")
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help="runs of each (default %(default)s)")
    parser.add_argument("--beside", metavar="FILE", type=Path, help="a result of ./run compare at recorded pace")
    parser.add_argument("--output", metavar="DIR", type=Path, default=paths.OWN_RESULTS, help="where yardstick.md and .json go "
                        "(default: results/own)")


Row = tuple[str, str, str, list[float | None], list[float | None], list[float | None], int, int]


def _vnc_rows(runs: Sequence[dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for recording, link in dict.fromkeys((run["recording"], run["link"]) for run in runs):
        all_ = [run for run in runs if (run["recording"], run["link"]) == (recording, link)]
        good = [run for run in all_ if not run["invalid_reason"] and run["seen"] and run["seen"]["age"]]
        rows.append((recording, link, "vnc", [run["seen"]["age"]["p95"] for run in good], [run["seen"]["age"]["max"] for run in good],
                     [run["bytes"] for run in good], len(good), len(all_)))
    return rows


def _our_rows(result: dict[str, Any], wanted: set[tuple[str, str]]) -> list[Row]:
    rows: list[Row] = []
    for (recording, link, pace), group in report.groups(result["runs"]).items():
        if pace != "recorded" or (recording, link) not in wanted:
            continue
        for cell, runs in report.cells(group).items():
            looked = [run for run in runs if run["valid"] and run.get("seen")]
            if looked:
                rows.append((recording, link, f"{report.name(cell)} {cell[0]}", [run["seen"]["age"]["p95"] for run in looked],
                             [run["seen"]["age"]["max"] for run in looked],
                             [run["server"]["wire_bytes"] for run in looked],
                             len(looked), len(runs)))
    return rows


def page(document: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    rows = _vnc_rows(document["runs"])
    if beside is not None:
        rows += _our_rows(beside, {(row[0], row[1]) for row in rows})
    rows.sort(key=lambda row: (row[0], links.rank(row[1]), row[2] != "vnc"))
    text = [[recording, link, name, table.milliseconds(stats.median(p95)), table.milliseconds(stats.median(oldest)),
             table.megabytes(stats.median(sent)), f"{good}/{all_}"] for recording, link, name, p95, oldest, sent, good, all_ in rows]
    parts = ["# A yardstick: the same pictures by VNC", f"{document['version']}; {document['system']}.  \nCommand: `"
             + " ".join(document["command"]) + "`",
             table.markdown(("recording", "link", "sent by", "age p95, ms", "oldest, ms", "MB", "runs"), text, left=3), _SAYS]
    wrong = sorted({f"- {run['recording']}, {run['link']}: {run['invalid_reason']}" for run in document["runs"] if run["invalid_reason"]})
    if wrong:
        parts.append("Runs that do not count:\n\n" + "\n".join(wrong))
    return "\n\n".join(parts) + "\n"


def execute(args: argparse.Namespace) -> int:
    found = vnc.programs()
    over = [links.find(name.strip()) for name in args.link.split(",")]
    beside = results.load(args.beside) if args.beside else None
    privileges.acquire(sys.argv[1:])
    chosen = [recordings.looked_into(recordings.find(name)) for name in args.recordings]
    here = environment.describe([], [])
    document: dict[str, Any] = {
        "command": ["./run", *sys.argv[1:]], "version": vnc.version(found), "system": here["system"],
        # of the library nothing is measured here: it is the one of the rows beside
        "about": {"library_tree": beside["environment"].get("library_tree") if beside else None, "git": here["git"],
                  "kernel": here["kernel"], "repeat": args.repeat}, "runs": []}
    for recording in chosen:
        seen.look(recording)
    (args.output / "yardstick.md").unlink(missing_ok=True)      # it says that all runs were done
    for repeat in range(1, args.repeat + 1):
        for recording in chosen:
            for link in over:
                with matrix.scratch() as folder:
                    run = vnc.perform(recording, link, repeat, folder, found)
                document["runs"].append(run)
                said = run["invalid_reason"] or (f"age {run['seen']['age']['p95']:.0f} ms, oldest {run['seen']['age']['max']:.0f} ms, "
                                                 f"{run['bytes'] / 1e6:.2f} MB")
                print(f"{recording.name}/{link.name} run {repeat}: {said}", file=sys.stderr, flush=True)
                results.write_text(args.output / "yardstick.json", json.dumps(document, indent=1))
    text = page(document, beside)
    results.write_text(args.output / "yardstick.md", text)
    sys.stdout.write(text)
    return 0 if any(not run["invalid_reason"] for run in document["runs"]) else 1
