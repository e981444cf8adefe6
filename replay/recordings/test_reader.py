# SPDX-License-Identifier: LGPL-2.1-or-later
import gzip
import io
import lzma
from pathlib import Path

import pytest

from recordings.reader import HEADER, Blob, Event, Reader, RecordingError, read_events

SMALL = HEADER + b"event 0 1 22 100\nevent 1 0 4 200\nbinary 0 message 7:a\nbinar\n" + b"event 2 1 2 300\n"


def events(data: bytes) -> list[Event]:
    return list(Reader(io.BytesIO(data)))


def test_events_and_blobs_with_newlines() -> None:
    assert events(SMALL) == [Event(0, 1, 22, 100), Event(1, 0, 4, 200, [Blob("message", b"a\nbinar")]), Event(2, 1, 2, 300)]


def test_what_is_read_can_be_written_again() -> None:
    assert HEADER + b"".join(event.encode() for event in events(SMALL)) == SMALL


def test_packing_is_told_by_content(tmp_path: Path) -> None:
    for pack in (bytes, gzip.compress, lzma.compress):
        path = tmp_path / "recording"
        path.write_bytes(pack(SMALL))
        assert len(list(read_events(path))) == 3


@pytest.mark.parametrize("data, reason", [
    (b"", "not a recording"),
    (b"SPICE_REPLAY 2\n", "not a recording"),
    (HEADER + b"drawable\n", "before the first event"),
    (HEADER + b"event 0 0 1\n", "malformed event"),
    (HEADER + b"event 0 0 4 1\nbinary 0 message 10:short\n", "does not end"),
    (HEADER + b"event 0 0 4 1\nbinary 0 message 99999999999:x\n", "blob of"),
    (HEADER + b"event 0 0 4 1\nbinary 1 message 3:abc\n", "malformed blob"),
    (HEADER + b"event 0 0 4 1\n" + b"x" * 1000, "too long"),
    (HEADER + b"event 0 0 4 1", "cut short"),
])
def test_damage_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason):
        events(data)
