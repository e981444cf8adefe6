# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run rebase, with a known release that was changed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bench.build import upstream
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import rebase


def test_each_patch_applies_or_is_said_to_fail_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upstream.fetch(upstream.DEFAULT, Steps(tmp_path / "log"))
    assert rebase.execute(argparse.Namespace(source=upstream.release(upstream.DEFAULT).tarball)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"{len(said) - 3} of {len(said) - 3} patches apply to ")

    tree = tmp_path / "new"
    upstream.unpack(upstream.DEFAULT, tree)
    websocket = tree / "server/websocket.c"
    websocket.write_text(websocket.read_text().replace("write_header_pos", "header_pos"))
    (tree / "server/tests/test-wait-gone.cpp").write_text("upstream has one\n")
    header = tree / "server/red-stream.h"
    header.write_text("\n\n" + header.read_text())
    found = {f"{one.patch.parent.name}/{one.patch.name[:4]}": one for one in rebase.rebase(tree)}
    wrong = {name: one.says for name, one in found.items() if not one.applies}
    assert wrong.keys() == {"fixes/0003", "fixes/0005"}
    assert wrong["fixes/0005"].startswith("server/websocket.c:")
    assert wrong["fixes/0003"] == "brings what is there: server/tests/test-wait-gone.cpp"
    assert "moved, by 2 lines at most" in found["tls/0001"].says
    assert rebase.execute(argparse.Namespace(source=tree)) == 1


def test_a_variant_that_mends_goes_before_one_that_only_brings_a_test(tmp_path: Path) -> None:
    """fixes/0018 is a test alone but for 0.16.0, and a test alone applies to everything."""
    upstream.fetch("0.16.0", Steps(tmp_path / "log"))
    found = {one.patch.name[:4]: one for one in rebase.rebase(upstream.release("0.16.0").tarball)
             if one.patch.parent.name == "fixes"}
    assert found["0018"].applies and found["0018"].variant == "0.16.0"


def test_what_is_not_spice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no tarball")
    (tmp_path / "folder").mkdir()
    upstream.fetch(upstream.DEFAULT, Steps(tmp_path / "log"))
    (tmp_path / "part").write_bytes(upstream.release(upstream.DEFAULT).tarball.read_bytes()[:300_000])
    for name, complaint in (("text", "cannot be unpacked: tar: "), ("part", "cannot be unpacked: .*unexpectedly$"),
                            ("folder", "not the source of spice-server"),
                            ("nothing", "does not exist")):
        with pytest.raises(BenchError, match=complaint) as raised:
            rebase.execute(argparse.Namespace(source=tmp_path / name))
        assert "\n" not in str(raised.value)
