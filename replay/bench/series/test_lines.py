# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each patch stays small, as `./run patches lines` counts it."""

from __future__ import annotations

import re

import pytest

from bench.build import upstream
from bench.common import paths
from bench.series import lines

# Lines of a patch with its new files and tests. A longer one is not reviewed.
_MOST = 1000


def test_a_patch_is_short_enough_to_be_reviewed() -> None:
    assert [f"{name}/{patch.name[:4]}: {total}" for name in upstream.exported() for patch, one in lines.sizes(name).items()
            if (total := one.new + one.hooks + one.tests) > _MOST] == []


@pytest.mark.parametrize("name", upstream.exported())
def test_the_reading_order_has_todays_numbers(name: str) -> None:
    file = paths.ROOT / f"patches/{name}/README.md"
    rows = re.findall(r"^\| (\d{4}) \|.*\| (\d+) \| (\d+) \|", file.read_text(encoding="utf-8"), re.MULTILINE) if file.is_file() else []
    assert rows in ([], [(patch.name[:4], str(one.new), str(one.hooks)) for patch, one in lines.sizes(name).items()])


def test_a_line_that_the_series_removes_again_does_not_count() -> None:
    ours: list[bool] = []
    first = "\n@@ -3 +3,3 @@\n a\n+b\n+c\n@@ -9,2 +11,2 @@\n-x\n+y\n z\n"
    second = "\n@@ -4,2 +4,2 @@\n-b\n-c\n+d\n+e\n@@ -6,2 +6 @@\n f\n-g\n"
    assert lines._changed(first, ours) == 4
    assert lines._changed(second, ours) == 1      # two of its own for two, and one of upstream
    assert lines._changed("\n@@ -4,2 +3,0 @@\n-d\n-e\n@@ -10 +8 @@\n-y\n+w\n", ours) == -2
