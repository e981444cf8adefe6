# SPDX-License-Identifier: LGPL-2.1-or-later
import argparse
import re
import subprocess
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.common.steps import Steps
from recorder import guest, manifest, record, sessions, surfaces
from recorder.commands import Copy, Drawable, Fill, FromSurface, Need, Rect
from recorder.describe import describe
from recorder.documents import pdf, web_page
from recorder.reader import read_events
from recorder.writer import RecordingWriter

BOX = Rect(0, 0, 8, 8)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    record.configure(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of shipped recordings."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(manifest, "FOLDER", folder)
    manifest.save([])
    return folder


def test_surfaces_are_destroyed_after_their_last_use(tmp_path: Path) -> None:
    with (tmp_path / "in.rec").open("wb") as file:
        writer = RecordingWriter(file)
        for surface in (1, 2):
            writer.create_surface(surface, 8, 8)
        writer.draw(Drawable(BOX, Fill(1), surface=1))
        writer.draw(Drawable(BOX, Copy(FromSurface(1, 8, 8), BOX), needs=(Need(1, BOX),)))
        for colour in range(3):
            writer.draw(Drawable(BOX, Fill(colour)))
        writer.pause(5)
        writer.destroy_surface(2)
        writer.destroy_surface(1)
        writer.create_surface(1, 4, 4)
    assert surfaces.destroy_early(tmp_path / "in.rec", tmp_path / "out.rec") == 2
    events = list(read_events(tmp_path / "out.rec"))
    assert [event.number for event in events] == [0, 1, 7, 2, 3, 8, 4, 5, 6, 9]
    assert [event.time_ns for event in events] == sorted(event.time_ns for event in events)
    before, after = describe(tmp_path / "in.rec"), describe(tmp_path / "out.rec")
    assert before["types"] == after["types"]


def test_likeness() -> None:
    shipped_facts = {"commands": 1000, "types": {"DRAW_COPY": 900, "DRAW_FILL": 100}}
    assert record.unlikeness({"commands": 1500, "types": {"DRAW_COPY": 1200, "DRAW_FILL": 300}}, shipped_facts) == []
    assert record.unlikeness({"commands": 100, "types": {"DRAW_COPY": 50, "DRAW_TEXT": 50}}, shipped_facts) == [
        "100 commands, shipped: 1000", "DRAW_COPY is 50% of the commands, shipped: 90%",
        "DRAW_TEXT is 50% of the commands, shipped: 0%"]


def test_how_to_attach_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert record.execute(parsed("--attach")) == 0
    told = capsys.readouterr().out
    assert "SPICE_WORKER_RECORD_FILENAME" in told and "virsh edit" in told


def test_a_recording_is_taken_in(tmp_path: Path, shipped: Path) -> None:
    with (tmp_path / "own.rec").open("wb") as file:
        writer = RecordingWriter(file)
        writer.create_primary(80, 80)
        for colour in range(50):
            writer.draw(Drawable(BOX, Fill(colour)))
    about = ("--what", "w", "--driver", "d", "--licence", "l")
    assert record.execute(parsed("--attach", str(tmp_path / "own.rec"), "--name", "own", *about)) == 0
    entry = manifest.load(shipped)[0]
    assert (entry["name"], entry["commands"], entry["kind"], entry["upstream"]) == ("own", 50, "real", "unknown")
    assert manifest.check(shipped) == []
    for arguments, told in ((("--name", "own", *about), "already"), (("--name", "x"), "--what"),
                            (("--name", "../x", *about), "no name")):
        with pytest.raises(BenchError, match=re.escape(told)):
            record.execute(parsed("--attach", str(tmp_path / "own.rec"), *arguments))


def test_damaged_files_are_not_taken_in(tmp_path: Path, shipped: Path) -> None:
    (tmp_path / "own.rec").write_bytes(b"SPICE_REPLAY 1\nevent 0 0 4 1\n")
    (tmp_path / "other.rec").write_bytes(b"no recording")
    about = ("--name", "own", "--what", "w", "--driver", "d", "--licence", "l")
    for name in ("other.rec", "missing.rec"):
        with pytest.raises(BenchError) as caught:
            record.execute(parsed("--attach", str(tmp_path / name), *about))
        assert caught.value.status == 2
    assert manifest.load(shipped) == []


def test_unknown_session_and_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BenchError, match="no session nothing"):
        record.execute(parsed("nothing"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match="apt-get install .*qemu-system-x86"):
        record.execute(parsed("linux-boot"))


def test_each_session_has_its_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "accelerator", lambda: "tcg")
    actions = (guest.FILES / "actions.sh").read_text()
    for session in sessions.SESSIONS.values():
        assert session.does == "text" or f"do_{session.does}()" in actions
    line = sessions.command(sessions.SESSIONS["linux-desktop"], guest.Guest(tmp_path, Steps(tmp_path / "log")),
                            tmp_path / "s", tmp_path / "serial")
    assert "snapshot=on" in " ".join(line) and "record=desktop driver=ums" in line[-1]


def test_a_guest_made_from_other_files_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = guest.Guest(tmp_path, Steps(tmp_path / "log"))
    assert not one.built
    (tmp_path / "guest.made-from").write_text(guest.fingerprint())
    assert one.built
    monkeypatch.setattr(guest, "SUITE", "another")
    assert not one.built


def test_guest_scripts_are_sound() -> None:
    for script in guest.FILES.glob("*.sh"):
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert "linux-image-amd64" in guest.packages() and not [name for name in guest.packages() if " " in name]


def test_documents() -> None:
    text = "\n\n".join(f"Paragraph {number} " + "with (many) words & <signs> \\ " * 10 for number in range(70))
    page = web_page(["a.jpg", "b.jpg"], text)
    assert page.count("<h2") == 60 and page.count("<img") == 30 and "&lt;signs&gt;" in page
    book = pdf(text)
    assert book.startswith(b"%PDF-1.4") and book.endswith(b"%%EOF\n")
    start = int(book.rsplit(b"startxref\n", 1)[1].split()[0])
    assert book[start:].startswith(b"xref")
    offsets = [int(line[:10]) for line in book[start:].splitlines() if line.endswith(b" n ")]
    assert all(book[offset:].startswith(b"%d 0 obj" % number) for number, offset in enumerate(offsets, 1))
