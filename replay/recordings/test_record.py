# SPDX-License-Identifier: LGPL-2.1-or-later
import argparse
import errno
import gzip
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import cli
from bench.common import paths
from bench.common.errors import BenchError
from bench.conftest import needs
from recordings import add, catalogue, manifest
from recordings import test_support_tiny as tiny
from recordings.play import Played, play
from recordings.test_support_commands import Drawable, Fill, Rect
from recordings.test_support_writer import RecordingWriter

BOX = Rect(0, 0, 8, 8)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add.configure(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of shipped recordings."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(manifest, "FOLDER", folder)
    manifest.save([])
    return folder


def test_how_to_record_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record"]) == 0
    told = capsys.readouterr().out
    assert "SPICE_WORKER_RECORD_FILENAME" in told and "virsh edit" in told


def test_pictures_are_of_one_mode_whatever_the_callers_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player = tmp_path / "player"
    player.write_text('#!/bin/sh\necho "mode $SPICE_STREAM" >&2\n')
    player.chmod(0o755)
    monkeypatch.setattr(paths, "player", lambda: player)
    monkeypatch.setenv("SPICE_STREAM", "flow")
    assert play(manifest.FOLDER / "tiny.rec.xz").log == ["mode flow,catchup=off"]


@needs(paths.player, paths.client, paths.stock_library)
def test_a_recording_is_taken_in(tmp_path: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    libraries = []

    def noted(*arguments: Any, **more: Any) -> Played:
        played = play(*arguments, **more)
        libraries.append(Path(played.player["library"]).resolve().parent)
        return played
    monkeypatch.setattr(add, "play", noted)
    with (tmp_path / "own.rec").open("wb") as file:
        writer = RecordingWriter(file)
        writer.create_primary(80, 80)
        for colour in range(50):
            writer.draw(Drawable(BOX, Fill(colour)))
    about = ("--what", "w", "--driver", "d", "--licence", "l")
    assert add.execute(parsed(str(tmp_path / "own.rec"), *about)) == 0
    entry = manifest.load(shipped)[0]
    assert (entry["name"], entry["commands"], entry["kind"], entry["upstream"]) == ("own", 50, "real", "unknown")
    assert libraries == [paths.stock_library().resolve()]       # what is measured is not its own judge
    assert manifest.check(shipped) == [] and len(entry["picture_sha256"]) == 64
    for arguments, told in ((about, "exists"), (("--driver", "d"), "--what, --licence")):
        assert cli.main(["record", "add", str(tmp_path / "own.rec"), *arguments]) == 2
        assert told in capsys.readouterr().err


def test_damaged_files_are_not_taken_in(tmp_path: Path, shipped: Path) -> None:
    (tmp_path / "own.rec").write_bytes(b"SPICE_REPLAY 1\nevent 0 0 4 1\n")
    (tmp_path / "other.rec").write_bytes(b"no recording")
    packed = bytearray(gzip.compress(b"SPICE_REPLAY 1\n" + random.Random(1).randbytes(10000)))
    packed[10] = 7      # a gzip file with a block of no known type
    (tmp_path / "packed.rec.gz").write_bytes(packed)
    about = ("--what", "w", "--driver", "d", "--licence", "l")
    for name in ("other.rec", "missing.rec", "packed.rec.gz"):
        with pytest.raises(BenchError) as caught:
            add.execute(parsed(str(tmp_path / name), *about))
        assert caught.value.status == 2
    assert manifest.load(shipped) == []


def test_what_describes_a_recording_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    about = ("--what", "w", "--driver", "d", "--licence", "l")
    for command in ("record", "record add"):
        assert cli.main([*command.split(), *about]) == 2
    assert "unrecognized arguments: --what w" in (told := capsys.readouterr().err) and "are required: FILE" in told


def test_a_manifest_that_cannot_be_written_stays_as_it_is(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (shipped / "manifest.json").read_bytes()

    def full(_self: Path, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BenchError, match="No space left"):
        manifest.save([{"name": "new"}])
    assert (shipped / "manifest.json").read_bytes() == before and len(list(shipped.iterdir())) == 1


def test_a_recording_that_cannot_be_packed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "own.rec").write_bytes(b"SPICE_REPLAY 1\n")
    monkeypatch.setattr(add.shutil, "copyfileobj", full)
    with pytest.raises(BenchError, match="own.rec.xz: No space left"):
        add.pack(tmp_path / "own.rec", tmp_path / "own.rec.xz")
    assert [file.name for file in tmp_path.iterdir()] == ["own.rec"]


@needs(paths.player)
def test_a_part_is_described_and_what_is_beyond_the_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.rec.part").write_text("kept")
    assert cli.main(["record", "trim", "tiny@0-0.05", "-o", str(tmp_path / "own.rec")]) == 0
    assert (tmp_path / "own.rec.part").read_text() == "kept"
    capsys.readouterr()
    assert cli.main(["record", "info", "tiny@0-0.05", "--json"]) == 0
    part = json.loads(capsys.readouterr().out)
    assert part["file"] == "tiny@0-0.05" and part["commands"] < manifest_of("tiny")["commands"]
    for wrong in (["tiny@500-600"], ["tiny", "--commands", "100000:"]):
        assert cli.main(["record", "trim", *wrong, "-o", str(tmp_path / "no.rec")]) == 2
        assert "the recording ends at" in capsys.readouterr().err and not (tmp_path / "no.rec").exists()


@needs(paths.player)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_what_is_whole_of_a_file_that_was_cut_off_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                          pack: Callable[[bytes], bytes], share: float) -> None:
    recording = tiny.small()
    for number in range(300):
        recording.copy((0, 0, 40, 40), tiny.bitmap(40, 40, random.Random(number).randbytes(6400)), (0, 0, 40, 40))
    data = pack(recording.data)
    cut, saved = tmp_path / "cut.rec", tmp_path / "saved.rec"
    cut.write_bytes(data[:int(len(data) * share)])
    for command in (["info", str(cut)], ["add", str(cut), "--what", "w", "--driver", "d", "--licence", "l"]):
        assert cli.main(["record", *command]) == 2
        assert "is damaged" in (told := capsys.readouterr().err) and f"./run record trim {cut}" in told and told.count("\n") == 1
    assert cli.main(["record", "trim", str(cut), "-o", str(saved)]) == 0
    assert "all after that is lost" in (told := capsys.readouterr().err) and told.count("\n") == 1
    found = catalogue.check(saved)
    assert abs(found["commands"] - share * recording.commands) < 15 and f"{found['commands']} commands" in told
    assert recording.data.startswith(saved.read_bytes())


def manifest_of(name: str) -> dict[str, Any]:
    return next(entry for entry in manifest.load() if entry["name"] == name)
