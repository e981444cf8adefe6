# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import gzip
import json
import lzma
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.runs import libraries
from recordings import catalogue

CONTENT = b"SPICE_REPLAY 1\n" + b"event 0 1 2 1\n" * 1000      # of a worker that is woken up


@pytest.fixture
def folder(fake_tree: Path) -> Path:
    shipped = fake_tree / "shipped"
    shipped.mkdir()
    (shipped / "one.rec.xz").write_bytes(lzma.compress(CONTENT))
    digest = catalogue.sha256_of(shipped / "one.rec.xz")
    (shipped / "manifest.json").write_text(json.dumps({"recordings": [
        {"name": "one", "file": "one.rec.xz", "sha256": digest, "commands": 7, "picture_sha256": "ab",
         "parts": {"1-2": "cd"}},
        {"name": "spoilt", "file": "one.rec.xz", "sha256": "00", "commands": 7, "picture_sha256": None}]}))
    return shipped


def test_by_name_and_by_path(folder: Path) -> None:
    one = catalogue.find("one", folder)
    assert (one.name, one.commands, one.picture_sha256) == ("one", 7, "ab")
    assert catalogue.find(str(folder / "one.rec.xz"), folder) == one


def test_of_some_parts_the_picture_is_known(folder: Path) -> None:
    assert [catalogue.find(f"one@{which}", folder).picture_sha256 for which in ("1-2", "1-3")] == ["cd", None]


def test_one_s_own_recording_has_no_manifest_entry(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.rec").write_bytes(CONTENT)
    mine = catalogue.find(str(tmp_path / "mine.rec"), folder)
    assert (mine.name, mine.commands, mine.picture_sha256) == ("mine", None, None)
    assert catalogue.unpacked(mine) == tmp_path / "mine.rec"


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_unpacked_once(folder: Path, tmp_path: Path, pack: object) -> None:
    path = tmp_path / "p.rec.x"
    path.write_bytes(pack(CONTENT))     # type: ignore[operator]
    found = catalogue.find(str(path), folder)
    copy = catalogue.unpacked(found)
    assert copy.read_bytes() == CONTENT
    path.write_bytes(b"\xfd7zXZ\0 no longer")
    assert catalogue.unpacked(found) == copy


@pytest.mark.parametrize(("wanted", "reason"), [
    ("two", "no recording 'two': it is neither a file nor one of one, spoilt"),
    ("./two.rec", "no such file"),
    ("spoilt", "is not the one in the manifest"),
])
def test_what_is_not_there(folder: Path, wanted: str, reason: str) -> None:
    with pytest.raises(BenchError, match=reason):
        catalogue.find(wanted, folder)


def test_a_damaged_one_leaves_nothing_in_the_cache(folder: Path, fake_tree: Path) -> None:
    path = folder / "cut.rec.xz"
    path.write_bytes(lzma.compress(CONTENT)[:-30])
    with pytest.raises(BenchError, match=r"cut.rec.xz is damaged"):
        catalogue.unpacked(catalogue.find(str(path), folder))
    assert list((fake_tree / "cache/recordings").iterdir()) == []


def test_a_full_disk_is_not_filled_further(folder: Path, fake_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(100, 99, 1))
    with pytest.raises(BenchError, match="no space left in"):
        catalogue.unpacked(catalogue.find("one", folder))
    assert list((fake_tree / "cache/recordings").iterdir()) == []


def test_a_damaged_manifest_is_said(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")
    with pytest.raises(BenchError, match="manifest.json is damaged"):
        catalogue.find("one", folder)


def test_what_the_manifest_does_not_know_is_looked_up(folder: Path, fake_tree: Path) -> None:
    assert catalogue.looked_into(catalogue.find("one", folder)).commands == 7
    mine = catalogue.looked_into(catalogue.find(str(fake_tree / "tiny.rec"), folder))
    assert (mine.commands, mine.seconds) == (300, 1.0)


def test_a_part_is_cut_once(folder: Path, fake_tree: Path) -> None:
    part = catalogue.find("one@0.5-1", folder)
    assert (part.name, part.seconds, part.picture_sha256) == ("one@0.5-1", 0.5, None)
    cut = catalogue.looked_into(part)
    assert (cut.commands, cut.seconds) == (300, 1.0)
    plain = catalogue.unpacked(cut)
    assert plain.read_bytes() == b"SPICE_REPLAY 1\n" and cut.sha256 == catalogue.sha256_of(plain)
    plain.write_bytes(b"kept")
    assert catalogue.unpacked(catalogue.looked_into(part)).read_bytes() == b"kept"
    assert catalogue.unpacked(catalogue.looked_into(catalogue.find("one@0.5-0.75", folder))).read_bytes() != b"kept"


def test_a_part_that_cannot_be(folder: Path, fake_tree: Path) -> None:
    with pytest.raises(BenchError, match="one@4-2: a part must begin before it ends"):
        catalogue.find("one@4-2", folder)
    with pytest.raises(BenchError, match="recording one@600-700: the part begins at 600 s, and the recording ends at 1"):
        catalogue.looked_into(catalogue.find("one@600-700", folder))
    with pytest.raises(BenchError, match="no recording 'two'"):
        catalogue.find("two@1-2", folder)
    (fake_tree / "seventh.rec").write_bytes(CONTENT)
    with pytest.raises(BenchError, match="recording .*seventh.rec: byte 7: it has no seventh byte"):
        catalogue.looked_into(catalogue.find(f"{fake_tree}/seventh.rec@7-8", folder))
    assert not (fake_tree / "cache/recordings").exists()
    named_so = fake_tree / "mine@1-2"
    named_so.write_bytes(CONTENT)
    assert catalogue.find(str(named_so), folder).part is None


def test_libraries(fake_tree: Path) -> None:
    assert libraries.find("patched").patched
    assert not libraries.find("stock").patched
    other = libraries.find(str(fake_tree / "build/stock/server"))
    assert not other.patched and other.file == libraries.find("stock").file
    (fake_tree / "empty").mkdir()
    (fake_tree / "empty/libspice-server.so.1").touch()
    for wrong in ("/nowhere", str(fake_tree), str(fake_tree / "empty")):
        with pytest.raises(BenchError, match="library"):
            libraries.find(wrong)
    with pytest.raises(BenchError, match="unknown release 0.1: choose one of 0.15.1, "):
        libraries.find("stock@0.1")


def test_the_library_of_a_mode(fake_tree: Path) -> None:
    assert [libraries.of_mode(mode).name for mode in ("stock", "batch")] == ["stock", "patched"]
    given = replace(libraries.find("patched"), name=str(fake_tree / "build"))
    assert [libraries.of_mode(mode, given).short for mode in ("stock", "batch")] == ["stock", "build"]
    with pytest.raises(BenchError, match="library stock is not patched, so it has no mode 'batch'"):
        libraries.of_mode("batch", libraries.find("stock"))
