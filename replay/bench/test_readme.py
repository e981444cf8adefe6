# SPDX-License-Identifier: LGPL-2.1-or-later
"""The README shows tables of results/ as they are, and names only what there is."""

from __future__ import annotations

import re

import pytest

from bench import modes, paths, recordings

_COMPARE, _MODES = "<!-- compare: the table of results/compare.md -->\n", "<!-- modes: the first table of results/modes -->\n"
_END = "<!-- end -->"


def _tables(text: str) -> list[str]:
    return re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)


@pytest.mark.parametrize(("mark", "page"), [(_COMPARE, "compare.md"), (_MODES, "modes/compare.md")])
def test_readme_shows_the_measured_table(mark: str, page: str) -> None:
    readme = (paths.ROOT / "README.md").read_text()
    shown = readme.split(mark)[1].split(_END)[0]
    assert _tables(shown) == _tables((paths.ROOT / "results" / page).read_text())[:1]


def test_every_shipped_recording_is_in_the_table_of_modes() -> None:
    table = _tables((paths.ROOT / "results/modes/compare.md").read_text())[0]
    assert [name for name in recordings.manifest() if name != "tiny" and f"| {name} " not in table] == []
    assert re.findall(r"\w+", table.splitlines()[0])[3:] == list(modes.MODES)


def test_readme_names_every_mode() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    assert [mode for mode in modes.MODES if f"| `{mode}` |" not in readme] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (paths.ROOT / target).exists()] == []
