# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import argparse
import os
import re
import struct
from pathlib import Path

import pytest

from bench.commands import watch
from bench.common import paths
from bench.common.errors import BenchError


def _file(folder: Path, stream: int, messages: int = 10, time: int = 5_000_000, pid: int = os.getpid(), tls: int = 1,
          limit: int = 40960, magic: bytes = b"spice-2", pixels: int = 0) -> Path:
    content = struct.pack("8s16s4I10Q16s4Q", magic, b"flow", tls, 2, 1, 0, time, messages, 4, 3, 125_000, 0, 20480, limit,
                          2_500_000, 40_500, b"steady", pixels // 100, pixels, 2 * pixels, 3 * pixels)
    file = folder / f"{pid}-{stream}"
    file.write_bytes(content.ljust(256, b"\0"))
    return file


def test_a_row_says_how_much_in_a_second_and_what_is_so_now(tmp_path: Path) -> None:
    _file(tmp_path, 1)
    before = watch.look(tmp_path)
    [file] = before
    _file(tmp_path, 1, messages=50)
    cells = watch.row(before[file], watch.look(tmp_path)[file], 2.0, 5.5)
    assert cells == [str(os.getpid()), "display-1", "flow tls", "20", "0", "0", "0 kbit/s", "20.0 Mbit/s", "40.5 ms",
                     "20 KiB", "40 KiB", "steady", "", "", "", "", ""]


def test_what_the_display_stage_saves_is_in_pixels_a_second(tmp_path: Path) -> None:
    _file(tmp_path, 1, pixels=1_000_000)
    before = watch.look(tmp_path)
    [file] = before
    _file(tmp_path, 1, pixels=2_000_000)
    cells = watch.row(before[file], watch.look(tmp_path)[file], 2.0, 5.5)
    assert cells[12:16] == ["5000", "0.50 Mpx/s", "1.00 Mpx/s", "1.50 Mpx/s"]
    assert len(cells) == len(watch._HEAD)


def test_what_a_mode_does_not_count_is_not_0(tmp_path: Path) -> None:
    file = _file(tmp_path, 1)
    content = bytearray(file.read_bytes())
    struct.pack_into("5Q", content, struct.calcsize("8s16s4IQ"), *[2 ** 64 - 1] * 5)
    file.write_bytes(content)
    before = watch.look(tmp_path)
    cells = watch.row(before[file], watch.look(tmp_path)[file], 2.0, 5.5)
    assert cells[3:7] == ["-"] * 4


def test_what_was_before_a_client_came_is_not_of_this_second(tmp_path: Path) -> None:
    _file(tmp_path, 1)
    before = watch.look(tmp_path)
    [file] = before
    _file(tmp_path, 1, pixels=1_000_000)
    cells = watch.row(before[file], watch.look(tmp_path)[file], 2.0, 5.5)
    assert cells[12:16] == ["", "", "", ""]


def test_what_has_been_quiet_for_long_has_nothing_in_flight(tmp_path: Path) -> None:
    file = _file(tmp_path, 1)
    cells = watch.row(None, watch.look(tmp_path)[file], 1.0, 5.0 + 7)
    assert (cells[9], cells[-1]) == ("", "7 s")


def test_only_streams_of_running_guests_are_shown(tmp_path: Path) -> None:
    shown = _file(tmp_path, 1)
    _file(tmp_path, 2, pid=2 ** 22 + 1)     # more than a pid can be
    _file(tmp_path, 3, magic=b"other")
    (tmp_path / "notes.txt").write_text("no stream")
    (tmp_path / f"{os.getpid()}-4").write_bytes(b"spice-2")
    assert list(watch.look(tmp_path)) == [shown]


def test_nothing_to_show_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch.execute(argparse.Namespace(folder=tmp_path)) == 0
    assert "no connection: start QEMU with SPICE_STREAM_STATS=FOLDER" in capsys.readouterr().out
    with pytest.raises(BenchError, match="is not a folder"):
        watch.execute(argparse.Namespace(folder=tmp_path / "none"))


def test_the_layout_is_the_librarys() -> None:
    header = (paths.ROOT / "server/stats/red-stream-live.h").read_text()
    body = header.split("struct RedStreamLive {")[1].split("};")[0]
    members = re.findall(r"^    (char|uint32_t|uint64_t) \w+(?:\[(\d+)\])?;", body, re.MULTILINE)
    letters = {"uint32_t": "I", "uint64_t": "Q"}
    packed = "".join(f"{size}s" if kind == "char" else letters[kind] for kind, size in members)
    assert struct.calcsize(packed) == watch.LAYOUT.size
    assert packed.replace("IIII", "4I").replace("Q" * 10, "10Q").replace("QQQQ", "4Q") == watch.LAYOUT.format
    assert f'"{watch.MAGIC.decode()}"' in header
