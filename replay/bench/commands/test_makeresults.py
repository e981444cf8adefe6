# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run results, with stand-ins for the commands it gives."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import cli, samples
from bench.commands import compare, folders, makeresults, request
from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import environment, recordings, results

Runs = list[list[str]]


def document(repeats: int, library: str, complete: bool = True) -> dict[str, Any]:
    made = samples.result(["stock", "normal", "gather", "cork", "flow"], repeats=repeats)
    made["environment"]["library_tree"] = library
    return {**made, "complete": complete, "seconds": 90.0}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """What was run; a comparison writes its file as the real one does."""
    given: Runs = []

    def run(argv: list[str], **_more: Any) -> subprocess.CompletedProcess[str]:
        given.append(argv)
        if "--output" in argv:
            folder = Path(argv[argv.index("--output") + 1])
            repeats = int(argv[argv.index("--repeat") + 1])
            results.write_text(folder / "compare.json", json.dumps(document(repeats, environment.library_tree())))
            results.write_text(folder / "compare.md", "# Comparison\n")
        return subprocess.CompletedProcess(argv, 0, stdout="| a |\n|---|\n| 1 |\n", stderr="")

    monkeypatch.setattr(makeresults, "_run", run)
    return given


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., int]:
    return lambda *arguments: cli.main(["results", *arguments, "--output", str(tmp_path)])


def test_every_part_is_a_command_that_exists() -> None:
    for part in folders.PARTS:
        if part.kind == folders.COMPARE:
            parser = argparse.ArgumentParser()
            compare.configure(parser)
            args = parser.parse_intermixed_args(makeresults.command(part, Path("x"), None)[1:])
            asked = request.read(args)
            assert (asked.repeats, args.output) == (part.repeat, Path("x") / part.where)
    assert len({part.where for part in folders.PARTS}) == len(folders.PARTS)
    assert len({part.folder for part in folders.PARTS}) <= 9


def test_a_page_does_not_say_where_the_tree_lies() -> None:
    for part in folders.PARTS:
        if part.kind != folders.RELEASES:
            given = makeresults.command(part, paths.RESULTS, None)
            assert f"results/{part.where}" in given and not any(str(paths.ROOT) in word for word in given)


def test_a_folder_is_all_of_its_parts() -> None:
    assert [part.where for part in makeresults.chosen(["modes/"])] == ["modes", "modes/recorded"]
    assert [part.where for part in makeresults.chosen(["distance/download", "lan"])] == ["distance/download", "lan"]
    assert makeresults.chosen([]) == list(folders.PARTS)
    with pytest.raises(BenchError, match="unknown folder 'moon': it is one of first, modes, "):
        makeresults.chosen(["modes", "moon"])


