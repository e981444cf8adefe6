# SPDX-License-Identifier: LGPL-2.1-or-later
import io

from recordings import test_support_qxl as qxl
from recordings.describe import command_type, image_types
from recordings.reader import HEADER, Event, Reader
from recordings.test_support_commands import Bitmap, Copy, CursorShape, Drawable, Fill, Palette, Rect
from recordings.test_support_writer import RecordingWriter


def written(fill_in: object) -> list[Event]:
    out = io.BytesIO()
    fill_in(RecordingWriter(out))  # type: ignore[operator]
    out.seek(0)
    return list(Reader(out))


def test_bytes_of_a_fill() -> None:
    """Line by line what a recording server writes, except for the times."""
    out = io.BytesIO()
    RecordingWriter(out).draw(Drawable(Rect(1, 2, 30, 40), Fill(0xFF102030), clip=(Rect(5, 6, 7, 8),)))
    assert out.getvalue() == HEADER + b"""event 0 0 1 1000000000
drawable
rect bbox 2 1 40 30
type 1
num_rects 1
data_chunks 0 16
binary 0 clip_rects 16:""" + bytes((6, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0)) + b"""
effect 1
mm_time 0
self_bitmap 0
rect self_bitmap_area 0 0 0 0
surface_id 0
surfaces_dest -1
rect surfaces_rects 0 0 0 0
surfaces_dest -1
rect surfaces_rects 0 0 0 0
surfaces_dest -1
rect surfaces_rects 0 0 0 0
type 1
type 1
u.color -15720400
rop_descriptor 8
flags 0
point 0 0
image 0
"""


def test_an_image_in_chunks_with_a_palette() -> None:
    image = Bitmap(qxl.BitmapFormat.BIT8, 4, 2, b"abcdefgh", Palette((1, 2)), chunk=3)
    event, = written(lambda writer: writer.draw(Drawable(Rect(0, 0, 4, 2), Copy(image, Rect(0, 0, 4, 2)))))
    assert (command_type(event), image_types(event)) == ("DRAW_COPY", ["BITMAP_8BIT"])
    lines = list(event.lines())
    assert b"data_chunks 2 8" in lines and b"bitmap.stride 4" in lines
    assert lines[lines.index(b"qp.num_ents 2"):][:4] == [b"qp.num_ents 2", b"unique 0", b"ents 1", b"ents 2"]
    assert [part.data for part in event.body if not isinstance(part, bytes)] == [b"abc", b"def", b"gh"]


def test_every_command_has_its_name() -> None:
    def commands(writer: RecordingWriter) -> None:
        writer.create_primary(8, 8)
        writer.update(Rect(0, 0, 8, 8))
        writer.message("text")
        writer.create_surface(3, 9, 5, qxl.SurfaceFormat.A1)
        writer.destroy_surface(3)
        writer.set_cursor(1, 2, CursorShape(qxl.CursorType.MONO, 8, 8, 0, 0, bytes(16)))
        writer.move_cursor(3, 4)
        writer.hide_cursor()
        writer.trail_cursor(1, 2)
        writer.destroy_primary()
    events = written(commands)
    assert [command_type(event) for event in events if event.what == 0] == [
        "UPDATE", "MESSAGE", "SURFACE_CREATE", "SURFACE_DESTROY", "CURSOR_SET", "CURSOR_MOVE", "CURSOR_HIDE", "CURSOR_TRAIL"]
    assert [event.kind for event in events if event.what == 1] == [
        qxl.Worker.CREATE_PRIMARY_SURFACE, qxl.Worker.DESTROY_PRIMARY_SURFACE]
    assert [event.number for event in events] == list(range(10))
    assert b"u.surface_create.stride 4" in list(events[3].lines())


def test_time_goes_on() -> None:
    def commands(writer: RecordingWriter) -> None:
        writer.wake_up()
        writer.pause(1.5)
        writer.wake_up()
    first, second = written(commands)
    assert second.time_ns - first.time_ns == 1_500_020_000
