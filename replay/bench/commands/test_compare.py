# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run compare as a user sees it, with fake player and client."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bench.commands import compare, request
from bench.common import atomic
from bench.common.errors import BenchError
from bench.conftest import Bench, processes, wait_until
from bench.runs import matrix
from bench.runs.runspec import RunSpec

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_whole_comparison(bench: Bench) -> None:
    done = bench.compare("--repeat", "1", "--modes", "stock,gather")
    assert done.returncode == 0, done.stderr
    page = (bench.output / "compare.md").read_text()
    assert page in done.stdout
    assert "| stock  | plain" in page and "| gather | tls" in page and "1+0/1" in page
    result = json.loads((bench.output / "compare.json").read_text())
    assert result["complete"] and len(result["runs"]) == 4
    assert {(r["library"], r["mode"]) for r in result["runs"]} == {("stock", "stock"), ("patched", "gather")}
    assert all(r["valid"] for r in result["runs"])
    assert result["environment"]["recordings"]["tiny"]
    assert "[4/4]" in done.stderr


def test_surfaces_that_are_shown(bench: Bench) -> None:
    done = bench.compare("--repeat", "1", "--modes", "gather", "--transport", "plain", "--with", "show-surfaces")
    assert done.returncode == 0, done.stderr
    assert json.loads((bench.output / "compare.json").read_text())["plan"]["show_surfaces"]


def test_the_known_pictures_are_of_the_primary_surface_alone() -> None:
    parser = argparse.ArgumentParser()
    request.configure(parser)
    references = [compare.references(request.read(parser.parse_args(["tiny", *line]))) for line in ([], ["--with", "show-surfaces"])]
    assert references[0]["tiny"] and references[1] == {}


def test_a_first_look_has_both_paces() -> None:
    def asked(*arguments: str) -> list[str]:
        parser = argparse.ArgumentParser()
        compare.configure(parser)
        return [cell.case.row for cell in request.cells(request.read(parser.parse_args(arguments)))]

    cells = asked()
    fast, paced = cells[:-3], cells[-3:]
    assert [cell.split("/")[0] for cell in fast] == [request.NEWCOMER] * 2 * 3
    assert {cell.split("/")[2] for cell in fast} == {"max"}
    assert paced == [f"{request.NEWCOMER_PACED}/lan/recorded/tls/{mode}" for mode in ("stock", "batch", "flow")]
    assert asked("--modes", "gather", "--transport", "plain") == [f"{request.NEWCOMER}/lan/max/plain/gather",
                                                                 f"{request.NEWCOMER_PACED}/lan/recorded/plain/gather"]
    for named in (("--pace", "max"), ("tiny",), ("--link", "lan")):
        assert not any(request.NEWCOMER_PACED in cell for cell in asked(*named))


def test_runs_that_do_not_count_enter_no_table(bench: Bench) -> None:
    done = bench.compare("--repeat", "1", "--modes", "gather", "--transport", "plain", FAKE_PLAYER="short")
    assert done.returncode == 1
    assert "0+0/1" in done.stdout and "299 of 300 commands played" in done.stdout
    assert "rows have no run that counts" in done.stderr


def test_a_wrong_picture_in_one_of_several_runs_is_an_error(bench: Bench) -> None:
    done = bench.compare("--repeat", "3", "--modes", "gather", "--transport", "plain", FAKE_CLIENT="picture")
    wrong = [run for run in json.loads((bench.output / "compare.json").read_text())["runs"] if not run["valid"]]
    assert len(wrong) == 1 and "2+0/3" not in done.stdout       # of the two with pauses one is wrong
    assert done.returncode == 1
    assert f"\nbench: wrong pictures in 1 of 3 runs: tiny/lan/max/plain/gather run {wrong[0]['repeat']}\n" in done.stderr


