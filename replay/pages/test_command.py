# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run results, with fake commands."""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import cli, test_samples as samples
from bench.commands import compare, request
from bench.common import atomic, paths
from bench.common.errors import BenchError
from bench.report import publish, stored
from bench.report.stored import Stored
from bench.runs import environment, results
from live.test_live import _run
from pages import command as makeresults
from pages import documents, parts
from recordings import catalogue

Runs = list[list[str]]


def document(where: str, repeats: int, library: str, complete: bool = True) -> dict[str, Any]:
    made = samples.result(["stock", "normal", "gather", "cork", "flow"], repeats=repeats)
    made["environment"]["library_tree"] = library
    part = next(part for part in parts.PARTS if part.where == where)
    return {**made, "command": ["./run", *makeresults.command(part, Path("x"), None)], "complete": complete, "seconds": 90.0}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    """What was run; a comparison writes its file as the real one does."""
    given: Runs = []

    def run(argv: list[str], **_more: Any) -> subprocess.CompletedProcess[str]:
        given.append(argv)
        if "--output" in argv:
            folder = Path(argv[argv.index("--output") + 1])
            repeats = int(argv[argv.index("--repeat") + 1])
            atomic.write_text(folder / "compare.json", json.dumps(
                document(str(folder.relative_to(tmp_path)), repeats, environment.library_tree())))
            atomic.write_text(folder / "compare.md", "# Comparison\n")
        return subprocess.CompletedProcess(argv, 0, stdout="| a |\n|---|\n| 1 |\n", stderr="")

    monkeypatch.setattr(makeresults, "_run", run)
    monkeypatch.setattr(makeresults, "_foretold", lambda part, output, repeat: (repeat or part.repeat, 60.0 * (repeat or part.repeat)))
    monkeypatch.setattr(paths, "build_is_ours", lambda: False)
    return given


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., int]:
    return lambda *arguments: cli.main(["results", *arguments, "--output", str(tmp_path)])


def test_every_part_is_a_command_that_exists() -> None:
    for part in parts.PARTS:
        if part.kind == parts.COMPARE:
            parser = argparse.ArgumentParser()
            compare.configure(parser)
            args = parser.parse_intermixed_args(makeresults.command(part, Path("x"), None)[1:])
            asked = request.read(args)
            assert (asked.repeats, args.output) == (part.repeat, Path("x") / part.where)
    assert len({part.where for part in parts.PARTS}) == len(parts.PARTS)
    assert len({part.folder for part in parts.PARTS}) <= 9


def test_a_page_does_not_say_where_the_tree_lies() -> None:
    for part in parts.PARTS:
        if part.kind != parts.RELEASES:
            given = makeresults.command(part, paths.RESULTS, None)
            assert f"results/{part.where}" in given and not any(str(paths.ROOT) in word for word in given)


def test_a_folder_is_all_of_its_parts() -> None:
    assert [part.where for part in makeresults.chosen(["modes/"])] == ["modes", "modes/plain", "modes/made", "modes/lines", "modes/bbr"]
    assert [part.where for part in makeresults.chosen(["pace/plain", "distance/links"])] == ["distance/links", "pace/plain"]
    assert makeresults.chosen([]) == list(parts.PARTS)
    with pytest.raises(BenchError, match="unknown folder 'moon': choose one of main, distance, "):
        makeresults.chosen(["modes", "moon"])


def test_what_the_readme_shows_comes_first() -> None:
    main = makeresults.chosen(["main"])
    assert main == list(parts.PARTS[:len(main)])
    assert {"distance", "modes", "modes/plain"} <= {part.where for part in main}


