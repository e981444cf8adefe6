# SPDX-License-Identifier: LGPL-2.1-or-later
"""The part that upstream reviews first stays small, as `./run patches lines` counts it."""

from __future__ import annotations

import re

import pytest

from bench.common import paths
from bench.series import lines

_MOST_CONSTANTS = {"tls": 4, "flow": 16, "catchup": 5, "display": 14, "stats": 0}
_MOST_NEW = {"tls": 1450}
_MOST_NEW_IN_A_PATCH = {"tls": 600, "catchup": 1250}
_MOST_HOOKS = {"tls": 199}


def test_the_stream_layer_does_not_grow_by_accident() -> None:
    for name, most in _MOST_CONSTANTS.items():
        assert lines.size(name).constants <= most, name
    for name, most in _MOST_NEW.items():
        assert lines.size(name).new <= most, name
    for name, most in _MOST_NEW_IN_A_PATCH.items():
        assert [f"{patch.name}: {one.new}" for patch, one in lines.sizes(name).items() if one.new > most] == []
    for name, most in _MOST_HOOKS.items():
        assert lines.size(name).hooks <= most, name


@pytest.mark.parametrize("name", ["tls", "catchup"])
def test_the_reading_order_has_todays_numbers(name: str) -> None:
    text = (paths.ROOT / f"patches/{name}/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{4}) \|.*\| (\d+) \| (\d+) \|", text, re.MULTILINE)
    assert rows == [(patch.name[:4], str(one.new), str(one.hooks)) for patch, one in lines.sizes(name).items()]


def test_a_line_that_the_series_removes_again_does_not_count() -> None:
    ours: list[bool] = []
    first = "\n@@ -3 +3,3 @@\n a\n+b\n+c\n@@ -9,2 +11,2 @@\n-x\n+y\n z\n"
    second = "\n@@ -4,2 +4,2 @@\n-b\n-c\n+d\n+e\n@@ -6,2 +6 @@\n f\n-g\n"
    assert lines._changed(first, ours, brought=False) == 4
    assert lines._changed(second, ours, brought=False) == 1      # two of its own for two, and one of upstream
    assert lines._changed("\n@@ -4,2 +3,0 @@\n-d\n-e\n@@ -10 +8 @@\n-y\n+w\n", ours, brought=False) == -2


def test_in_a_file_of_the_series_every_line_is_its_own() -> None:
    assert lines._changed("\n@@ -7,3 +7,2 @@\n a\n-b\n-c\n+d\n", [], brought=True) == -1


@pytest.mark.parametrize(("text", "numbers"), [
    ("#define MAX 64\n", (1, 0)),
    ("#define MAX 64  /* fact: RFC 1 */\n", (0, 1)),
    ("#define OTHER UINT64_MAX\n#define NAME \"9\"\n", (0, 0)),
    ("enum : uint32_t {\n    /* 3 of them */\n    CELL = 32, MOST = 4 * 1024,\n    SIZE = 8,   /* fact: RFC 1 */\n};\n", (2, 1)),
    ("enum { MORE = 1 << 0, PROBE = UINT32_C(1) << 31, NONE, ALL = UINT32_MAX };\n", (0, 0)),
])
def test_numbers_with_a_name_are_counted(text: str, numbers: tuple[int, int]) -> None:
    assert lines._numbers(text) == numbers
