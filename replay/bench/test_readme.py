# SPDX-License-Identifier: LGPL-2.1-or-later
"""README.md and docs/ show results/ as they are; links and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import samples
from bench.cli import COMMANDS
from bench.commands import makeresults, readme
from bench.common import paths
from bench.report import onetable
from bench.runs import modes

_PAGES = sorted(file for pattern in ("*.md", "docs/*.md", "packaging/**/*.md", "server/*.md", "replay/*.md")
                for file in paths.ROOT.glob(pattern))
_MODES = (paths.ROOT / "docs/modes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [readme.README, readme.MODES, readme.NOTES, readme.PICTURE], ids=lambda file: file.name)
def test_what_is_shown_is_what_was_measured(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == readme.contents()[file], "run ./run results --index"


def test_the_index_and_the_one_table_are_of_the_runs() -> None:
    assert (paths.RESULTS / "README.md").read_text(encoding="utf-8") == makeresults.index(paths.RESULTS), "run ./run results --index"
    assert (paths.RESULTS / "table.csv").read_text(encoding="utf-8") == onetable.text(makeresults._one_table(paths.RESULTS))


def test_a_table_that_was_not_measured_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme, "_runs", lambda folder: [])
    assert readme.contents() == {file: file.read_text(encoding="utf-8")
                                    for file in (readme.README, readme.MODES, readme.NOTES, readme.PICTURE)}


def test_runs_with_jpeg_do_not_count_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = samples.result(["stock"], repeats=2)["runs"]
    monkeypatch.setattr(readme, "_runs", lambda folder: runs)

    def shown() -> list[float]:
        return readme._values("x", "lan", "tiny", "stock", "tls", "wire_bytes")

    without = shown()
    assert len(without) == 2
    next(run for run in runs if run["transport"] == "tls")["lossy"] = True
    assert shown() == without[1:]
    for run in runs:
        run["lossy"] = True
    assert shown() == without


def test_the_readme_has_the_command_of_the_main_job_and_that_of_the_tests() -> None:
    found = re.findall(r"^    \./run (\w+) +#", readme.README.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"compare", "test"} <= set(found)


def test_the_readme_shows_live_guests_on_three_links() -> None:
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in (readme.live() or "").splitlines()[2:]]
    assert {link for _, _, link, *_ in rows} == {"lan", readme.LIVE_LINK, "2M100ms"}
    assert {link for guest, _, link, *_ in rows if not guest.endswith("-std")} <= {readme.LIVE_LINK}


@pytest.mark.parametrize("mark", ["pace", "modes"])
def test_the_page_of_modes_shows_the_measured_tables(mark: str) -> None:
    shown = _MODES.split(f"<!-- {mark}:")[1].split("<!-- end -->")[0]
    assert shown.partition("\n")[2] == makeresults.first_table(mark, paths.RESULTS)


def test_the_page_of_modes_tells_distances_as_measured() -> None:
    """Once all of it was made by ./run results."""
    assert (makeresults.distances(paths.RESULTS) or "<!-- distance:") in _MODES


def test_every_session_and_mode_is_in_the_table_of_modes() -> None:
    assert [name for name in readme.SESSIONS if f"| {name} " not in _MODES] == []
    assert [mode for mode in modes.MODES if f"| `{mode}` |" not in _MODES] == []
    table = _MODES.split("<!-- modes:")[1].split("<!-- end -->")[0]
    [head] = [line for line in table.splitlines() if line.startswith("| recording ")]
    assert re.findall(r"\w+", head.replace("(catchup=off)", ""))[3:] == [*modes.MODES, "n"]


def test_the_part_of_the_gain_in_cpu_that_is_not_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = samples.result(["stock", "cork", "batch", "flow"], repeats=2, recordings=tuple(readme.SESSIONS))["runs"]
    for run in runs:
        seconds = {"stock": 1.0, "cork": 0.8, "batch": 0.6, "flow": 0.98 if run["recording"] == "linux-boot" else 0.5}[run["mode"]]
        run["cpu_seconds"] = {"user": seconds, "system": 0.0}
    monkeypatch.setattr(readme, "_runs", lambda folder: runs)
    rows = readme.cpu().splitlines()[2:]
    assert rows[0] == "| recorded boot of Linux | 1.00 | 0.80 | 0.60 | 0.98 | – | 2 |"
    assert rows[1] == "| Linux desktop | 1.00 | 0.80 | 0.60 | 0.50 | 40 % | 2 |"


def _heading(line: str) -> str:
    """What a heading is called in a link."""
    return re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(paths.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, place = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        if place:
            lines = file.read_text(encoding="utf-8").splitlines()
            headings = [_heading(line) for line in lines if line.startswith("#")]
            assert place in headings, target


def test_the_commands_of_the_front_door_exist() -> None:

    written = re.compile(r"(?:^    |`)\./run ([a-z]+)", re.MULTILINE)
    named = {command for page in _PAGES for command in written.findall(page.read_text(encoding="utf-8"))}
    assert named - {word for name in COMMANDS for word in name.split()} == set()


def test_what_upstream_knows_is_said_once_and_the_same_everywhere() -> None:
    paragraphs = re.compile(r"^\*\*(?:What upstream knows|Until your distribution has the fixes)\*\*.*?\n\n", re.M | re.S)
    said = [paragraphs.findall((paths.ROOT / page).read_text(encoding="utf-8")) for page in ("SECURITY.md", "patches/FAULTS.md")]
    assert len(said[0]) == 2
    assert said[0] == said[1]