def test_a_folder_is_made_packed_and_then_left_alone(commands: Runs, call: Callable[..., int], tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    assert call("modes", "--repeat", "3") == 0
    assert [argv[1] for argv in commands] == ["compare"] * 2 and all("3" in argv for argv in commands)
    assert sorted(file.name for file in (tmp_path / "modes").iterdir()) == [
        "2017.md", "compare.csv", "compare.html", "compare.json.xz", "compare.md", "recorded"]
    assert results.load(tmp_path / "modes/compare.json.xz")["plan"]["repeats"] == 3
    assert call("modes", "--repeat", "2") == 0
    assert len(commands) == 2 and "modes/recorded is done" in capsys.readouterr().err
    assert call("modes", "--repeat", "4") == 0      # adds to what is there
    assert len(commands) == 4 and "--fresh" not in commands[-1]


def test_what_was_interrupted_goes_on(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    results.write_text(tmp_path / "lan/compare.json", json.dumps(document(6, environment.library_tree(), complete=False)))
    assert call("lan") == 0
    assert len(commands) == 1 and "--fresh" not in commands[0]


def test_what_is_of_another_library_is_made_anew(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    results.write_text(tmp_path / "lan/compare.json", json.dumps(document(6, "another")))
    makeresults.pack(tmp_path / "lan")
    results.write_text(tmp_path / "lan/plots/old.png", "of another page")
    results.write_text(tmp_path / "age/compare.json", json.dumps(document(4, "another")))
    makeresults.pack(tmp_path / "age")
    assert call("lan") == 0
    assert len(commands) == 1 and "--fresh" in commands[0] and not (tmp_path / "lan/plots").exists()
    first = (tmp_path / "README.md").read_text().splitlines()[0]
    assert first == f"**Not all of this is of one library**: of another, but for lan ({environment.library_tree()[:12]})."
    assert "notes.md" not in (tmp_path / "README.md").read_text()
    results.write_text(tmp_path / "notes.md", "busy")
    assert call("age") == 0
    assert (tmp_path / "README.md").read_text().startswith(
        f"Everything here is of one library, {environment.library_tree()[:12]}.\n")
    assert "[notes.md](notes.md)" in (tmp_path / "README.md").read_text()


def test_a_dry_run_adds_up_what_is_left(commands: Runs, monkeypatch: pytest.MonkeyPatch, call: Callable[..., int], tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    results.write_text(tmp_path / "age/compare.json", json.dumps(document(4, environment.library_tree())))
    monkeypatch.setattr(paths, "build_is_ours", lambda: False)
    monkeypatch.setattr(compare, "foretold", lambda asked: (asked.repeats, 60.0 * asked.repeats))
    monkeypatch.setattr(recordings, "looked_into", lambda recording: recording)
    assert call("age", "lan", "kernel", "--repeat", "2", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "age: is done", "age/relay: 2 runs, about 2:00", "lan: 2 runs, about 2:00",
        "all: 4 runs, about 4:00 on two processors that nobody else uses, and some minutes for kernel"]
    assert commands == []


def test_a_command_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch, call: Callable[..., int], tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(makeresults, "_run", lambda argv, **_: subprocess.CompletedProcess(argv, 130))
    assert call("lan", "age") == 130
    assert "age: ./run compare" in (said := capsys.readouterr().err) and "ended with status 130" in said and "lan" not in said[-90:]


def test_rows_that_do_not_count_are_named_at_the_end(commands: Runs, monkeypatch: pytest.MonkeyPatch,
                                                     call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    whole = makeresults._run
    monkeypatch.setattr(makeresults, "_run", lambda argv, **_: subprocess.CompletedProcess(whole(argv).args, 1))
    assert call("lan", "age") == 1
    assert "in age, age/relay, lan" in capsys.readouterr().err
    monkeypatch.setattr(makeresults, "_run", lambda argv, **_: subprocess.CompletedProcess(argv, 1))
    assert call("distance/slow-client") == 1
    assert "measured nothing" in capsys.readouterr().err


def test_the_readme_shows_what_was_measured(commands: Runs, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- compare: x -->\nold\n<!-- end -->\nb\n<!-- modes: y -->\nold\n<!-- end -->\n")
    results.write_text(tmp_path / "r/first/compare.md", "# Title\n\n| a |\n|---|\n| 1 |\n\n| b |\n|---|\n")
    makeresults.fill_tables(readme, tmp_path / "r")
    assert readme.read_text() == ("a\n<!-- compare: x -->\n| a |\n|---|\n| 1 |\n<!-- end -->\nb\n<!-- modes: y -->\nold\n"
                                  "<!-- end -->\n")


def test_distances_stand_side_by_side(tmp_path: Path) -> None:
    def measured(where: str, links: tuple[str, ...], pace: str) -> None:
        made = samples.result(["stock", "flow"], repeats=2, links=links, paces=(pace,), recordings=("linux-desktop", "tiny"))
        for run in made["runs"]:
            run["wall_seconds"] = 80.0 if run["mode"] == "stock" else 3.4 if "relay" not in run["link"] else 3.6
            run["download"] = {"share": 0.3, "bits_a_second": 1, "server_bits_a_second": 1}
        results.write_text(tmp_path / where / "compare.json", json.dumps(made))
        makeresults.pack(tmp_path / where)

    both = tuple(f"{link}{way}" for link in ("20M40ms", "50M100ms", "100M10ms", "2M100ms") for way in ("", "+relay"))
    measured("distance", both[::2], "max")
    measured("distance/relay", both[1::2], "max")
    measured("age", both[-2:-1], "recorded")
    measured("age/relay", both[-1:], "recorded")
    assert makeresults.distances(tmp_path) is None
    measured("distance/download", ("20M40ms",), "max")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (makeresults.distances(tmp_path) or "").splitlines()]
    assert rows[2] == ["20M40ms: seconds", "80.0 s", "3.4 s", "80.0 s", "3.6 s"]
    assert rows[6] == ["20M40ms, beside a bulk download: share of the line", "30 %", "30 %", "–", "–"]
    assert len(rows) == 2 + 7


def test_the_index_of_the_tree_is_what_is_there() -> None:
    """Once it was made by ./run results; its first line tells of pages of another library."""
    text = (paths.RESULTS / "README.md").read_text()
    if text.startswith(("Everything here is of one library", "**Not all of this")):
        assert text == makeresults.index(paths.RESULTS)
