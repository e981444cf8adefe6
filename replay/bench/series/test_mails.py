# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export of every series and of every single patch, on every release: git am takes the mails, on what they are made for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench.build import upstream
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import export

_WHO = export.Author("Some One", "some@one.example")


def git(tree: Path, *arguments: str | Path) -> str:
    done = subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True, check=False, env={
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **_WHO.environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_git_am_takes_every_series_and_every_single_patch(version: str, tmp_path: Path) -> None:
    """One that is made on patches before it is refused; of fixes and display none is, except one."""
    upstream.fetch(version, Steps(tmp_path / "log"))
    tree = export.Tree(version, tmp_path / "tree", _WHO)
    other = tmp_path / "other"
    tree.git("worktree", "add", "-q", "--detach", str(other), upstream.RELEASE)
    refused, taken = [], 0
    for name in [name for name in upstream.bases() if name != export.NOT_EXPORTED]:
        files = upstream.series(version, [name])
        for one, count in [(name, len(files)), *((f"{name}/{file.name[:4]}", 1) for file in files)]:
            try:
                base = export.make(tree, [one])
            except BenchError as error:
                assert "it needs patches before it" in str(error)
                refused.append(one)
                continue
            export.mails(tree, [one], base, tmp_path / one)
            mails = sorted((tmp_path / one).glob("*.patch"))
            assert len(mails) == count, one
            git(other, "checkout", "-qf", "--detach", base)
            git(other, "am", "-q", *mails)
            assert git(other, "rev-parse", "HEAD^{tree}") == git(tree.folder, "rev-parse", "HEAD^{tree}"), one
            taken += count
    assert [one for one in refused if one.split("/")[0] in ("fixes", "display")] == ["fixes/0003"], "FAULTS.md says so"
    assert not set(refused) & set(upstream.bases()) and taken > 2 * len(upstream.series(version, ["fixes"])) - 2
