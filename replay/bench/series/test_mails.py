# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run export of every single patch, on every release: git am takes the mails, on what they are made for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import export
from bench.source import upstream

_WHO = export.Author("Some One", "some@one.example")


def git(tree: Path, *arguments: str | Path) -> str:
    done = subprocess.run(["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a", *arguments], capture_output=True, text=True,
                          check=False, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_git_am_takes_every_single_patch(version: str, tmp_path: Path) -> None:
    """One that needs patches before it is refused; of fixes only one is, and of the first four of display, which no setting turns
    off, none."""
    upstream.fetch(version, Steps(tmp_path / "log"))
    tree = export.Mails(version, tmp_path / "tree", _WHO)
    other = tmp_path / "other"
    tree.git("worktree", "add", "-q", "--detach", str(other), version)
    refused = []
    for name, file in [(series, file) for series in upstream.exported() for file in upstream.series(version, [series])]:
        one = f"{name}/{file.name[:4]}"
        try:
            base = export.make(tree, [one])
        except BenchError as error:
            assert "without patches before it" in str(error)
            refused.append(one)
            continue
        export.mails(tree, [one], base, tmp_path / one)
        git(other, "checkout", "-qf", "--detach", base)
        git(other, "am", "-q", *(tmp_path / one).glob("*.patch"))
        assert git(other, "rev-parse", "HEAD^{tree}") == tree.git("rev-parse", "HEAD^{tree}"), one
    ours = [one for one in refused if one.startswith("fixes") or one < "display/0005" and one.startswith("display")]
    assert ours == ["fixes/0003", "fixes/0082", "fixes/0083"], \
        "FAULTS.md says so"
    for file in upstream.series(version, ["display"])[:4]:
        tree.at(["fixes"])      # which is enough
        tree.add(file, tree.whole[file])
