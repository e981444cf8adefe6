# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run compare with the real player, client and libraries, on the recording tiny."""

from __future__ import annotations

import io
import json
import lzma
import os
import subprocess
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.common import paths
from bench.common.progress import Progress
from bench.conftest import Bench, needs, needs_emulator
from bench.lab import links
from bench.runs import libraries, matrix, runspec
from bench.runs.runspec import RunSpec
from recordings import catalogue

pytestmark = needs(paths.player, paths.client, paths.patched_library, paths.stock_library)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def tiny(library: str, mode: str, transport: str) -> RunSpec:
    return RunSpec(catalogue.find("tiny"), libraries.find(library), mode, transport)


def on_time(planned: list[RunSpec], jobs: int) -> list[dict[str, Any]]:
    """The runs' records; of a second or third try if the machine held the link up, of which these tests say nothing."""
    for _ in range(3):
        records: list[dict[str, Any]] = []
        matrix.Matrix(planned, [], records.append, jobs=jobs).do_all(Progress(len(planned), 1, io.StringIO()))
        if not any("late with a packet" in (record["invalid_reason"] or "") for record in records):
            break
        warnings.warn("tried again: the machine held the link up", stacklevel=2)      # pytest counts and shows them
    return records


@pytest.mark.parametrize("transport", runspec.TRANSPORTS)
@pytest.mark.parametrize(("library", "mode"), [("stock", "stock"), ("patched", "normal"), ("patched", "gather"),
                                               ("patched", "cork"), ("patched", "batch")])
def test_every_mode_plays(library: str, mode: str, transport: str) -> None:
    record = matrix.perform(replace(tiny(library, mode, transport), pause_at=(20,), probe_every=10))
    assert record["valid"], record["invalid_reason"]
    assert (record["messages"] is None) == (mode not in ("batch", "flow"))     # the others have no output buffer
    assert record["message_bytes"] > 0 and len(record["pauses"]) == 1


@pytest.mark.parametrize("pace", ["max", "recorded"])
@pytest.mark.parametrize("transport", runspec.TRANSPORTS)
def test_a_relay_stands_between_server_and_link(transport: str, pace: str, tmp_path: Path) -> None:
    spec = replace(tiny("patched", "flow", transport), link=links.find("20M40ms+relay"), pace=pace, keep=tmp_path)
    (record,) = on_time([replace(spec, probe_every=10 if pace == "recorded" else None)], 1)
    assert record["valid"], record["invalid_reason"]
    assert record["link_books"]["a_to_b"]["packets_in"] >= record["server"]["packets"] > 0


def test_pictures_are_the_same_whoever_draws() -> None:
    shown = {matrix.perform(replace(tiny(library, mode, transport), pause_at=(20, 40)))["picture_sha256"]
             for library, mode, transport in (("stock", "stock", "plain"), ("patched", "cork", "tls"))}
    assert len(shown) == 1 and None not in shown


def test_every_surface_is_the_same_whoever_draws() -> None:
    def shown(library: str, mode: str, transport: str, surfaces: bool) -> str:
        spec = replace(tiny(library, mode, transport), recording=catalogue.find("all-commands"), pause_at=(104,),
                       show_surfaces=surfaces)
        record = matrix.perform(spec)
        assert record["valid"], record["invalid_reason"]
        return str(record["pauses"][0]["sha256"])

    with_surfaces = {shown("stock", "stock", "plain", True), shown("patched", "flow", "tls", True)}
    assert len(with_surfaces) == 1 and with_surfaces != {shown("stock", "stock", "plain", False)}


@needs_emulator
@pytest.mark.parametrize("link", ["lan", "2M100ms"])
def test_a_guest_ahead_of_its_commands_is_shown_exactly(link: str) -> None:
    """Its screen is in memory that is newer than what the server has been told; valid is: the end is the reference."""
    planned = [replace(tiny("patched", mode, "tls"), recording=catalogue.find(name), link=links.find(link), ahead=True)
               for name in ("tiny", "vga-text-boot") for mode in ("flow", "flow:display=off")]
    for record in on_time(planned, 1):
        assert record["valid"], record["invalid_reason"]


def test_jpeg_is_where_it_was_asked_for() -> None:
    """By itself the server uses it over slow links only."""
    shown = [matrix.perform(replace(tiny("patched", "flow", "plain"), recording=catalogue.find("all-commands"),
                                    jpeg=jpeg))["picture_sha256"] for jpeg in (None, "never", "always")]
    assert shown[0] == shown[1] != shown[2]


def test_tls_1_2() -> None:
    record = matrix.perform(replace(tiny("patched", "gather", "tls"), tls="1.2"))
    assert record["valid"], record["invalid_reason"]


def test_kernel_tls_counts_where_the_kernel_took_the_keys() -> None:
    record = matrix.perform(tiny("patched", "flow:ktls=on", "tls"))
    sent_by = {stream["socket"] for stream in record["streams"] if stream["tls"]}
    assert record["valid"] == (sent_by == {"ktls"}), record["invalid_reason"]
    assert record["valid"] or "is the kernel's module tls loaded?" in record["invalid_reason"]
    plain = matrix.perform(tiny("patched", "flow:ktls=on", "plain"))
    assert plain["valid"], plain["invalid_reason"]


def test_the_library_asked_for_is_the_one_loaded(tmp_path: Path) -> None:
    (tmp_path / paths.LIBRARY_FILE).write_bytes(libraries.find("stock").file.read_bytes())
    record = matrix.perform(replace(tiny("stock", "stock", "plain"), library=libraries.find(str(tmp_path))))
    assert record["valid"], record["invalid_reason"]


@needs_emulator
def test_over_a_distance() -> None:
    spec = replace(tiny("stock", "stock", "tls"), link=links.LINKS["20M40ms"], pace="0.2", probe_every=10)
    record = on_time([spec], 1)[0]
    assert record["valid"], record["invalid_reason"]
    assert record["latency"]["p50"] >= 20


@needs_emulator
def test_two_at_once_over_a_distance(tmp_path: Path) -> None:
    planned = [replace(tiny(library, mode, "tls"), link=links.LINKS["20M40ms"], pace="0.01")
               for library, mode in (("stock", "stock"), ("patched", "flow"))]
    records = on_time(planned, 2)
    assert [record["invalid_reason"] for record in records] == [None, None]
    assert [record["beside_runs"] for record in records] == [1, 1]
    children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True)
    assert "bench" not in children.stdout and "cat" not in children.stdout      # cat holds a namespace
    assert not list(tmp_path.glob("spice-bench-*"))


@pytest.mark.parametrize(("content", "reason"), [
    (b"", "the file is empty"),
    (b"SPICE_REPLAY 99\n", "99"),
    (lzma.compress(b"SPICE_REPLAY 1\nnonsense\n"), "byte"),
    (lzma.compress(bytes(1000))[:-40], "damaged"),
])
def test_a_recording_that_is_no_good_is_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "bad.rec"
    file.write_bytes(content)
    done = Bench(tmp_path)("compare", str(file), SPICE_BENCH_BUILD=str(paths.build_dir().absolute()))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "bad.rec" in done.stderr


def test_a_whole_comparison(tmp_path: Path) -> None:
    done = Bench(tmp_path)("compare", "tiny", "--repeat", "1", "--modes", "stock,cork", "--output", str(tmp_path / "out"),
                           SPICE_BENCH_BUILD=str(paths.build_dir().absolute()))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out/compare.json").read_text())
    assert [one["valid"] for one in result["runs"]] == [True] * 4
