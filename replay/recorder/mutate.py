# SPDX-License-Identifier: LGPL-2.1-or-later
"""Damages recordings: as a disk or a line would, and as somebody would who knows the format."""
from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from typing import TypeVar

from recorder.reader import HEADER, Blob, Event, Reader

_NUMBER = re.compile(rb"-?\d+")
_NUMBERS = (0, 1, 2, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**30, -1, -2, -2**31, -2**63)
_COUNTS = (b"data_chunks ", b"num_rects ", b"qp.num_ents ", b"data_size ", b"length ", b"quic.data_size ", b"attr.style_nseg ",
           b"bitmap.stride ", b"bitmap.x ", b"bitmap.y ", b"descriptor.width ", b"descriptor.height ", b"u.surface_create.")

Part = bytes | Blob
Kind = TypeVar("Kind", bytes, Blob)
Change = Callable[["Base", random.Random], bytes]


class Base:
    """A sound recording, taken apart once and damaged many times."""

    def __init__(self, data: bytes):
        self.data = data
        self.events: list[Event] = list(Reader(io.BytesIO(data)))
        self.encoded = [event.encode() for event in self.events]

    def with_events(self, encoded: list[bytes]) -> bytes:
        return HEADER + b"".join(encoded)

    def with_event(self, at: int, replacement: bytes) -> bytes:
        return self.with_events([*self.encoded[:at], replacement, *self.encoded[at + 1:]])

    def some_event(self, dice: random.Random, wanted: Callable[[Event], bool] = lambda event: True) -> int:
        return dice.choice([at for at, event in enumerate(self.events) if wanted(event)])


def _parts(event: Event) -> list[Part]:
    """The event's lines, the first too, and blobs."""
    return [event.encode().split(b"\n", 1)[0], *event.body]


def _joined(parts: list[Part]) -> bytes:
    return b"".join(part.encode() if isinstance(part, Blob) else part + b"\n" for part in parts)


def _in_a_part(kind: type[Kind], base: Base, dice: random.Random, change: Callable[[Kind], Part],
               wanted: Callable[[Kind], bool] = lambda part: True) -> bytes:
    """Changes one line or blob of those wanted."""
    def fits(part: Part) -> bool:
        return isinstance(part, kind) and wanted(part)

    at = base.some_event(dice, lambda event: any(map(fits, _parts(event))))
    parts = _parts(base.events[at])
    where = dice.choice([i for i, part in enumerate(parts) if fits(part)])
    part = parts[where]
    assert isinstance(part, kind)
    parts[where] = change(part)
    return base.with_event(at, _joined(parts))


def _other_number(old: int, dice: random.Random) -> int:
    return dice.choice((*_NUMBERS, old + 1, old - 1, old * 2, -old, dice.randrange(-2**33, 2**33), dice.randrange(300)))


def _renumbered(line: bytes, dice: random.Random) -> bytes:
    found = list(_NUMBER.finditer(line))
    if not found:
        return line + b" 1"
    match = dice.choice(found)
    return line[:match.start()] + b"%d" % _other_number(int(match[0]), dice) + line[match.end():]


def truncate(base: Base, dice: random.Random) -> bytes:
    return base.data[:dice.randrange(len(base.data))]