@pytest.mark.parametrize(("arguments", "complaint"), [
    (("--modes", "fast"), "unknown mode 'fast'"),
    (("--modes", ","), "no mode given"),
    (("--modes", "flow:windw=400"), "mode flow has no setting 'windw=400'"),
    (("--modes", "batch:window=0"), "no setting 'window=0'"),
    (("--modes", "stock:window=400"), "mode stock has no setting"),
    (("--transport", "udp"), "unknown transport 'udp'"),
    (("--library", "/nowhere"), "library /nowhere: no such directory"),
    (("--library", "."), "no libspice-server.so.1"),
    (("--library", "stock", "--modes", "cork"), "is not patched"),
    (("--library", "patched", "--modes", "stock"), "choose another one with --modes"),
    (("--repeat", "0"), "--repeat must be at least 1"),
    (("--repeat", "many"), "invalid int value: 'many'"),
    (("--jobs", "0"), "--jobs must be from 1 to 32"),
    (("--jobs", "33"), "--jobs must be from 1 to 32"),
    (("--with", "wings"), "--with: unknown 'wings': choose one of tls, congestion, slow-client"),
    (("--with", "tls=1.1"), "--with: 'tls=1.1' should be tls=1."),
    (("--with", "beside-download=yes"), "'beside-download=yes' should be beside-download: a bulk"),
    (("--with", "slow-client=0.5"), "should be slow-client=FACTOR: the client takes"),
    (("--with", "channels=telepathy"), "should be channels: traffic on all"),
    (("--link", "moon"), "unknown link 'moon'"),
    (("--pace", "fast"), "unknown pace 'fast'"),
    (("--unheard-of",), "unrecognized arguments: --unheard-of"),
    (("nothing-like-it",), "no recording 'nothing-like-it'"),
    (("./missing.rec",), "no such file"),
])
def test_bad_input_is_one_line(bench: Bench, arguments: tuple[str, ...], complaint: str) -> None:
    done = bench.compare(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_missing_tcpdump_is_one_line(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == "tcpdump" else which(name, path=path))
    with pytest.raises(BenchError, match="tcpdump is missing: install the package tcpdump"):
        matrix.perform(spec)


def test_tools_that_are_not_built_are_one_line(bench: Bench, fake_tree: Path) -> None:
    (fake_tree / "build/replay/drain/spice-drain").unlink()
    done = bench.compare("--repeat", "1")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "spice-drain is not built" in done.stderr


@pytest.mark.parametrize("option", ["--output", "--keep"])
def test_a_folder_that_takes_no_file_is_said_before_the_first_run(option: str, bench: Bench) -> None:
    done = bench.compare("--repeat", "1", "--modes", "gather", "--transport", "plain", option, "/proc/no")
    assert done.returncode == 1 and "[1/" not in done.stderr
    assert done.stderr.strip().split("\n")[-1].startswith("bench: cannot write in /proc/no: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a small disk")
def test_a_full_disk_makes_a_run_not_count(bench: Bench) -> None:
    arguments = bench.command("compare", str(bench.folder / "tiny.rec"), "--output", str(bench.output), "--modes", "gather",
                              "--transport", "plain", "--repeat", "1")
    small_disk = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=200k none \"$TMPDIR\" && exec \"$@\"", "sh"]
    done = subprocess.run([*small_disk, *arguments], env=bench.environment(), cwd=bench.folder, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 1
    assert "is the disk full?" in done.stderr


def test_what_is_no_file_is_not_replaced(bench: Bench) -> None:
    bench.output.mkdir()
    (bench.output / "compare.json").symlink_to("/dev/full")
    done = bench.compare("--repeat", "1", "--modes", "gather", "--transport", "plain")
    assert done.returncode == 1
    assert done.stderr.strip().split("\n")[-1] == f"bench: cannot write {bench.output}/compare.json: No space left on device"
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_comparison_leaves_nothing(bench: Bench, number: signal.Signals) -> None:
    connected = bench.folder / "connected"
    child = bench.begin("--modes", "gather", FAKE_PLAYER="slow", FAKE_CONNECTED=str(connected))
    wait_until(connected.exists)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.strip().split("\n")[-1] == "bench: interrupted"


def test_a_killed_comparison_leaves_no_process(bench: Bench, fake_tree: Path) -> None:
    connected = bench.folder / "connected"
    child = bench.begin("--modes", "gather", FAKE_PLAYER="slow", FAKE_CONNECTED=str(connected))
    wait_until(connected.exists)
    child.kill()
    child.communicate()
    wait_until(lambda: str(fake_tree) not in processes())
    # its temporary folder is removed by the next one
    assert list((fake_tree / "tmp").iterdir())
    assert bench.compare("--repeat", "1", "--modes", "gather", "--transport", "plain").returncode == 0


def test_rows_of_an_unpatched_directory(fake_tree: Path) -> None:
    directory = str(fake_tree / "build/stock/server")
    asked = request.Request([], ["stock", "normal", "gather"], libraries=[directory, "patched"])
    assert [(library.name, mode) for library, mode in request.rows(asked)] == [
        (directory, "stock"), ("patched", "normal"), ("patched", "gather")]


def test_every_round_has_every_cell(spec: RunSpec) -> None:
    cells = [replace(spec, mode=mode) for mode in ("normal", "gather", "cork")]
    planned = matrix.order(cells, 4, seed=7)
    assert planned == matrix.order(cells, 4, seed=7) != matrix.order(cells, 4, seed=8)
    for repeat in range(4):
        assert {one.mode for one in planned[repeat * 3:repeat * 3 + 3]} == {"normal", "gather", "cork"}


def test_a_dry_run_measures_nothing(bench: Bench) -> None:
    done = bench.compare("--links", "20M40ms", "--modes", "stock,cork", "--transports", "tls", "--dry-run")
    assert done.stdout.splitlines()[:-1] == ["tiny/20M40ms/max/tls/stock", "tiny/20M40ms/max/tls/cork"]
    done = bench.compare("--modes", "cork", "--repeat", "5", "--dry-run")
    assert done.stdout.splitlines()[-1].startswith("2 rows, 11 runs, about ")
    assert not bench.output.exists()


def test_an_interrupted_comparison_goes_on(bench: Bench) -> None:
    arguments = ("--modes", "stock,gather", "--transport", "plain", "--repeat", "2")
    first = bench.compare(*arguments)
    assert first.returncode == 0, first.stderr
    file = bench.output / "compare.json"
    result = json.loads(file.read_text())
    assert [len(result["warm_ups"]), len(result["runs"])] == [1, 4]
    kept = result["runs"][:3]
    file.write_text(json.dumps({**result, "complete": False, "runs": kept}))
    again = bench.compare(*arguments)
    assert "3 runs are done" in again.stderr and "[2/2]" in again.stderr     # a warm-up, a run
    result = json.loads(file.read_text())
    assert result["complete"] and len(result["runs"]) == 4 and result["runs"][:3] == kept
    assert len(result["warm_ups"]) == 2


def test_more_runs_of_each_are_added(bench: Bench) -> None:
    arguments = ("--modes", "stock,gather", "--transport", "plain", "--repeat")
    assert bench.compare(*arguments, "2").returncode == 0
    file = bench.output / "compare.json"
    before = json.loads(file.read_text())
    more = bench.compare(*arguments, "3")
    assert more.returncode == 0 and "4 runs are done" in more.stderr and "[3/3]" in more.stderr
    after = json.loads(file.read_text())
    assert after["complete"] and after["plan"]["repeats"] == 3 and after["command"][-1] == "3"
    assert after["runs"][:4] == before["runs"] and [run["repeat"] for run in after["runs"][4:]] == [3, 3]
    assert after["seconds"] > before["seconds"] > 0 and "measured in 0:" in more.stdout
    assert "[7/7]" in bench.compare(*arguments, "3").stderr     # a complete one is done anew
    assert "[2/2]" in bench.compare(*arguments, "1").stderr


@pytest.mark.parametrize("changed", ["kernel", "cpu", "packages", "programs", "libraries", "recordings", "warm_ups"])
def test_what_was_measured_elsewhere_is_not_added_to(bench: Bench, changed: str) -> None:
    arguments = ("--modes", "gather", "--transport", "plain", "--repeat")
    assert bench.compare(*arguments, "2").returncode == 0
    file = bench.output / "compare.json"
    other = json.loads(file.read_text())
    if changed == "warm_ups":
        other["warm_ups"] = []
    else:
        other["environment"][changed] = {}
    file.write_text(json.dumps(other))
    again = bench.compare(*arguments, "3").stderr
    assert "[4/4]" in again
    assert len(json.loads(file.read_text())["runs"]) == 3
    if changed != "warm_ups":       # then it is the same comparison
        assert "is now in" in again and json.loads(file.with_name("compare.1.json").read_text()) == other


def test_other_comparisons_are_kept_aside(bench: Bench) -> None:
    assert bench.compare("--modes", "gather", "--repeat", "1", "--transport", "plain").returncode == 0
    file = bench.output / "compare.json"
    interrupted = {**json.loads(file.read_text()), "complete": False}
    file.write_text(json.dumps(interrupted))
    assert bench.compare("--modes", "stock", "--repeat", "1", "--transport", "plain").returncode == 0
    stock = json.loads(file.read_text())
    assert bench.compare("--modes", "cork", "--repeat", "1", "--transport", "plain").returncode == 0
    assert json.loads(file.with_name("compare.1.json").read_text()) == interrupted
    assert json.loads(file.with_name("compare.2.json").read_text()) == stock


def test_a_file_that_is_no_result_is_left_alone(bench: Bench) -> None:
    file = bench.output / "compare.json"
    atomic.write_text(file, "mine")
    done = bench.compare("--modes", "gather", "--repeat", "1", "--transport", "plain")
    assert done.returncode == 2 and "compare.json is not JSON" in done.stderr and done.stderr.count("\n") == 1
    assert file.read_text() == "mine"


@pytest.mark.parametrize(("commands", "places"), [(None, ()), (1, ()), (2, (1,)), (3, (1, 2)), (100, (25, 50, 75))])
def test_a_recording_of_few_commands_has_fewer_pauses(spec: RunSpec, commands: int | None, places: tuple[int, ...]) -> None:
    assert request._pause_at(replace(spec.recording, commands=commands), "max") == places
