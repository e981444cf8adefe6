# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is changed in a file, and which changes a test notices."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.series import mutants

_PROJECT = """project('tried', 'cpp')
tried = static_library('tried', 'tried.cpp')
test('quick', executable('quick', 'quick.cpp', link_with : tried))
test('other', executable('other', 'other.cpp', link_with : tried))
"""
_TRIED = """int limited(int value)
{
    if (value > 9) {
        return 5;
    }
    return value;
}

int never_tested(int value)
{
    return value + 1;
}
"""


def changes(code: str) -> list[str]:
    return [mutant.change for mutant in mutants.mutants(code)]


def test_conditions_operators_and_calls_are_changed() -> None:
    assert changes("    if (a.is_b() && (c || !d)) {\n") == [
        "a.is_b() -> true", "&& -> ||", "(c || !d) -> true", "c -> false", "|| -> &&", "!d -> false"]
    assert changes("    while (left > 0) {\n") == ["left > 0 -> false", "> -> >="]
    assert changes("    return a || b;\n") == ["a -> false", "|| -> &&", "b -> false"]
    assert changes("    return a;\n") == []
    assert changes("{\n    priv->thing.add(a - 1,\n                    b);\n}\n") == ["priv->thing.add(a - 1, b) deleted", "- 1 -> - 0"]


def test_comments_text_preprocessor_and_what_is_no_call_stay() -> None:
    assert changes('/* if (a > b) */ // a && b\n#if A == 1\n    g_warning("a == b");\n') == ['g_warning("a == b") deleted']
    assert changes("{\n    region_destroy(&region);\n    return f(a);\n    std::vector<int> list(3);\n}\n") == []
    assert changes("    const bool both = one() &&\n        two(a);\n") == ["one() -> true", "&& -> ||", "two(a) -> true"]


def test_a_change_keeps_the_lines() -> None:
    code = "{\n    add(a,\n        b);\n    end();\n}\n"
    assert [mutant.of(code).count("\n") for mutant in mutants.mutants(code)] == [5, 5]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "meson.build").write_text(_PROJECT)
    (tmp_path / "tried.cpp").write_text(_TRIED)
    (tmp_path / "quick.cpp").write_text("int limited(int);\nint main() { return limited(20) != 5 || limited(1) != 1; }\n")
    (tmp_path / "other.cpp").write_text("int main() { return 0; }\n")
    for argv in (["meson", "setup", tmp_path / "build", tmp_path], ["ninja", "-C", tmp_path / "build"]):
        subprocess.run(argv, check=True, capture_output=True)
    return tmp_path / "build"


def test_what_no_test_notices_survives_and_is_tried_again(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = build.parent / "tried.cpp"

    def run() -> dict[str, str]:
        with tempfile.TemporaryDirectory(dir=tmp_path) as work:
            found = mutants.Trial(build, source, build / "record", Path(work)).run(2)
        return {mutant.change: verdict for mutant, verdict in found.items()}

    first = run()
    assert first == {"value > 9 -> true": "quick", "value > 9 -> false": "quick", "> -> >=": "survived", "+ 1 -> + 0": "survived"}
    assert "4 changes, 4 to try with 1 tests" in capsys.readouterr().err
    assert run() == first
    assert "4 changes, 2 to try with 1 tests" in capsys.readouterr().err


def test_more_than_one_in_ten_without_a_reason_is_too_much(capsys: pytest.CaptureFixture[str]) -> None:
    every = mutants.mutants("    if (a > b) {\n")
    found = {every[0]: "test-a", every[1]: "test-a", every[2]: "survived"}
    assert mutants.report("a.cpp", found, {}) == 1
    assert capsys.readouterr().out.startswith("a.cpp:1: > -> >=\n    if (a > b) {\na.cpp: of 3 changes 2 were noticed")
    assert mutants.report("a.cpp", found, {("a.cpp", "> -> >=", "if (a > b) {"): "equal is as good"}) == 0
    assert mutants.report("a.cpp", {every[0]: "no code", every[1]: "same code"}, {}) == 0


def test_a_reason_belongs_to_a_line_of_code(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("# FILE ...\na.cpp\t> -> >=\tif (a > b) {\tequal is as good\n")
    assert mutants.accepted(file) == {("a.cpp", "> -> >=", "if (a > b) {"): "equal is as good"}
    file.write_text("a.cpp > -> >=\n")
    with pytest.raises(BenchError, match="not FILE, CHANGE, CODE and REASON"):
        mutants.accepted(file)
    mutants.accepted()
