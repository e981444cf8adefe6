# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import re

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import conditions


@pytest.mark.parametrize(("table", "names"), [
    ("compressions", conditions.COMPRESSIONS), ("streamings", conditions.STREAMINGS), ("jpegs", conditions.JPEGS)])
def test_names_are_those_of_the_player(table: str, names: tuple[str, ...]) -> None:
    text = (paths.ROOT / "replay/player/player-options.c").read_text().partition(f"NamedValue {table}[]")[2].partition("};")[0]
    assert tuple(re.findall(r'\{ "([\w-]+)"', text)) == names


def test_options_of_the_player_are_passed_on() -> None:
    text = (paths.ROOT / "replay/player/player-options.c").read_text()
    asked = conditions.Conditions.read("compression=lz,jpeg=never,streaming=all,channels=port:1,show-surfaces,ahead,tls=1.2,slow-client=2")
    options = asked.player_options()
    assert options == ["--compression", "lz", "--jpeg", "never", "--streaming", "all", "--channels", "port:1", "--show-surfaces", "--ahead"]
    assert all(f'"{option.removeprefix("--")}"' in text for option in options if option.startswith("--"))
    assert conditions.Conditions().player_options() == []


@pytest.mark.parametrize("wrong", ["compression=zip", "jpeg", "streaming=on", "tls=1.1", "slow-client=0", "depth=8"])
def test_what_there_is_not_is_refused(wrong: str) -> None:
    with pytest.raises(BenchError, match="--with"):
        conditions.Conditions.read(wrong)
