# SPDX-License-Identifier: LGPL-2.1-or-later
"""The README shows tables of results/ as they are, and names only what there is."""

from __future__ import annotations

import re
import statistics

import pytest

from bench import makeresults, metrics, modes, paths, recordings, results

_COMPARE, _MODES = "<!-- compare: the table of results/compare.md -->\n", "<!-- modes: the first table of results/modes -->\n"
_END = "<!-- end -->"


def _page(name: str) -> str:
    """compare.md was in results/ itself."""
    new = paths.RESULTS / "first" / "compare.md"
    return (new if name == "compare.md" and new.is_file() else paths.RESULTS / name).read_text()


def _tables(text: str) -> list[str]:
    return re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)


@pytest.mark.parametrize(("mark", "page"), [(_COMPARE, "compare.md"), (_MODES, "modes/compare.md")])
def test_readme_shows_the_measured_table(mark: str, page: str) -> None:
    readme = (paths.ROOT / "README.md").read_text()
    shown = readme.split(mark)[1].split(_END)[0]
    assert _tables(shown) == _tables(_page(page))[:1]


def test_every_shipped_recording_is_in_the_table_of_modes() -> None:
    table = _tables((paths.ROOT / "results/modes/compare.md").read_text())[0]
    assert [name for name in recordings.manifest() if name != "tiny" and f"| {name} " not in table] == []
    assert re.findall(r"\w+", table.splitlines()[0])[3:] == list(modes.MODES)


_DISTANCES = (      # of the table: result for upstream and the fixed window, for flow; link, metric, as it is written
    (("distance", "flow"), "20M40ms", "wall", lambda value: f"{value:.1f} s"),
    (("distance", "flow"), "50M100ms", "wall", lambda value: f"{value:.1f} s"),
    (("distance", "flow"), "100M10ms", "wall", lambda value: f"{value:.1f} s"),
    (("beside-download",) * 2, "20M40ms", "own_share", lambda value: f"{value * 100:.0f} %"),
    (("age",) * 2, "2M100ms", "latency_p95", lambda value: f"{value / 1e3:.2f} s"),
    (("age",) * 2, "2M100ms", "age_p95", lambda value: f"{value / 1e3:.1f} s"))


def test_readme_tells_distances_as_measured() -> None:
    if made := makeresults.distances(paths.RESULTS):
        assert made in (paths.ROOT / "README.md").read_text()
        return

    def cell(result: str, mode: str, link: str, metric: str) -> float:
        runs = results.load(paths.RESULTS / result / "compare.json")["runs"]
        return statistics.median(metrics.values(
            [run for run in runs if (run["recording"], run["mode"], run["link"]) == ("linux-desktop", mode, link)], metric))

    lines = (paths.ROOT / "README.md").read_text().split("| linux-desktop | upstream |")[1].splitlines()[2:]
    for line, ((others, flows), link, metric, written) in zip(lines, _DISTANCES, strict=False):
        assert [part.strip() for part in line.split("|")[2:5]] == [
            written(cell(result, mode, link, metric))
            for result, mode in ((others, modes.STOCK), (others, "batch:window=400"), (flows, "flow"))], line


def test_readme_names_every_mode() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    assert [mode for mode in modes.MODES if f"| `{mode}` |" not in readme] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (paths.ROOT / target).exists()] == []