def flip_bits(base: Base, dice: random.Random) -> bytes:
    data = bytearray(base.data)
    for _ in range(dice.randint(1, 8)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def flip_text(base: Base, dice: random.Random) -> bytes:
    def flipped(line: bytes) -> bytes:
        at = dice.randrange(len(line))
        return line[:at] + bytes((line[at] ^ 1 << dice.randrange(8),)) + line[at + 1:]

    return _in_a_part(bytes, base, dice, flipped, bool)


def edit_number(base: Base, dice: random.Random) -> bytes:
    return _in_a_part(bytes, base, dice, lambda line: _renumbered(line, dice), lambda line: _NUMBER.search(line) is not None)


def edit_count(base: Base, dice: random.Random) -> bytes:
    return _in_a_part(bytes, base, dice, lambda line: _renumbered(line, dice), lambda line: line.startswith(_COUNTS))


def edit_blob_size(base: Base, dice: random.Random) -> bytes:
    """The size says other than what there is."""
    def resized(blob: Blob) -> Part:
        size = _other_number(len(blob.data), dice)
        kind = dice.choice((b"0", b"0", b"0", b"1", b"-1", b"x"))
        return b"binary %s %s %d:%s" % (kind, blob.name.encode(), size, blob.data)

    return _in_a_part(Blob, base, dice, resized)


def resize_blob(base: Base, dice: random.Random) -> bytes:
    """The blob is longer or shorter, its size is right, what depends on it is not."""
    def resized(blob: Blob) -> Part:
        shorter = blob.data[:dice.randrange(len(blob.data) + 1)]
        longer = blob.data + dice.randbytes(dice.randint(1, 99))
        return Blob(blob.name, dice.choice((shorter, longer)))

    return _in_a_part(Blob, base, dice, resized)


def scramble_blob(base: Base, dice: random.Random) -> bytes:
    """Other bytes in a small blob: in paths, glyphs, rectangles and the like they are numbers, too."""
    def scrambled(blob: Blob) -> Part:
        data = bytearray(blob.data)
        for _ in range(dice.randint(1, 4)):
            place = dice.randrange(len(data))
            data[place:place + 4] = dice.choice((dice.randbytes(4), b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0"))
        return Blob(blob.name, bytes(data[:len(blob.data)]))

    return _in_a_part(Blob, base, dice, scrambled, lambda blob: 0 < len(blob.data) < 5000)


def delete_line(base: Base, dice: random.Random) -> bytes:
    at = base.some_event(dice)
    parts = _parts(base.events[at])
    del parts[dice.randrange(len(parts))]
    return base.with_event(at, _joined(parts))


def duplicate_line(base: Base, dice: random.Random) -> bytes:
    at = base.some_event(dice)
    parts = _parts(base.events[at])
    where = dice.randrange(len(parts))
    return base.with_event(at, _joined(parts[:where + 1] + parts[where:]))


def swap_lines(base: Base, dice: random.Random) -> bytes:
    at = base.some_event(dice, lambda event: len(event.body) > 1)
    parts = _parts(base.events[at])
    one, other = dice.sample(range(len(parts)), 2)
    parts[one], parts[other] = parts[other], parts[one]
    return base.with_event(at, _joined(parts))


def delete_event(base: Base, dice: random.Random) -> bytes:
    return base.with_event(base.some_event(dice), b"")


def duplicate_event(base: Base, dice: random.Random) -> bytes:
    at = base.some_event(dice)
    return base.with_event(at, base.encoded[at] * 2)


def move_event(base: Base, dice: random.Random) -> bytes:
    encoded = list(base.encoded)
    event = encoded.pop(dice.randrange(len(encoded)))
    encoded.insert(dice.randrange(len(encoded) + 1), event)
    return base.with_events(encoded)


def insert_garbage(base: Base, dice: random.Random) -> bytes:
    at = dice.randrange(len(base.data))
    garbage = dice.choice((dice.randbytes(dice.randint(1, 200)), b"\n" * dice.randint(1, 5), b" " * dice.randint(1, 100_000),
                           b"9" * dice.randint(1, 100_000), base.encoded[dice.randrange(len(base.encoded))][:300]))
    return base.data[:at] + garbage + base.data[at:]


def other_header(base: Base, dice: random.Random) -> bytes:
    header = dice.choice((b"", b"SPICE_REPLAY 2\n", b"SPICE_REPLAY -1\n", b"SPICE_REPLAY 1", b"SPICE_REPLAY 4294967297\n",
                          b"SPICE_REPLAY\n", b"spice_replay 1\n", b"\xef\xbb\xbfSPICE_REPLAY 1\n", b"SPICE_REPLAY 1\r\n"))
    return header + base.data[len(HEADER):]


CHANGES: dict[str, Change] = {change.__name__: change for change in (
    truncate, flip_bits, flip_text, edit_number, edit_count, edit_blob_size, resize_blob, scramble_blob, delete_line,
    duplicate_line, swap_lines, delete_event, duplicate_event, move_event, insert_garbage, other_header)}


def mutate(base: Base, dice: random.Random) -> tuple[str, bytes]:
    """One change, by name, and the damaged bytes."""
    name = dice.choice(list(CHANGES))
    return name, CHANGES[name](base, dice)
