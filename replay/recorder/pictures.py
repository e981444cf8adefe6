# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of the shipped recordings: plays each, compares with the manifest, makes a contact sheet.

  python3 -m recorder.pictures [NAME...]       play and compare; exit status 1 if a picture differs
  --library DIR     with another libspice-server
  --note            write the pictures into the manifest instead (of generated recordings only what cannot be computed)
  --sheet FILE      all pictures in one PNG, four per row, in the manifest's order

The last picture of a session may be black, as the machine was switched off. For such a recording the manifest has a
checkpoint, a number of commands after which the picture is worth a look; it is compared as well, and shown on the
sheet.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from bench.common.errors import BenchError
from recorder import manifest
from recorder.play import Played, play

# Video streams are lossy, and how lossy depends on the time: without them the same commands give the same picture.
OPTIONS = ("--streaming", "off")
THUMBNAIL, ACROSS, GAP = (320, 240), 4, 8


def shown(entry: dict[str, Any], folder: Path, png: Path, library: Path | None) -> Played:
    """Plays it; the picture worth looking at goes to `png`."""
    path = folder / entry["file"]
    checkpoint = entry.get("checkpoint")
    if not checkpoint:
        return play(path, png=png, library=library, seconds=600, options=OPTIONS)
    played = play(path, library=library, seconds=600, options=OPTIONS, pause_at=(checkpoint["command"],),
                  pause_png=png.with_suffix(""))
    paused = sorted(png.parent.glob(png.stem + "[0-9]*.png"))
    if paused:
        paused[0].rename(png)
    return played


def differences(entry: dict[str, Any], played: Played) -> list[str]:
    """What is not as the manifest says."""
    if not played.good:
        told = (played.player_log + played.client_log).strip().splitlines() or ["no reason told"]
        return [f"not played: player {played.player_status}, client {played.client_status}: {told[-1]}"]
    found = []
    if played.client["sha256"] != entry["picture_sha256"]:
        found.append(f"final picture {played.client['sha256']}, the manifest says {entry['picture_sha256']}")
    checkpoint = entry.get("checkpoint")
    if checkpoint and played.pauses != [checkpoint["sha256"]]:
        found.append(f"picture after {checkpoint['command']} commands {played.pauses}, the manifest says {checkpoint['sha256']}")
    return found


def note(entry: dict[str, Any], played: Played) -> None:
    if entry["kind"] == "real" or entry["picture_sha256"] is None:
        entry["picture_sha256"] = played.client["sha256"]
    if entry.get("checkpoint"):
        entry["checkpoint"]["sha256"] = played.pauses[0]


def sheet(pictures: list[Path]) -> Image.Image:
    """Each shrunk to fit, on grey."""
    step = (THUMBNAIL[0] + GAP, THUMBNAIL[1] + GAP)
    together = Image.new("RGB", (ACROSS * step[0] + GAP, -(-len(pictures) // ACROSS) * step[1] + GAP), "white")
    for at, path in enumerate(pictures):
        corner = (GAP + at % ACROSS * step[0], GAP + at // ACROSS * step[1])
        together.paste(0xC0C0C0, (*corner, corner[0] + THUMBNAIL[0], corner[1] + THUMBNAIL[1]))
        with Image.open(path) as picture:
            picture.thumbnail(THUMBNAIL)
            together.paste(picture, corner)
    return together


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recorder.pictures", description="The pictures the shipped recordings show.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--library", type=Path, help="a folder with another libspice-server.so.1")
    parser.add_argument("--note", action="store_true", help="put them into the manifest")
    parser.add_argument("--sheet", type=Path, help="make a contact sheet")
    chosen = parser.parse_args(arguments)
    entries = manifest.load()
    unknown = set(chosen.names) - {entry["name"] for entry in entries}
    if unknown:
        parser.error(f"no recording {', '.join(sorted(unknown))}")
    wrong = False
    pictures = []
    with tempfile.TemporaryDirectory(prefix="spice-pictures-") as folder:
        for entry in entries:
            if chosen.names and entry["name"] not in chosen.names:
                continue
            png = Path(folder) / f"{entry['name']}.png"
            try:
                played = shown(entry, manifest.FOLDER, png, chosen.library)
            except BenchError as error:
                parser.error(str(error))
            if chosen.note and played.good:
                note(entry, played)
            found = differences(entry, played)
            wrong |= bool(found)
            print("\n".join(f"{entry['name']}: {line}" for line in found or ["as the manifest says"]), flush=True)
            if png.exists():
                pictures.append(png)
        if chosen.sheet:
            sheet(pictures).save(chosen.sheet)
    if chosen.note:
        manifest.save(entries)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
