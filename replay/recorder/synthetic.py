# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generates the synthetic recordings: the same bytes for the same seed, everywhere.

  python3 -m recorder.synthetic                 all of them into the shipped folder, with their manifest entries
  python3 -m recorder.synthetic NAME... --out DIR [--seed N] [--raw]    some, as files only
  python3 -m recorder.synthetic --list

The final picture is computed beside the recording (recorder.canvas) where every pixel is defined, and goes into the manifest: a
client that shows another one is wrong, or what it was sent.
"""
from __future__ import annotations

import argparse
import lzma
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from recorder import all_commands, gdi, manifest, torture
from recorder.stage import Stage

SEED = 1
LICENCE = "generated: nothing but invented letters, computed pictures and noise"


@dataclass(frozen=True)
class Synthetic:
    write: Callable[[BinaryIO, int, bool], Stage]      # to this file, from this seed, painting or not
    what: str


RECORDINGS = {
    "gdi-synthetic": Synthetic(gdi.write, "What a GDI driver emits, at boot and on the desktop: many small fills, glyph text, "
                                          "XOR frames, scrolling, alpha pictures, save-under surfaces, cursor shapes and "
                                          "movements, four changes of resolution. The proportions are a design, not a "
                                          "measurement."),
    "small-messages": Synthetic(torture.write_small_messages, "Torture: 40 000 fills of 8x8 pixels and 10 000 movements of the "
                                                              "pointer."),
    "big-images": Synthetic(torture.write_big_images, "100 pictures of 2 MiB of noise, 1024x512, none of which may be dropped."),
    "all-commands": Synthetic(all_commands.write, "Each command, image type, brush, clip and mask the format knows, a few times. "
                                                  "For tests."),
    "tiny": Synthetic(torture.write_tiny, "50 commands. For tests."),
}


def picture_of(stage: Stage) -> str | None:
    """The final picture's hash, None if some of it is not defined to the pixel."""
    return stage.canvas.primary.sha256() if stage.canvas and not stage.unpainted else None


def generate(name: str, path: Path, seed: int, packed: bool) -> str | None:
    """Writes one recording; returns its picture's hash if it is defined."""
    with tempfile.TemporaryFile() as file:
        stage = RECORDINGS[name].write(file, seed, True)
        file.seek(0)
        part = path.with_name(path.name + ".part")
        with lzma.open(part, "wb", preset=9) if packed else part.open("wb") as target:
            shutil.copyfileobj(file, target, 1 << 20)
        part.rename(path)
    return picture_of(stage)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recorder.synthetic", description="Generates the synthetic recordings.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--out", type=Path, help="where to put them; the manifest is left alone")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--raw", action="store_true", help="not packed")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        for name, recording in RECORDINGS.items():
            print(f"{name:15} {recording.what}")
        return 0
    unknown = [name for name in chosen.names if name not in RECORDINGS]
    if unknown:
        parser.error(f"no synthetic recording {', '.join(unknown)}: there are {', '.join(RECORDINGS)}")
    if chosen.out is None and (chosen.raw or chosen.seed != SEED):
        parser.error("--raw and --seed need --out: what is shipped is packed and of the default seed")
    folder = chosen.out or manifest.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.names or RECORDINGS:
        file = f"{name}.rec" if chosen.raw else f"{name}.rec.xz"
        picture = generate(name, folder / file, chosen.seed, packed=not chosen.raw)
        print(f"{folder / file}: {(folder / file).stat().st_size} bytes, picture {picture or 'not defined to the pixel'}")
        if chosen.out is None:
            manifest.put({"name": name, "file": file, "kind": "synthetic", "what": RECORDINGS[name].what,
                          "driver": "none: generated", "made": f"python3 -m recorder.synthetic {name}, seed {chosen.seed}",
                          "upstream": "none", "licence": LICENCE}, folder, picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
