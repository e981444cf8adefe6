# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table made from the messages of fixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.series import faults
from bench.source import brings

_GOOD = ("Why.\n\nFixes-class: security, double free\nTrigger: client, with\n its ticket\nSeverity: high\nReleases: all\n"
         "Upstream: not reported\nBrings: tests/test-x.cpp")


def patch(folder: Path, body: str, name: str = "0001-a-B.patch") -> Path:
    file = folder / name
    file.write_text(f"Subject: [PATCH] a: B\n\n{body}\n---\n\ndiff --git a/c b/c\n")
    return file


def test_a_row_has_what_the_message_says_and_a_mail_has_none_of_it(tmp_path: Path) -> None:
    assert faults.row(patch(tmp_path, _GOOD)) == [
        "0001", "a: B", "security: double free", "client, with its ticket", "**high**", "all", "not reported", "test-x"]
    assert brings.without(_GOOD) == "Why."


def test_what_is_needed_most_is_first(tmp_path: Path) -> None:
    found = [faults.row(patch(tmp_path, _GOOD.replace(*change), name)) for change, name in (
        (("security", "build"), "0001-a.patch"), (("high", "low"), "0002-a.patch"), (("high", "critical"), "0003-a.patch"),
        (("x", "x"), "0004-a.patch"))]
    assert [cells[0] for cells in sorted(found, key=faults.order)] == ["0003", "0004", "0002", "0001"]


@pytest.mark.parametrize(("change", "complaint"), [
    (("Severity: high\n", ""), "no line 'Severity:'"),
    (("security, double free", "security"), "'Fixes-class: security' is not one of"),
    (("security", "safety"), "'Fixes-class: safety, double free' is not one of"),
    (("high", "very"), "'Severity: very' is not one of"),
])
def test_what_is_missing_or_wrong_is_named(change: tuple[str, str], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=complaint):
        faults.row(patch(tmp_path, _GOOD.replace(*change)))


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(BenchError, match="no place for the table"):
        faults.page("# title\n")
