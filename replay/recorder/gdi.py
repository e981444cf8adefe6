# SPDX-License-Identifier: LGPL-2.1-or-later
"""Synthetic recording `gdi-synthetic`: a minute at a desktop drawn by a GDI driver.

No Windows guest can be recorded here, so this is written from knowledge of how such a driver works, not measured: it passes on
what programs draw, command by command, where today's Linux drivers send finished pixels. Hence many small fills (every bevel
and title bar), text as glyphs, XOR frames that are drawn twice, screen-to-screen scrolling, small pictures with alpha, save-under
surfaces for menus, and a cursor command for each movement of the pointer. The proportions are a design, not a finding.

What happens: boot dots in 640x480, a logon screen in 800x600, then 1024x768: desktop, console, editor, file windows opened and
dragged by their outlines, menus, a dialogue with progress, a chart, a short change of resolution, and the desktop again.
"""
from __future__ import annotations

import random
from typing import BinaryIO

from recorder import qxl
from recorder.commands import (Bitmap, Blackness, Blend, Copy, Fill, FromSurface, Invers, Mask, Opaque, Pattern, Rect, Rop3,
                               Segment, Stroke, Transparent, Whiteness)
from recorder.gdi_toolkit import (FACE, GREY_PATTERN, INK, LETTER_HEIGHT, LETTER_WIDTH, PAPER, SELECTED, SELECTED_INK, Font,
                                  Painter, arrow_cursor, beam_cursor, busy_cursor, gradient, icon, whole, words)
from recorder.stage import Stage

WIDTH, HEIGHT = 1024, 768
TASKBAR = 30
ROUNDS = 9


