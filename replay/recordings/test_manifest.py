# SPDX-License-Identifier: LGPL-2.1-or-later
import json
from pathlib import Path

import pytest

from recordings import manifest
from recordings.reader import HEADER

WRITTEN = dict(name="some", file="some.rec", kind="synthetic", what="nothing", driver="none", made="by hand",
               upstream="none", licence="none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "some.rec").write_bytes(HEADER + b"event 0 0 4 1000000000\nbinary 0 message 2:a\0\nevent 1 1 2 3500000000\n")
    manifest.save([], tmp_path)
    manifest.add({**WRITTEN, "picture_sha256": None}, tmp_path)
    return tmp_path


def test_shipped_recordings_are_as_the_manifest_says() -> None:
    assert manifest.check() == []


def test_facts_are_computed(folder: Path) -> None:
    entry = manifest.load(folder)[0]
    assert (entry["commands"], entry["events"], entry["seconds"], entry["types"]) == (1, 2, 2.5, {"MESSAGE": 1})
    assert entry["picture_sha256"] is None


def test_a_right_manifest_has_no_faults(folder: Path) -> None:
    assert manifest.check(folder) == []


def test_faults_are_found(folder: Path) -> None:
    (folder / "other.rec.xz").write_bytes(b"")
    text = json.loads((folder / "manifest.json").read_text())
    text["recordings"][0]["commands"] = 7
    (folder / "manifest.json").write_text(json.dumps(text))
    told = manifest.check(folder)
    assert "some: commands is 1, the manifest says 7" in told
    assert "other.rec.xz is not in the manifest" in told


def test_a_changed_file_is_found(folder: Path) -> None:
    with (folder / "some.rec").open("ab") as file:
        file.write(b"event 2 1 2 3500000001\n")
    assert manifest.check(folder, thorough=False) == ["some: some.rec is not the file described"]
