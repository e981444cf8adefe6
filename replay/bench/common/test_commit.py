# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.common import commit


@pytest.mark.parametrize(("file", "matters"), [("replay/a.py", True), ("server/a.cpp", True), ("README.md", False),
                                               ("docs/modes.md", False), ("results/staleness/compare.md", False)])
def test_pages_do_not_make_another_commit(file: str, matters: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit.paths, "ROOT", tmp_path)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("before\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    assert commit.state()["dirty"] is False
    (tmp_path / file).write_text("after\n")
    assert commit.state()["dirty"] is matters
