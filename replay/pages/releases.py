# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays every shipped recording with the stock and the patched library of every release, and compares the pictures.

  python3 -m pages.releases [NAME...]        the table, in Markdown; exit status 1 if a picture differs

Pictures are compared at the end, at the manifest's checkpoint and at three moments between. Those that the manifest
lacks must equal the first library's. Missing libraries are built first.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench.common import commit, paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import libraries
from bench.source import upstream
from recordings import manifest
from recordings.play import WITHOUT_STREAMS, Played, play

PARTS = 4                    # distance between the moments
SECONDS = 600
_END = -1                    # stands for the command after the last one
_SHOWN = 12                  # digits of a hash in the table

Entry = dict[str, Any]
Shown = dict[int, str] | str         # command -> picture, or why there are none


def built() -> dict[str, Path]:
    """Name -> folder of the library, newest releases last."""
    return {f"{version} {kind}": libraries.find(f"{kind}@{version}").directory
            for version in upstream.RELEASES for kind in (libraries.STOCK, libraries.PATCHED)}


def moments(entry: Entry) -> tuple[int, ...]:
    """The commands after which pictures are compared, in order."""
    between = {entry["commands"] * part // PARTS for part in range(1, PARTS)}
    return tuple(sorted(between | ({entry["checkpoint"]["command"]} if entry.get("checkpoint") else set())))


def known(entry: Entry) -> dict[int, str]:
    """The pictures in the manifest."""
    pictures = {**dict(entry.get("pauses", ())), _END: entry["picture_sha256"]}
    if entry.get("checkpoint"):
        pictures[entry["checkpoint"]["command"]] = entry["checkpoint"]["sha256"]
    return {command: picture for command, picture in pictures.items() if picture}


def shown(played: Played, looked: tuple[int, ...]) -> Shown:
    if not played.good or len(played.pauses) != len(looked):
        return f"player {played.player_status}, client {played.client_status}: {played.reason}"
    return {**dict(zip(looked, played.pauses)), _END: played.client["sha256"]}


def rows(entry: Entry, seen: dict[str, Shown]) -> tuple[list[str], int]:
    """The table's rows for a recording, and the number of unexpected cells."""
    first = next((each for each in seen.values() if isinstance(each, dict)), {})
    reference = {**first, **known(entry)}
    lines, wrong = [], 0
    for command in (*moments(entry), _END):
        cells = []
        for each in seen.values():
            picture = each.get(command, "") if isinstance(each, dict) else each
            equal = picture == reference.get(command)
            cells.append("equal" if equal else picture[:_SHOWN] if isinstance(each, dict) else picture)
            wrong += not equal
        moment = "end" if command == _END else str(command)
        origin = "manifest" if command in known(entry) else "first library"
        lines.append(f"| {entry['name']} | {moment} | {reference.get(command, 'none')[:_SHOWN]} | {origin} | {' | '.join(cells)} |")
    return lines, wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="pages.releases", description="Every recording with every release's library.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args(arguments)
    entries = [entry for entry in manifest.load() if not chosen.names or entry["name"] in chosen.names]
    if unknown := set(chosen.names) - {entry["name"] for entry in entries}:
        parser.error(f"no recording {', '.join(sorted(unknown))}")
    steps = Steps(paths.build_dir() / "releases.log")
    wrong = 0
    try:
        found = built()
        state = commit.state()
        print(f"Commit {state['commit'] or 'unknown'}{', with changes' if state['dirty'] else ''}. Pictures are named by their hash; those that the "
              "manifest of the recordings lacks must equal the first library's.\n")
        print(f"| recording | after command | picture | known from | {' | '.join(found)} |\n|{'---|' * (4 + len(found))}")
        for number, entry in enumerate(entries, 1):
            seen: dict[str, Shown] = {}
            for name, library in found.items():
                steps.say(f"[{number}/{len(entries)}] {entry['name']}, {name}")
                played = play(manifest.FOLDER / entry["file"], library=library, seconds=SECONDS, options=WITHOUT_STREAMS,
                              pause_at=moments(entry))
                loaded = played.player.get("library", "")
                seen[name] = shown(played, moments(entry))
                if played.good and Path(loaded).resolve().parent != library.resolve():
                    seen[name] = f"played with {loaded}"
            lines, more = rows(entry, seen)
            print("\n".join(lines), flush=True)
            wrong += more
    except BenchError as error:
        print(f"pages.releases: {error}", file=sys.stderr)
        return error.status
    print(f"\n{len(entries)} recordings x {len(found)} libraries, {wrong} pictures differ.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
