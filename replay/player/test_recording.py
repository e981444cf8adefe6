# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-player --check, ./run record info and trim: what they accept and refuse, and the contents of a trimmed recording."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import cli
from bench.common import paths
from bench.common.errors import BenchError
from recordings import catalogue, cutting
from recordings import test_support_tiny as tiny
from recordings.reader import HEADER, Event
from recordings.test_support_commands import Rect
from recordings.test_support_tiny import Tiny

TIMEOUT = 60


def run(*arguments: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([paths.player(), "--check", *map(str, arguments)], input=stdin,
                          capture_output=True, timeout=TIMEOUT, check=False)


def verify(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return run("-", stdin=data)


def accepts(data: bytes) -> bool:
    """Whether verify takes it; anything but a clear yes or no fails the test."""
    result = verify(data)
    assert result.returncode in (0, 2), result.stderr
    if result.returncode == 2:
        assert re.fullmatch(rb"spice-player: -: byte \d+: .+\n", result.stderr), result.stderr
        assert not json.loads(result.stdout)["valid"]
    return result.returncode == 0


def refusal(data: bytes) -> str:
    result = verify(data)
    assert result.returncode == 2, result
    return result.stderr.decode()


def facts(path: Path) -> dict:
    result = run(path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.rec"
    path.write_bytes(tiny.small().data)
    return path


@pytest.fixture
def recording() -> Tiny:
    """Of a guest that has a screen, and nothing on it yet."""
    begun = Tiny()
    begun.primary()
    return begun


# --- what is taken ---

def test_takes_everything_a_recorder_writes() -> None:
    assert accepts(tiny.everything().data)


def test_takes_glyphs_of_eight_bits(recording: Tiny) -> None:
    recording.paint((0, 0, 100, 40), tiny.text(8, 1, 2))
    assert accepts(recording.data)


def test_takes_a_quic_picture_of_the_size_it_says(recording: Tiny) -> None:
    recording.copy((0, 0, 8, 8), tiny.quic_image(8, 8, b"1234"), (0, 0, 8, 8))
    assert accepts(recording.data)
    assert "quic.data holds 24 bytes, not 23" in refusal(recording.data.replace(b"quic.data_size 24", b"quic.data_size 23"))


@pytest.mark.parametrize("pack", [lambda data: data, lzma.compress, gzip.compress,
                                  lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]),
                                  lambda data: lzma.compress(data[:99]) + lzma.compress(data[99:])])
def test_packing_is_told_by_the_first_bytes(tmp_path: Path,
                                            pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a recording"
    path.write_bytes(pack(tiny.small().data))
    assert catalogue.check(path)["commands"] == tiny.small().commands
    assert (accepts(path.read_bytes())) == (path.read_bytes() == tiny.small().data)


def test_takes_a_primary_that_a_driver_draws_beyond() -> None:
    recording = Tiny()
    recording.primary(64, 64)
    recording.copy((0, 0, 200, 200), tiny.bitmap(200, 200), (0, 0, 200, 200))
    assert accepts(recording.data)


@pytest.mark.parametrize("message", [tiny.MESSAGE_DESTROY_PRIMARY,
                                     tiny.MESSAGE_DESTROY_PRIMARY_ASYNC,
                                     tiny.MESSAGE_DESTROY_SURFACES,
                                     tiny.MESSAGE_DESTROY_SURFACES_ASYNC])
def test_commands_in_flight_may_follow_a_destroy_message(recording: Tiny, message: int) -> None:
    recording.worker(message)
    recording.fill((0, 0, 9, 9))
    assert accepts(recording.data)
    recording.worker(tiny.MESSAGE_WAKEUP)
    recording.fill((0, 0, 9, 9))
    assert "no primary surface" in refusal(recording.data)


def test_all_surfaces_may_be_alive() -> None:
    recording = Tiny()
    for surface in range(1, 1024):
        recording.create(surface, 1, 1)
    assert accepts(recording.data)
    recording.create(7, 1, 1)
    assert "surface 7 exists already" in refusal(recording.data)


# --- what is refused ---

@pytest.mark.parametrize("data, reason", [
    (b"", "empty"),
    (b"SPICE_REPLAY 2\n", "only version 1"),
    (b"SPICE_REPLAY 1", "cut short"),
    (b"something else\n", "expected"),
    (HEADER + b"event 0 0 0 1\n", "command type"),
    (HEADER + b"event 0 2 1 1\n", "neither command nor message"),
    (HEADER + b"event 01 1 2 1\n", "starts with 0"),
    (HEADER + b"event 0 1 2 99999999999999999999\n", "too large"),
    (HEADER + b"event  0 1 2 1\n", "expected a number"),
    (HEADER + b"event 0 1 20 1\n99999 1 4 32\n0 0 0 0\n", "no surface is 99999x1"),
])
def test_refuses_what_is_no_recording(data: bytes, reason: str) -> None:
    assert reason in refusal(data)


def test_refuses_an_endless_number_at_once() -> None:
    data = HEADER + b"event 0 1 2 " + b"1" * 10_000_000
    assert "too large" in refusal(data)


@pytest.mark.parametrize("old, new, reason", [
    (b"data_chunks 0 4096\n", b"data_chunks 0 4095\n", "4096 bytes are over 4095"),
    (b"binary 0 bitmap.data 4096:", b"binary 0 bitmap.data 4097:", "4097 bytes are over 4096"),
    (b"binary 0 bitmap.data 4096:", b"binary 0 bitmap.data 99999999999:", "bytes are over 4096"),
    (b"bitmap.stride 128\n", b"bitmap.stride 127\n", "not 4064"),
    (b"bitmap.stride 128\n", b"bitmap.stride 256\n", "not 8192"),
    (b"has_palette 1\nqp.num_ents 2\n", b"has_palette 1\nqp.num_ents 3\n", "expected \"ents \""),
    (b"descriptor.type 0\n", b"descriptor.type 105\n", "type 105"),
    (b"image 1\n", b"image 0\n", "expected \"point \""),
    (b"attr.style_nseg 2\n", b"attr.style_nseg 3\n", "style holds 8"),
    (b"surface_id 1\n", b"surface_id 1024\n", "surface_id"),
    (b"surfaces_dest 1\n", b"surfaces_dest 9\n", "surface 9 does not exist"),
    (b"binary 0 transform 24:", b"binary 0 transform 23:", "the line's end"),
    (b"binary 1 data 120000:", b"binary 1 data 120001:", "packed block"),
    (b"200 150 -800 32\n", b"200 150 -796 32\n", "no surface is 200x150"),
    (b"200 150 -800 32\n", b"200 150 -802 32\n", "no surface is 200x150"),
    (b"200 150 -800 32\n", b"200 150 -800 33\n", "no surface is 200x150"),
])
def test_refuses_a_change(old: bytes, new: bytes, reason: str) -> None:
    data = tiny.everything().data
    assert old in data
    assert reason in refusal(data.replace(old, new, 1))


def test_refuses_clip_rectangles_that_do_not_fit_their_count() -> None:
    data = tiny.small().data.replace(b"num_rects 2\n", b"num_rects 3\n")
    assert "clip_rects holds 32 bytes, not 48" in refusal(data)


def test_refuses_a_zlib_block_that_gives_less_or_more() -> None:
    recording = Tiny()
    recording.primary(packed=True)
    good = recording.data
    assert accepts(good)
    for wrong in (good[:-2] + b"\0\n", good[:-2] + b"\n"):
        assert not accepts(wrong)
    begin = good.index(b":", good.index(b"binary 1 data")) + 1
    end = good.index(b":", begin)
    size = int(good[begin:end])
    assert not accepts(good[:begin] + b"%d" % (size - 1) + good[end:])


@pytest.mark.parametrize("use", [
    lambda r: r.fill((0, 0, 5, 5), surface=3),
    lambda r: r.destroy_surface(3),
    lambda r: r.update(Rect(0, 0, 5, 5), surface=3),
    lambda r: r.copy((0, 0, 5, 5), tiny.surface_image(3), (0, 0, 5, 5), uses=[3]),
])
def test_refuses_a_surface_before_and_after_its_life(recording: Tiny, use: Callable[[Tiny], None]) -> None:
    use(recording)
    assert "surface 3 does not exist here" in refusal(recording.data)

    recording = Tiny()
    recording.primary()
    recording.create(3)
    recording.destroy_surface(3)
    use(recording)
    assert "surface 3 does not exist here" in refusal(recording.data)


def test_refuses_a_draw_without_a_primary() -> None:
    recording = Tiny()
    recording.fill((0, 0, 5, 5))
    assert "no primary surface" in refusal(recording.data)


def test_a_missing_file_is_one_line() -> None:
    result = run("/nonexistent/recording")
    assert result.returncode == 1
    assert result.stderr == (b"spice-player: /nonexistent/recording: "
                             b"No such file or directory\n")


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_refuses_a_damaged_packing(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed, file = pack(tiny.small().data), tmp_path / "damaged"
    assert "a packed recording is unpacked first" in refusal(packed)
    middle = len(packed) // 2
    for damaged in (packed[:-20], packed[:middle] + bytes([packed[middle] ^ 0x55]) + packed[middle + 1:]):
        file.write_bytes(damaged)
        with pytest.raises(BenchError, match=str(file)) as caught:
            catalogue.check(file)
        assert caught.value.status == 2 and "\n" not in str(caught.value)


@pytest.mark.parametrize("pack", [bytes, lzma.compress, gzip.compress])
def test_a_packed_one_is_refused_by_its_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "bad"
    file.write_bytes(pack(HEADER + b"event 0 2 1 1\n" + bytes(1 << 20)))
    with pytest.raises(BenchError, match=f"^recording {file} is damaged: byte 15: event: 2 is neither command nor message$"):
        catalogue.check(file)


def verdicts(folder: Path, versions: list[bytes]) -> list[bool]:
    """What verify says of each, many in a process."""
    paths = [folder / f"{i}.rec" for i in range(len(versions))]
    for path, data in zip(paths, versions):
        path.write_bytes(data)
    result = run(*paths)
    assert result.returncode in (0, 2), result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["file"] for line in lines] == [str(path) for path in paths]
    return [line["valid"] for line in lines]


def test_cut_at_every_byte(tmp_path: Path) -> None:
    """Only a cut between two events leaves a recording."""
    recording = tiny.small(8, 8)
    whole = {*recording.events, len(recording.data)}
    cuts = range(len(recording.data) + 1)
    for first in range(0, len(cuts), 500):
        some = cuts[first:first + 500]
        found = verdicts(tmp_path, [recording.data[:cut] for cut in some])
        assert found == [cut in whole for cut in some]


def test_flipped_bits_are_refused_or_harmless(tmp_path: Path) -> None:
    """verify neither crashes nor hangs, and what it takes still has the same commands."""
    generator = random.Random(20240501)
    for original in (tiny.small(8, 8).data, tiny.everything().data):
        versions = []
        for _ in range(500):
            data = bytearray(original)
            for _ in range(generator.choice((1, 1, 1, 2, 8))):
                data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
            versions.append(bytes(data))
        for data, valid in zip(versions, verdicts(tmp_path, versions)):
            if valid:
                assert data.count(b"\nevent ") == original.count(b"\nevent ")


# --- info ---

def test_info(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record", "info", "--json", str(small)]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["valid"] and info["commands"] == tiny.small().commands == 10
    assert info["events"] == len(tiny.small().events)
    assert info["bytes"] == info["raw_bytes"] == info["packed_bytes"] == len(tiny.small().data)
    assert info["types"] == {"DRAW_FILL": 4, "DRAW_COPY": 2, "CURSOR_SET": 1, "CURSOR_MOVE": 1,
                             "SURFACE_CREATE": 1, "SURFACE_DESTROY": 1}
    assert info["images"] == {"BITMAP_32BIT": 1, "SURFACE": 1}
    assert (info["most_surfaces"], info["resolution"]) == (1, "100x80")
    assert info["seconds"] == pytest.approx(0.011)
    assert cli.main(["record", "info", str(small)]) == 0
    said = capsys.readouterr().out
    assert "10 commands" in said and re.search("DRAW_FILL +4\n", said)
    assert cli.main(["record", "info", "tiny"]) == 0        # packed
    assert capsys.readouterr().out.startswith(f"{paths.RECORDINGS / 'tiny.rec.xz'}: ")


def test_info_of_a_damaged_one_is_one_line(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.rec"
    bad.write_bytes(tiny.everything().data.replace(b"style_nseg 2\n", b"style_nseg 3\n"))     # which a reader alone would not see
    assert cli.main(["record", "info", str(bad), str(small)]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "style holds 8" in said.err and "10 commands" in said.out


def test_info_of_a_cut_one_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut_short = tmp_path / "cut.rec"
    cut_short.write_bytes(tiny.everything().data[:1000])
    assert cli.main(["record", "info", str(cut_short)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "cut short" in said


def test_several_files_and_the_gravest_status(small: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.rec"
    bad.write_bytes(b"nonsense")
    result = run(small, bad, small)
    assert result.returncode == 2
    assert [json.loads(line)["valid"] for line in result.stdout.splitlines()] == [True, False,
                                                                                 True]


def test_nothing_to_check_is_one_line() -> None:
    result = run()
    assert result.returncode == 1 and result.stderr == b"spice-player: give recordings to check, or - for standard input\n"


# --- trim ---

def cut(*arguments: str | Path) -> int:
    return cli.main(["record", "trim", *map(str, arguments)])


@pytest.mark.parametrize("arguments", [("x",), ("-o", "y", "x@2-1"), ("--commands", "1", "-o", "y", "x"),
                                       ("--commands", "1:2", "-o", "y", "linux-desktop@0-3"), ("--commands", "2:1", "-o", "y", "linux-desktop"),
                                       ("--commands", "-1:2", "-o", "y", "x"), ("-o", "y", "nothing-like-it")])
def test_trim_is_asked_for_in_vain_in_one_line(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cut(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def events(data: bytes) -> list[bytes]:
    """The events without their counters and timestamps."""
    parts = re.split(rb"(?:^|(?<=\n))event \d+ (\d+ \d+) \d+\n", data[len(HEADER):])
    return [parts[i] + b"\n" + parts[i + 1] for i in range(1, len(parts), 2)]


def timestamps(data: bytes) -> list[int]:
    return [int(stamp) for stamp in re.findall(rb"(?<=\n)event \d+ \d+ \d+ (\d+)\n", data)]


def test_trim_keeps_what_the_range_needs(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.rec"
    assert cut("--commands", "3:8", "-o", out, small) == 0
    data = out.read_bytes()
    assert accepts(data)
    # all but the first message, which changes nothing, up to the eighth command
    assert events(data) == events(tiny.small().data)[1:10]
    stamps = timestamps(data)
    assert len(set(stamps[:5])) == 1
    assert [stamp - stamps[0] for stamp in stamps[4:]] == [0, 1e6, 2e6, 3e6, 4e6]


def test_trim_by_time(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.rec.xz"
    assert cut("-o", out, f"{small}@0.004-0.0065") == 0
    data = lzma.decompress(out.read_bytes())
    assert accepts(data)
    assert events(data) == events(tiny.small().data)[1:7]
    stamps = timestamps(data)
    assert stamps[-1] - stamps[0] == 2_000_000


def test_trim_of_nothing_is_the_same(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.rec.gz"
    assert cut("-o", out, small) == 0
    assert gzip.decompress(out.read_bytes()) == tiny.small().data


def test_trim_keeps_the_message_after_a_destroy(recording: Tiny, tmp_path: Path) -> None:
    """Without it, what follows would look as if it were in flight, or dead."""
    recording.create(4)
    recording.worker(tiny.MESSAGE_DESTROY_SURFACES)
    recording.worker(tiny.MESSAGE_WAKEUP)
    recording.create(4)
    recording.primary()
    recording.fill((0, 0, 5, 5))
    path, out = tmp_path / "in.rec", tmp_path / "out.rec"
    path.write_bytes(recording.data)
    assert cut("--commands", "2:", "-o", out, path) == 0
    assert accepts(out.read_bytes())
    assert events(out.read_bytes()) == events(recording.data)


def test_events_moved_forward_do_not_hold_up_the_rest(recording: Tiny, tmp_path: Path) -> None:
    recording.create(4)
    recording.now_ns += 10**12
    recording.destroy_surface(4)
    recording.now_ns -= 10**12
    recording.fill((0, 0, 5, 5))
    path, out = tmp_path / "in.rec", tmp_path / "out.rec"
    path.write_bytes(recording.data)
    assert facts(path)["seconds"] == pytest.approx(0.003)
    assert cut("-o", out, f"{path}@0-0.1") == 0
    assert events(out.read_bytes()) == events(recording.data)


def test_trim_of_a_damaged_recording_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, out = tmp_path / "bad.rec", tmp_path / "out.rec"
    bad.write_bytes(tiny.small().data[:99])
    assert cut(bad, "-o", out) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "cut short" in said
    assert list(tmp_path.iterdir()) == [bad]


def test_trim_keeps_packed_blocks(tmp_path: Path) -> None:
    path, out = tmp_path / "in.rec", tmp_path / "out.rec"
    path.write_bytes(tiny.everything().data)
    assert b"binary 1 " in tiny.everything().data
    assert cut("-o", out, path) == 0
    assert out.read_bytes() == tiny.everything().data


def test_trim_may_replace_its_own_input(small: Path) -> None:
    assert cut("--commands", ":2", "-o", small, small) == 0
    assert facts(small)["commands"] == 2


@pytest.mark.parametrize("name", ["out.rec", "out.rec.xz"])
def test_no_room_is_one_line_and_no_file(name: str, small: Path, tmp_path: Path) -> None:
    limit = f"ulimit -f 0; trap '' XFSZ; exec {sys.executable} -m bench record trim {small} -o {tmp_path / name}"
    result = subprocess.run(["bash", "-c", limit], capture_output=True, timeout=TIMEOUT, check=False,
                            env={**os.environ, "PYTHONPATH": str(paths.ROOT / "replay")})
    assert result.returncode == 1
    assert result.stderr == f"bench: cannot write {tmp_path / name}: File too large\n".encode()
    assert list(tmp_path.iterdir()) == [small]


def test_what_is_no_file_is_written_to_and_stays(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file once took the place of /dev/full."""
    for device, status in (("/dev/full", 1), ("/dev/null", 0)):
        out = tmp_path / Path(device).name
        out.symlink_to(device)
        assert cut("-o", out, small) == status
        assert capsys.readouterr().err == (f"bench: cannot write {out}: No space left on device\n" if status else "")
        assert out.is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "null", "small.rec"]


def test_interrupted_leaves_no_file(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[Event]:
        assert len(list(tmp_path.iterdir())) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr(cutting, "kept", interrupted)
    assert cut("-o", tmp_path / "out.rec", small) == 130
    assert list(tmp_path.iterdir()) == [small]


def memory_kib(pictures: int) -> int:
    """What verify takes for a recording with so many pictures of 4 MB."""
    recording = Tiny()
    recording.primary(1000, 1000)
    start = len(recording.data)
    recording.copy((0, 0, 1000, 1000), tiny.bitmap(1000, 1000, bytes(4_000_000)),
                   (0, 0, 1000, 1000))
    process = subprocess.Popen([paths.player(), "--check", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(recording.data)
    for _ in range(pictures - 1):
        process.stdin.write(recording.data[start:])
    process.stdin.close()
    assert json.loads(process.stdout.read())["commands"] == pictures
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


def test_long_recordings_take_no_more_memory() -> None:
    assert memory_kib(50) < memory_kib(2) + 2000
