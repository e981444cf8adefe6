# SPDX-License-Identifier: LGPL-2.1-or-later
"""README.md and docs/ show results/ as they are; links and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import test_samples as samples
from bench.cli import COMMANDS
from bench.common import paths
from bench.report import stored
from bench.report.stored import Stored
from bench.runs import modes
from pages import command, documents
from pages.parts import PARTS

_PAGES = sorted(file for pattern in ("*.md", "docs/*.md", "packaging/**/*.md", "server/*.md", "replay/*.md")
                for file in paths.ROOT.glob(pattern))
_MODES = (paths.ROOT / "docs/modes.md").read_text(encoding="utf-8")


_PUBLISHED = Stored()


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    return documents.written(_PUBLISHED)


def test_what_is_shown_is_what_was_measured(written: dict[Path, str]) -> None:
    of_results = ("seconds.svg", "live/README.md", "live/deployment.md", "live/sessions.md", "clients/README.md", "clients/migration.md")
    assert set(written) == {documents.README, documents.MODES, documents.TARGETS, *(paths.RESULTS / name for name in of_results)}
    assert [file for file, text in written.items() if file.read_text(encoding="utf-8") != text] == [], "run ./run results --index"


@pytest.mark.parametrize("folder", [folder for folder in dict.fromkeys(part.folder for part in PARTS) if command.page_of(folder, paths.RESULTS)])
def test_a_page_is_of_the_runs_beside_it(folder: str) -> None:
    assert (paths.RESULTS / folder / "compare.md").read_text(encoding="utf-8") == command.page_of(folder, paths.RESULTS), "run ./run results --index"


def test_the_index_is_of_the_runs() -> None:
    assert (paths.RESULTS / "README.md").read_text(encoding="utf-8") == command.index(paths.RESULTS), "run ./run results --index"


def test_a_table_that_was_not_measured_stays(tmp_path: Path) -> None:
    written = documents.written(Stored(tmp_path), tmp_path)
    assert set(written) == {documents.README, documents.MODES}
    assert all(file.read_text(encoding="utf-8") == text for file, text in written.items())


def test_runs_with_jpeg_do_not_count_beside_others() -> None:
    runs = samples.result(["stock"], repeats=2)["runs"]

    def shown() -> list[float]:
        return Stored(known={"x": {"runs": runs}}).values("wire_bytes", "x", "lan", "stock", "tiny")

    without = shown()
    assert len(without) == 2
    next(run for run in runs if run["transport"] == "tls")["lossy"] = True
    assert shown() == without[1:]
    for run in runs:
        run["lossy"] = True
    assert shown() == without


def test_the_readme_has_the_command_of_the_main_job_and_that_of_the_tests() -> None:
    found = re.findall(r"^    \./run (\w+) +#", documents.README.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"compare", "test"} <= set(found)


def test_the_readme_shows_eight_rows_of_live_guests() -> None:
    """Each action, over one link."""
    table = documents.README.read_text(encoding="utf-8").split("<!-- live:")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[3:]]
    assert sorted(row[1] for row in rows) == ["drag", "editor", "page", "scroll", "terminal", "type", "video", "web"]
    assert {row[2] for row in rows} == {"20M40ms"} and all(row[0].endswith("-std") for row in rows)


def test_every_session_and_mode_is_in_the_table_of_modes() -> None:
    assert [name for name in stored.SESSIONS if f"| {name} " not in _MODES] == []
    assert [mode for mode in modes.MODES if f"| `{mode}` |" not in _MODES] == []
    table = _MODES.split("<!-- modes:")[1].split("<!-- end -->")[0]
    [head] = [line for line in table.splitlines() if line.startswith("| recording ")]
    assert re.findall(r"\w+", head.replace("(catchup=off)", ""))[3:] == [*modes.MODES, "n"]


def test_the_part_of_the_gain_in_cpu_that_is_not_sending() -> None:
    runs = samples.result(["stock", "cork", "batch", "flow"], repeats=2, recordings=tuple(stored.SESSIONS))["runs"]
    for run in runs:
        seconds = {"stock": 1.0, "cork": 0.8, "batch": 0.6, "flow": 0.98 if run["recording"] == "linux-boot" else 0.5}[run["mode"]]
        run["cpu_seconds"] = {"user": seconds, "system": 0.0}
    rows = stored.cpu(Stored(known={"modes": {"runs": runs}})).splitlines()[2:]
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
