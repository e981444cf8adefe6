# SPDX-License-Identifier: LGPL-2.1-or-later
"""The modes and settings are those of the library."""

from __future__ import annotations

import re

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.runs import modes
from bench.source import newfiles, upstream

_TEXT = "".join((paths.ROOT / kept).read_text(encoding="utf-8") for place, kept in newfiles.sources(upstream.built()).items()
                if place.parent.name == "server" and place.suffix in (".cpp", ".h"))


def _constant(name: str) -> int:
    found = re.search(rf"^#define {name} (\d+)(?: .*)?$", _TEXT, flags=re.MULTILINE)
    assert found, name
    return int(found[1])


def _limits(setting: str) -> list[int]:
    """What the library's parser is given for it."""
    found = re.search(rf'RedStreamSetting \w+\("{setting}", (\w+), (\w+)( - 1)?, ', _TEXT)
    assert found, setting
    least, most = (int(name) if name.isdigit() else 2**32 - 1 if name == "UINT32_MAX" else _constant(name) for name in found.groups()[:2])
    return [least, most - bool(found[3])]


def test_every_mode_is_one_of_the_library() -> None:
    assert {*re.findall(r'RedStreamMode \w+\("(\w+)"', _TEXT), modes.STOCK} == set(modes.MODES)


@pytest.mark.parametrize("setting", ["threshold", "record", "window", "hold"])
def test_options_have_the_librarys_limits(setting: str) -> None:
    least, most = _limits(setting)
    for good in (least, most):
        assert modes.check(f"batch:{setting}={good}") == f"batch:{setting}={good}"
    for bad in (least - 1, most + 1, "", "x", "-1"):
        with pytest.raises(BenchError, match="has no setting"):
            modes.check(f"batch:{setting}={bad}")


def test_the_modes_that_catch_up_are_the_librarys() -> None:
    assert re.findall(r'RedStreamSetting \w+\("catchup", "(\w+)"\)', _TEXT) == [name for name in modes.MODES if modes.catches_up(name)]


def test_flow_has_no_window() -> None:
    with pytest.raises(BenchError, match="mode flow has no setting 'window=400'"):
        modes.check("flow:window=400")


def test_options_together() -> None:
    assert modes.check("gather:threshold=64:record=auto") == "gather:threshold=64:record=auto"
    with pytest.raises(BenchError, match="mode gather has no setting 'records=auto'"):
        modes.check("gather:threshold=64:records=auto")
