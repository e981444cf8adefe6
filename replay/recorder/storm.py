# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest that draws whatever it can wherever it likes, on the screen and on surfaces that come and go and that it draws onto
each other: for a server that leaves out drawings, which must end with the same pictures all the same.

  python3 -m recorder.storm [--seed N] [--seconds N] FILE
"""
from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from recorder import all_commands, qxl
from recorder.commands import (AlphaBlend, Bitmap, Blend, Composite, Copy, CopyBits, Drawing, Fill, FromSurface, Invers, Pattern,
                               Rect, Rop3, Transparent)
from recorder.stage import Stage

WIDTH, HEIGHT = 640, 480
SURFACES = range(31, 37)      # the experiments have others
SURFACE_WIDTH, SURFACE_HEIGHT = 120, 90
COMMANDS_A_SECOND = 500
_ONCE = re.compile("to keep|every format")     # what is kept under a number must not become another picture
_FORMATS = (qxl.SurfaceFormat.ARGB32, qxl.SurfaceFormat.XRGB32)


def _box(dice: random.Random, width: int, height: int) -> Rect:
    across, down = dice.randint(1, width), dice.randint(1, height)
    if dice.random() < 0.7:
        across, down = min(across, 90), min(down, 60)
    return Rect.at(dice.randint(0, width - across), dice.randint(0, height - down), across, down)


def _image(dice: random.Random, box: Rect) -> Bitmap:
    return all_commands.bitmap(qxl.BitmapFormat.BIT32, box.width, box.height, dice)


def _drawing(dice: random.Random, box: Rect, width: int, height: int, source: FromSurface | None) -> Drawing:
    """@source: where else pixels may come from; what it draws is as large as the box."""
    area = all_commands.whole(box)
    choices: list[Callable[[], Drawing]] = [
        lambda: Fill(dice.randrange(1 << 24)),
        lambda: Fill(dice.randrange(1 << 24), qxl.Rop.XOR),
        lambda: Fill(Pattern(all_commands.bitmap(qxl.BitmapFormat.BIT32, 8, 8, dice))),
        lambda: CopyBits(dice.randint(0, width - box.width), dice.randint(0, height - box.height)),
        lambda: CopyBits(dice.randint(0, width - box.width), dice.randint(0, height - box.height)),
        Invers,
        lambda: Copy(_image(dice, box), area),
        lambda: Blend(_image(dice, box), area, qxl.Rop.XOR),
        lambda: Rop3(_image(dice, box), area, dice.randrange(1 << 24), 0xB8),
        lambda: AlphaBlend(all_commands.bitmap(qxl.BitmapFormat.RGBA, box.width, box.height, dice), area, 100),
        lambda: Transparent(_image(dice, box), area, 0),
    ]
    if source:
        taken = source
        choices = choices + 2 * [
            lambda: Copy(taken, area),
            lambda: Blend(taken, area, qxl.Rop.XOR),
            lambda: AlphaBlend(taken, area, 200),
            lambda: Composite(qxl.CompositeOp.OVER, taken),
        ]
    return dice.choice(choices)()


def _step(stage: Stage, dice: random.Random, alive: list[int]) -> None:
    number = dice.choice(SURFACES)
    if number not in alive:
        stage.create_surface(number, SURFACE_WIDTH, SURFACE_HEIGHT, _FORMATS[number % 2])
        stage.draw(Rect(0, 0, SURFACE_WIDTH, SURFACE_HEIGHT), Fill(dice.randrange(1 << 24)), surface=number)
        alive.append(number)
    elif dice.random() < 0.05:
        stage.destroy_surface(number)
        alive.remove(number)
    target = dice.choice([0, 0, 0, *alive])
    width, height = (SURFACE_WIDTH, SURFACE_HEIGHT) if target else (WIDTH, HEIGHT)
    sources = [other for other in alive if other != target]
    source = FromSurface(dice.choice(sources), SURFACE_WIDTH, SURFACE_HEIGHT) if sources else None
    box = _box(dice, width, height)
    if source and (box.width > SURFACE_WIDTH or box.height > SURFACE_HEIGHT):
        source = None
    stage.draw(box, _drawing(dice, box, width, height, source), surface=target)


def write_storm(out: BinaryIO, seed: int = 1, seconds: int = 5) -> Stage:
    """Bursts and pauses, then a second in which nothing is drawn."""
    dice = random.Random(seed)
    experiments = [experiment for name, experiment in all_commands.EXPERIMENTS.items() if not _ONCE.search(name)]
    stage = Stage(out, paint=False)
    stage.create_primary(WIDTH, HEIGHT)
    stage.draw(Rect(0, 0, WIDTH, HEIGHT), Fill(0x555753))
    alive: list[int] = []
    for _ in range(seconds * COMMANDS_A_SECOND):
        if dice.random() < 0.2:
            left = dice.randint(0, WIDTH - all_commands.CELL_WIDTH)
            top = dice.randint(0, HEIGHT - all_commands.CELL_HEIGHT)
            dice.choice(experiments)(stage, Rect.at(left, top, all_commands.CELL_WIDTH, all_commands.CELL_HEIGHT), dice)
        else:
            _step(stage, dice, alive)
        stage.pause(dice.choice((0.0, 0.0, 0.001, 0.005)) if dice.random() < 0.99 else 0.2)
    stage.pause(1)
    stage.writer.wake_up()
    return stage


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m recorder.storm", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5, help="how long it is, about (default 5)")
    parser.add_argument("file", type=Path)
    asked = parser.parse_args(arguments)
    with asked.file.open("wb") as out:
        write_storm(out, asked.seed, asked.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