class Session:
    def __init__(self, out: BinaryIO, seed: int, paint: bool):
        self.dice = random.Random(seed)
        self.stage = Stage(out, paint)
        self.painter = Painter(self.stage, Font(self.dice, fine=False), Font(self.dice, fine=True))
        self.icons = [icon(self.dice, 32) for _ in range(10)]
        self.small_icons = [icon(self.dice, 16) for _ in range(10)]
        self.pointer = (400, 300)
        self.width = self.height = 0
        self.buttons = range(1, 9)           # surfaces that programs keep pictures in
        self.next_surface = 20

    # ---- small things a person or program does

    def point_at(self, x: int, y: int, steps: int = 12) -> None:
        """Move the pointer there, a command a step."""
        x0, y0 = self.pointer
        for step in range(1, steps + 1):
            self.stage.move_cursor(x0 + (x - x0) * step // steps, y0 + (y - y0) * step // steps)
            self.stage.pause(0.004)
        self.pointer = (x, y)

    def wait_busily(self, frames: int) -> None:
        for frame in range(frames):
            self.stage.set_cursor(*self.pointer, busy_cursor(frame))
            self.stage.pause(0.02)
        self.stage.set_cursor(*self.pointer, arrow_cursor())

    def mode(self, width: int, height: int, colour: int) -> None:
        """A change of resolution: the old screen goes, the new one is painted from nothing."""
        if self.width:
            self.stage.writer.hide_cursor()
            for surface in self.buttons:
                self.stage.destroy_surface(surface)
            self.stage.destroy_primary()
        self.stage.create_primary(width, height)
        self.width, self.height = width, height
        self.painter.fill(Rect(0, 0, width, height), colour)
        for surface in self.buttons:
            self.stage.create_surface(surface, 24, 22, qxl.SurfaceFormat.XRGB32, gradient(24, 22, FACE, surface * 0x30507).data)

    # ---- scenes

    def boot(self) -> None:
        """The firmware's screen: 32-pixel tiles copied from video memory."""
        self.mode(640, 480, 0)
        tiles = [gradient(32, 32, self.dice.randrange(1 << 24), 0) for _ in range(6)]
        for step in range(240):
            self.painter.picture(64 + step % 16 * 32, 300 + step // 16 % 2 * 32, tiles[(step + step // 16) % 6])
            self.stage.pause(0.006)

    def logon(self) -> None:
        self.mode(800, 600, 0x5A7EDC)
        self.stage.set_cursor(*self.pointer, arrow_cursor())
        for top in range(0, 600, 60):
            self.painter.picture(0, top, gradient(800, 60, 0x5A7EDC - top // 8, 0x00309C))
        box = Rect.at(250, 200, 300, 160)
        paper = self.painter.window(box, words(self.dice, 18))
        self.painter.icon(paper.left + 8, paper.top + 8, self.icons[0])
        self.painter.text(paper.left + 50, paper.top + 16, words(self.dice, 24), fine=True)
        field = Rect.at(paper.left + 50, paper.top + 40, 200, 20)
        self.painter.bevel(field, raised=False)
        for at in range(12):
            self.painter.text(field.left + 4 + at * LETTER_WIDTH, field.top + 5, b"*", behind=PAPER)
            self.caret(field.left + 5 + (at + 1) * LETTER_WIDTH, field.top + 4)
            self.stage.pause(0.08)
        self.painter.button(Rect.at(paper.right - 80, paper.bottom - 30, 70, 22), words(self.dice, 5))
        self.wait_busily(30)

    def caret(self, x: int, y: int) -> None:
        """Blinks once."""
        for _ in range(2):
            self.stage.draw(Rect.at(x, y, 1, LETTER_HEIGHT + 2), Invers())

    def desktop(self) -> None:
        bands = 12
        for band in range(bands):
            height = self.height // bands
            self.painter.picture(0, band * height, gradient(self.width, height, 0x3A6EA5 + band * 0x040202,
                                                            0x3A6EA5 + (band + 1) * 0x040202))
        for at in range(10):
            x, y = 20 + at // 6 * 90, 20 + at % 6 * 90
            self.painter.icon(x + 16, y, self.icons[at])
            self.painter.text(x, y + 38, words(self.dice, 10), 0xFFFFFF, fine=True)
        self.taskbar()

    def taskbar(self) -> None:
        bar = Rect(0, self.height - TASKBAR, self.width, self.height)
        self.painter.fill(bar, FACE)
        self.painter.bevel(bar)
        self.painter.button(Rect.at(3, bar.top + 4, 60, 22), b"START")
        for at in range(4):
            self.painter.button(Rect.at(70 + at * 150, bar.top + 4, 140, 22), words(self.dice, 14))
            self.painter.icon(74 + at * 150, bar.top + 7, self.small_icons[at])
        self.clock()

    def clock(self) -> None:
        self.painter.text(self.width - 60, self.height - TASKBAR + 9, words(self.dice, 8), behind=FACE)

    def console(self, box: Rect, lines: int) -> None:
        """A program writes lines; each scrolls the window."""
        paper = self.painter.window(box, words(self.dice, 20))
        self.painter.fill(paper, 0x000000)
        for line in range(lines):
            self.painter.scroll_up(paper, LETTER_HEIGHT, 0x000000)
            x, y = paper.left + 2, paper.bottom - LETTER_HEIGHT
            room = paper.width // LETTER_WIDTH - 1
            first = words(self.dice, self.dice.randint(4, room // 2))
            self.painter.text(x, y, first, 0xC0C0C0, 0x000000)
            if line % 2:
                self.painter.text(x + (len(first) + 1) * LETTER_WIDTH, y,
                                  words(self.dice, self.dice.randint(2, room - len(first) - 2)), 0x00C000, 0x000000)
            self.stage.pause(0.001)

    def editor(self, box: Rect, keys: int) -> None:
        """Somebody types."""
        self.stage.set_cursor(*self.pointer, beam_cursor())
        paper = self.painter.window(box, words(self.dice, 16))
        x, y = paper.left + 3, paper.top + 3
        for key in range(keys):
            if x + 2 * LETTER_WIDTH > paper.right or self.dice.random() < 0.02:
                x, y = paper.left + 3, y + LETTER_HEIGHT + 2
                if y + LETTER_HEIGHT + 2 > paper.bottom:
                    self.painter.scroll_up(paper, LETTER_HEIGHT + 2, PAPER)
                    y -= LETTER_HEIGHT + 2
            self.painter.text(x, y, bytes((self.dice.randrange(33, 97),)), behind=PAPER)
            x += LETTER_WIDTH
            self.caret(x, y)
            self.stage.pause(0.01)
            if key % 40 == 0:
                self.clock()
        self.stage.set_cursor(*self.pointer, arrow_cursor())

    def files(self, box: Rect, rows: int) -> None:
        """A file window: tool buttons, a list with small pictures, a selection that moves down it."""
        paper = self.painter.window(box, words(self.dice, 22))
        for at, surface in enumerate(self.buttons):
            square = Rect.at(paper.left + at * 26, paper.top, 24, 22)
            self.stage.draw(square, Copy(FromSurface(surface, 24, 22), Rect(0, 0, 24, 22)))
            self.painter.icon(square.left + 4, square.top + 3, self.small_icons[at])
        names = [words(self.dice, self.dice.randint(6, 20)) for _ in range(rows)]
        for row, name in enumerate(names):
            self.file_row(paper, row, name, False)
        for row in range(0, rows, 2):
            self.file_row(paper, row, names[row], True)
            self.point_at(paper.left + 30, paper.top + 30 + row * 18, 4)
            self.file_row(paper, row, names[row], False)

    def file_row(self, paper: Rect, row: int, name: bytes, selected: bool) -> None:
        y = paper.top + 26 + row * 18
        if y + 18 > paper.bottom:
            return
        self.painter.fill(Rect(paper.left + 20, y, paper.right, y + 18), SELECTED if selected else PAPER)
        self.painter.icon(paper.left + 2, y + 1, self.small_icons[row % 10])
        self.painter.text(paper.left + 24, y + 3, name, SELECTED_INK if selected else INK)
        self.painter.text(paper.right - 80, y + 3, words(self.dice, 10), SELECTED_INK if selected else INK)

    def menu(self, x: int, y: int, entries: int) -> None:
        """Keeps what it covers in a surface of its own and puts it back."""
        box = Rect.at(x, y, 150, entries * 18 + 6)
        saved = self.next_surface
        self.next_surface = 20 + (self.next_surface - 19) % 400
        self.stage.create_surface(saved, box.width, box.height, qxl.SurfaceFormat.XRGB32)
        self.stage.draw(Rect(0, 0, box.width, box.height), Copy(FromSurface(0, self.width, self.height), box), surface=saved)
        self.painter.fill(box, FACE)
        self.painter.bevel(box)
        labels = [words(self.dice, self.dice.randint(5, 18)) for _ in range(entries)]
        for at, label in enumerate(labels):
            self.painter.text(box.left + 24, box.top + 6 + at * 18, label, behind=FACE)
        for at, label in enumerate(labels):
            row = Rect.at(box.left + 3, box.top + 3 + at * 18, box.width - 6, 18)
            self.point_at(row.left + 40, row.top + 9, 2)
            for ink, behind in ((SELECTED_INK, SELECTED), (INK, FACE)):
                self.painter.fill(row, behind)
                self.painter.text(row.left + 21, row.top + 3, label, ink)
        self.stage.draw(box, Copy(FromSurface(saved, box.width, box.height), Rect(0, 0, box.width, box.height)))
        self.stage.destroy_surface(saved)
        self.stage.pause(0.02)

    def drag(self, box: Rect, dx: int, dy: int, steps: int) -> None:
        """A window's outline is dragged; each step erases the old one and draws the new."""
        last = box
        self.painter.outline(last)
        for step in range(1, steps + 1):
            self.painter.outline(last)
            last = box.moved(dx * step // steps, dy * step // steps)
            self.painter.outline(last)
            self.stage.move_cursor(last.left + 50, last.top + 10)
            self.stage.pause(0.004)
        self.painter.outline(last)
        self.pointer = (last.left + 50, last.top + 10)

    def progress(self, steps: int) -> None:
        box = Rect.at(330, 300, 360, 120)
        paper = self.painter.window(box, words(self.dice, 14))
        trough = Rect.at(paper.left + 10, paper.top + 40, 320, 18)
        self.painter.bevel(trough, raised=False)
        for step in range(steps):
            self.painter.fill(Rect.at(trough.left + 2 + step * 315 // steps, trough.top + 2, 315 // steps - 2, 14), SELECTED)
            self.painter.text(paper.left + 10, paper.top + 12, words(self.dice, 40), behind=PAPER)
            self.stage.pause(0.015)
        self.wait_busily(8)

    def chart(self, lines: int) -> None:
        """Bars drawn on a surface of their own and shown in one piece, and the raster operations old programs use."""
        paper = self.painter.window(Rect.at(500, 80, 420, 360), words(self.dice, 10))
        area = Rect(0, 0, paper.width, 240)
        self.stage.create_surface(10, area.width, area.height, qxl.SurfaceFormat.XRGB32)
        self.stage.draw(area, Whiteness(), surface=10)
        begin_end = qxl.PathFlag.BEGIN | qxl.PathFlag.END
        for at in range(lines):
            x, y = 10 + at * 3 % (area.width - 20), self.dice.randrange(10, 220)
            self.stage.draw(Rect(x, y, x + 2, 231), Stroke((Segment(begin_end, ((x, 230), (x, y))),),
                                                           self.dice.randrange(1 << 24)), surface=10)
            if at % 20 == 19:
                self.stage.draw(area.moved(paper.left, paper.top), Copy(FromSurface(10, area.width, area.height), area))
                self.stage.pause(0.004)
        self.stage.destroy_surface(10)
        tile = gradient(64, 48, 0xFF8800, 0x0088FF)
        mask = Mask(Bitmap(qxl.BitmapFormat.BIT1_BE, 64, 48, self.dice.randbytes(8 * 48)))
        drawings = (Rop3(tile, whole(tile), 0x3366CC, 0xB8), Transparent(tile, whole(tile), 0xFF8800), Blackness(mask),
                    Opaque(tile, whole(tile), Pattern(GREY_PATTERN), qxl.Rop.AND), Copy(tile, whole(tile), mask=mask),
                    Fill(Pattern(GREY_PATTERN), qxl.Rop.AND), Blend(tile, whole(tile), qxl.Rop.XOR))
        for at in range(lines // 10):
            box = Rect.at(paper.left + 10 + at * 37 % 300, paper.top + 244 + at * 7 % 30, 64, 48)
            self.stage.draw(box, drawings[at % len(drawings)])

    def work(self) -> None:
        """One round of work at the desktop."""
        windows = [Rect.at(60, 50, 420, 330), Rect.at(380, 180, 480, 400), Rect.at(150, 300, 500, 360)]
        self.files(windows[0], 14)
        self.point_at(windows[0].left + 50, windows[0].top + 10)
        self.drag(windows[0], 120, 90, 30)
        self.files(windows[0].moved(120, 90), 14)
        for at in range(6):
            self.menu(70 + at * 60, 100 + at * 20, 8)
        self.console(windows[1], 220)
        self.editor(windows[2], 330)
        self.drag(windows[2], 200, -120, 30)
        self.chart(220)
        self.progress(24)
        for _ in range(14):
            self.point_at(self.dice.randrange(self.width), self.dice.randrange(self.height), 12)
        self.clock()


def write(out: BinaryIO, seed: int = 1, paint: bool = True) -> Stage:
    session = Session(out, seed, paint)
    session.boot()
    session.stage.writer.message("the display driver starts")
    session.logon()
    session.mode(WIDTH, HEIGHT, 0x3A6EA5)
    session.stage.set_cursor(*session.pointer, arrow_cursor())
    for round_number in range(ROUNDS):
        if round_number == ROUNDS // 2:
            session.mode(800, 600, 0x3A6EA5)
            session.desktop()
            session.progress(30)
            session.mode(WIDTH, HEIGHT, 0x3A6EA5)
            session.stage.set_cursor(*session.pointer, arrow_cursor())
        session.desktop()
        session.work()
    return session.stage