def test_a_folder_is_made_packed_and_then_left_alone(commands: Runs, call: Callable[..., int], tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    assert call("modes", "--repeat", "3") == 0
    assert [argv[1] for argv in commands] == ["compare"] * 5 and all("3" in argv for argv in commands)
    assert capsys.readouterr().err.startswith("results: all: 15 runs, about 15:00 on two processors that nobody else uses\n")
    assert sorted(file.name for file in (tmp_path / "modes").iterdir()) == [
        "bbr", "compare.json.xz", "compare.md", "lines", "made", "plain"]
    assert results.load(tmp_path / "modes/compare.json.xz")["plan"]["repeats"] == 3
    assert call("modes", "--repeat", "2") == 0
    assert len(commands) == 5 and "modes/bbr is done" in capsys.readouterr().err
    assert call("modes", "--repeat", "4") == 0      # adds to what is there
    assert len(commands) == 10
    assert "\n## One table\n" in (tmp_path / "README.md").read_text()
    assert "| recording | pace | link | transport | mode " in re.sub(" +", " ", (tmp_path / "README.md").read_text())


def test_a_part_that_is_by_now_another_one_is_made_anew(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    made = document("lan", 6, environment.library_tree())
    made["command"].remove("tls")
    atomic.write_text(tmp_path / "lan/compare.json", json.dumps(made))
    assert call("lan") == 0
    assert "tls" in results.load(tmp_path / "lan/compare.json.xz")["command"]


def test_what_was_interrupted_goes_on(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "lan/compare.json", json.dumps(document("lan", 6, environment.library_tree(), complete=False)))
    assert call("lan") == 0
    assert len(commands) == 1


@pytest.mark.parametrize(("wrong_picture", "measured"), [(False, 1), (True, 0)])
def test_a_page_that_failed_is_not_called_done(commands: Runs, call: Callable[..., int], tmp_path: Path, wrong_picture: bool,
                                               measured: int) -> None:
    """A row without a run that counts is measured again; a run with a wrong picture is kept, and the status says so each time."""
    made = document("lan", 6, environment.library_tree())
    made["plan"]["cells"] = list(dict.fromkeys(results.case(run).row for run in made["runs"]))
    for run in made["runs"]:
        if run["mode"] == "flow" and (measured or run["repeat"] == 2):
            run.update(valid=False, invalid_reason="why", lossy=wrong_picture)
    atomic.write_text(tmp_path / "lan/compare.json", json.dumps(made))
    assert call("lan") == 1 - measured
    assert len(commands) == measured


def test_what_is_of_another_library_is_made_anew(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "lan/compare.json", json.dumps(document("lan", 6, "another")))
    makeresults.pack(tmp_path / "lan")
    atomic.write_text(tmp_path / "staleness/compare.json", json.dumps(document("staleness", 4, "another")))
    makeresults.pack(tmp_path / "staleness")
    assert call("lan") == 0
    assert len(commands) == 1
    said = (tmp_path / "README.md").read_text().splitlines()[2]
    assert said == "**The pages were measured with 2 versions of the library** (last column)."
    assert "notes.md" not in (tmp_path / "README.md").read_text()
    atomic.write_text(tmp_path / "notes.md", "busy")
    assert call("staleness") == 0
    assert f"\nAll pages were measured with library {environment.library_tree()[:12]}.\n" in (tmp_path / "README.md").read_text()
    assert "[notes.md](notes.md)" in (tmp_path / "README.md").read_text()


def test_a_dry_run_adds_up_what_is_left(commands: Runs, call: Callable[..., int], tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    atomic.write_text(tmp_path / "staleness/compare.json", json.dumps(document("staleness", 4, environment.library_tree())))
    assert call("staleness", "pace/plain", "recordings/releases", "--repeat", "2", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "staleness: is done", "staleness/links: 2 runs, about 2:00", "staleness/quiet: 2 runs, about 2:00",
        "pace/plain: 2 runs, about 2:00",
        "all: 6 runs, about 6:00 on two processors that nobody else uses, and some minutes for recordings/releases"]
    assert commands == []


@pytest.mark.usefixtures("commands")
def test_an_interrupt_ends_it(monkeypatch: pytest.MonkeyPatch, call: Callable[..., int],
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(makeresults, "_run", lambda argv, **_: subprocess.CompletedProcess(argv, 130))
    assert call("lan", "staleness") == 130
    said = capsys.readouterr().err
    assert "bench: lan: ./run compare" in said and said.endswith("ended with status 130; to continue, run the same again\n")
    assert "results: staleness" not in said


def test_rows_that_do_not_count_are_named_at_the_end(commands: Runs, monkeypatch: pytest.MonkeyPatch,
                                                     call: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    whole = makeresults._run
    monkeypatch.setattr(makeresults, "_run", lambda argv, **_: subprocess.CompletedProcess(whole(argv).args, 1))
    assert call("lan", "staleness") == 1
    assert ": lan, staleness, staleness/links, staleness/quiet\n" in capsys.readouterr().err


def test_what_measures_nothing_is_named_and_the_next_follows(commands: Runs, monkeypatch: pytest.MonkeyPatch, call: Callable[..., int],
                                                             capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    whole = makeresults._run
    monkeypatch.setattr(makeresults, "_run", lambda argv, **more: subprocess.CompletedProcess(argv, 2) if "--with" in argv
                        else whole(argv, **more))
    assert call("distance/slow-client", "pace/plain") == 1
    said = capsys.readouterr().err
    assert "measured nothing, status 2\n" in said and said.endswith("differ: distance/slow-client\n")
    assert (tmp_path / "pace/plain/compare.json.xz").is_file()
    commands.clear()
    assert call("distance/slow-client", "pace/plain") == 1
    assert commands == []       # what was measured before is not measured again


def _measured(folder: Path, *recordings: str) -> None:
    atomic.write_text(folder / "compare.json", json.dumps(samples.result(["stock", "flow"], repeats=1, recordings=recordings)))
    makeresults.pack(folder)


def test_documents_show_what_was_measured(tmp_path: Path) -> None:
    text = "a\n<!-- pace: x -->\nold\n<!-- end -->\nb\n<!-- modes: y -->\nold\n<!-- end -->\n"

    def shown() -> str:
        kept = Stored(tmp_path)
        return documents.filled(text, {"pace": stored.overheads(kept, "lan"), "modes": stored.overheads(kept, "modes", "modes/made")})

    _measured(tmp_path / "lan", "one", "two")
    assert shown().startswith("a\n<!-- pace: x -->\n| recording |") and shown().count("\n| two ") == 1
    assert shown().endswith("<!-- end -->\nb\n<!-- modes: y -->\nold\n<!-- end -->\n")
    _measured(tmp_path / "modes", "three", "four")
    _measured(tmp_path / "modes/made", "five", "six")     # one table of both
    assert [shown().count(f"\n| {name} ") for name in ("three", "four", "five", "six")] == [1] * 4
    with pytest.raises(ValueError, match="unpack"):
        documents.filled(text, {"no such mark": "table"})


def test_pages_that_are_missing_leave_the_tables_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()    # being measured
    written = documents.written(Stored(tmp_path))
    assert all(text == file.read_text() for file, text in written.items())
    assert {documents.README, documents.MODES} <= written.keys() and not {documents.TARGETS, paths.RESULTS / "seconds.svg"} & written.keys()


def test_the_readme_names_the_library_of_live_rows_if_there_are_several() -> None:
    def shown(*measured: str) -> list[list[str]]:
        records = [_run(way, guest=guest, link="20M40ms", library=library if way == "flow" else None)
                   for guest, library in zip(("text-std", "desktop-std"), measured) for way in ("stock", "flow", "vnc")]
        older = [_run(way, guest="text-qxl", link="20M40ms", library="older" if way == "flow" else None) for way in ("stock", "flow", "vnc")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in documents.live_rows(records + older).splitlines()]

    head, _, *rows = shown("one", "one")
    assert head[-1] == "wire, QEMU's VNC" and [row[0] for row in rows] == ["text-std", "desktop-std"]
    head, _, *rows = shown("one", "two")
    assert head[-1] == "measured with" and [row[-1] for row in rows] == ["one", "two"]


def test_a_folder_has_one_page(tmp_path: Path) -> None:
    for where in ("pace", "pace/plain"):
        _measured(tmp_path / where, "one", "two")
        atomic.write_text(tmp_path / where / "compare.md", "old")
    makeresults.write_page("pace", tmp_path)
    page = (tmp_path / "pace/compare.md").read_text()
    assert not (tmp_path / "pace/plain/compare.md").exists()
    assert [line.split(":")[0] for line in page.splitlines() if line.startswith("# ")] == ["# pace", "# pace/plain"]
    assert page.count("(../README.md#columns)") == 1 and "## Columns" not in page and page.count("## In short") == 2
    index = makeresults.index(tmp_path)
    assert index.count("\n## Columns\n") == 1
    legend = publish.markdown(results.load(tmp_path / "pace/compare.json.xz")).partition("## Columns\n")[2].partition("## What")[0]
    assert "| wire; of stock |" in legend and set(legend.splitlines()) <= set(index.splitlines())     # a page of its own has it itself


def test_an_index_writes_the_pages_again_and_measures_nothing(commands: Runs, call: Callable[..., int], tmp_path: Path) -> None:
    _measured(tmp_path / "pace", "one", "two")
    assert call("--index") == 0 and commands == []
    assert (tmp_path / "pace/compare.md").read_text().count("# pace: ") == 1 and not (tmp_path / "lan").exists()


def _distances(folder: Path) -> str:
    return stored.distances(Stored(folder))


def test_distances_stand_side_by_side(tmp_path: Path) -> None:
    def measured(where: str, links: tuple[str, ...], pace: str) -> None:
        made = samples.result(["stock", "flow"], repeats=2, links=links, paces=(pace,), recordings=("linux-desktop", "tiny"))
        for run in made["runs"]:
            run["wall_seconds"] = 80.0 if run["mode"] == "stock" else 3.4 if "relay" not in run["link"] else 3.6
            run["download"] = {"share": 0.3, "bits_a_second": 1, "server_bits_a_second": 1}
        atomic.write_text(tmp_path / where / "compare.json", json.dumps(made))
        makeresults.pack(tmp_path / where)

    assert _distances(tmp_path) == ""
    both = tuple(f"{link}{way}" for link in ("20M40ms", "50M100ms", "100M10ms", "2M100ms") for way in ("", "+relay"))
    measured("distance", both[:1], "max")
    assert re.sub(r"  +|-", " ", _distances(tmp_path)).split("\n")[0] == "| linux desktop | stock | `flow` | n |"
    measured("distance/links", both[1:], "max")
    measured("staleness", both[-2:-1], "recorded")
    measured("staleness/links", both[-1:], "recorded")
    assert "share of the link" not in _distances(tmp_path)
    measured("distance/download", ("20M40ms",), "max")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in _distances(tmp_path).splitlines()]
    assert rows[2] == ["20M40ms: seconds", "80.0 s", "3.4 s", "80.0 s", "3.6 s", "2"]
    assert rows[6] == ["20M40ms, beside a bulk download: share of the link", "30 %", "30 %", "–", "–", "2"]
    assert len(rows) == 2 + 9 and rows[9][0] == "20M40ms: bytes on the wire" and all(cell.endswith(" MB") for cell in rows[9][1:-1])
    relayed = tmp_path / "distance/links/compare.json.xz"
    relayed.write_bytes(lzma.compress(json.dumps(
        {**(old := results.load(relayed)), "environment": {**old["environment"], "library_tree": "another"}}).encode()))
    assert re.search(r"20M40ms: seconds *\| *80.0 s *\| *3.4 s *\| *– *\| *– ", _distances(tmp_path))


def test_the_index_of_the_tree_is_what_is_there() -> None:
    assert (paths.RESULTS / "README.md").read_text() == makeresults.index(paths.RESULTS)


def test_the_one_table_names_what_it_lacks() -> None:
    lacks = (Path(__file__).parent / "index.md.j2").read_text().partition("{{ one_table }}")[2]
    shown = {name for part in parts.PARTS if part.where in parts.TABLE for name in re.split("[ @]", part.arguments)}
    assert [name for name in catalogue.manifest() if (name in shown) == (f"{name} " in lacks)] == [], "name them in index.md.j2, or give them a row"
    plain, every = (text.removeprefix("--modes ").split(",") for text in (parts._PLAIN_MODES, parts._EVERY_MODE))
    assert all((mode in plain) != (f"`{mode}`" in lacks) for mode in every)


def test_results_has_at_most_40_files() -> None:
    """Those of the repository: compare.csv is made by who wants one."""
    files = [file for file in paths.RESULTS.rglob("*") if file.is_file() and paths.OWN_RESULTS not in file.parents and file.name != "compare.csv"]
    assert len(files) <= 40


def test_the_page_beside_a_packed_file_is_left_alone(tmp_path: Path) -> None:
    """In results/ it is of all parts of the folder."""
    text = json.dumps(samples.result(["stock", "flow"], repeats=3)).encode()
    (tmp_path / "compare.json.xz").write_bytes(lzma.compress(text))
    (tmp_path / "compare.md").write_text("of several parts")
    (tmp_path / "mine.json").write_bytes(text)
    assert cli.main(["results", str(tmp_path / "compare.json.xz"), str(tmp_path / "mine.json")]) == 0
    assert (tmp_path / "compare.md").read_text() == "of several parts"
    assert {file.name for file in tmp_path.iterdir()} == {"compare.json.xz", "compare.md", "compare.csv", "mine.json", "mine.md", "mine.csv"}


@pytest.mark.parametrize("option", [["--dry-run"], ["--index"], ["--repeat", "2"], ["--output", "x"]])
def test_result_files_take_no_option(option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(samples.result(["stock"], repeats=1)))
    assert cli.main(["results", str(tmp_path / "mine.json"), *option]) == 2
    assert "without options" in capsys.readouterr().err and [file.name for file in tmp_path.iterdir()] == ["mine.json"]


@pytest.mark.parametrize("spoil", [
    lambda made: made["runs"].clear(), lambda made: made["plan"].clear(), lambda made: made["runs"][0].pop("wall_seconds"),
    lambda made: made["environment"].update(packages={}, cpu={}), lambda made: made["runs"][0].update(valid=True, server={})])
def test_what_is_damaged_is_one_line_and_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Any], object]) -> None:
    made = samples.result(["stock", "flow"], repeats=1)
    spoil(made)
    (tmp_path / "mine.json").write_text(json.dumps(made))
    assert cli.main(["results", str(tmp_path / "mine.json")]) == 2
    said = capsys.readouterr().err
    assert "mine.json is damaged: " in said and said.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["mine.json"]


def test_a_file_without_figures_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = samples.result(["stock", "flow"], repeats=1)
    made["runs"][0] |= {"valid": False, "invalid_reason": "the run took too long"}
    made["plan"]["cells"] = [results.case(made["runs"][0]).row]
    (tmp_path / "mine.json").write_text(json.dumps(made))
    assert cli.main(["results", str(tmp_path / "mine.json")]) == 1
    assert "1 of 1 rows have no run that counts" in capsys.readouterr().err
