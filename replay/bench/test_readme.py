# SPDX-License-Identifier: LGPL-2.1-or-later
"""The README shows the table of results/compare.md as it is, and names only what there is."""

from __future__ import annotations

import re

from bench import modes, paths

_BEGIN, _END = "<!-- compare: the table of results/compare.md -->\n", "<!-- end -->"


def _tables(text: str) -> list[str]:
    return re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)


def test_readme_shows_the_measured_table() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    shown = readme.split(_BEGIN)[1].split(_END)[0]
    assert _tables(shown) == _tables((paths.ROOT / "results/compare.md").read_text())[:1]


def test_readme_names_every_mode() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    assert [mode for mode in modes.MODES if f"| `{mode}` |" not in readme] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    readme = (paths.ROOT / "README.md").read_text()
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (paths.ROOT / target).exists()] == []
