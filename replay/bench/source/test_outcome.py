# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.commands import testing
from bench.common import paths
from bench.common.errors import BenchError
from bench.source import outcome
from bench.source.outcome import Outcome

_XML = """<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase classname="a" name="right"/>
<testcase classname="a" name="wrong"><failure message="no">why</failure></testcase>
<testcase classname="a" name="broken"><error message="no">why</error></testcase>
<testcase classname="b" name="away"><skipped type="pytest.skip" message="no kernel">b.py:1</skipped></testcase>
</testsuite></testsuites>
"""


def _log(build: Path, *tests: dict[str, str]) -> None:
    file = outcome.meson_log(build)
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(test) + "\n" for test in tests))


def test_programs_are_counted_and_skipped_cases_by_reason(tmp_path: Path) -> None:
    _log(tmp_path,
         {"name": "all", "result": "OK", "stdout": "ok 1 /a/b\n"},
         {"name": "most", "result": "OK", "stdout": "ok 1 /a/b\nok 2 /a/c # SKIP no kernel\n"},
         {"name": "none", "result": "SKIP", "stdout": "ok 1 /d # SKIP no kernel\n"},
         {"name": "words", "result": "SKIP", "stdout": "", "stderr": "first\nwithout Opus\n"},
         {"name": "silent", "result": "SKIP", "stdout": ""},
         {"name": "spice / slow", "result": "TIMEOUT", "stdout": "\n".join(map(str, range(100)))})
    tests = outcome.of_meson(tmp_path)
    assert (tests.passed, tests.failed) == (2, ["slow"])
    assert tests.skipped == {"no kernel": ["most /a/c", "none /d"], "without Opus": ["words"], "no reason given": ["silent"]}
    assert tests.reasons() == ["    2  no kernel", "    1  no reason given", "    1  without Opus"]
    assert tests.summary == "2 passed, 1 failed, 4 skipped"
    assert outcome.last_words(tmp_path, 2) == ["--- slow: TIMEOUT", "98", "99"]


def test_of_pytest_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xml").write_text(_XML)
    tests = outcome.of_pytest(tmp_path / "xml")
    assert (tests.passed, tests.failed, tests.skipped) == (1, ["a::wrong", "a::broken"], {"no kernel": ["b::away"]})
    monkeypatch.setattr(outcome.paths, "build_dir", lambda: tmp_path)
    tests.write()
    assert outcome.read(outcome.file()) == tests


def test_what_did_not_run_has_nothing(tmp_path: Path) -> None:
    for tests in (outcome.of_meson(tmp_path), outcome.of_pytest(tmp_path / "none")):
        assert tests.summary == "0 passed, 0 failed, 0 skipped"
    assert outcome.last_words(tmp_path) == []


def test_what_passes_the_second_time_is_told() -> None:
    tests = Outcome()
    tests.add(Outcome(passed=5, failed=["a", "b"], skipped={"no kernel": ["c"]}), Outcome(passed=1, failed=["b"]))
    tests.add(Outcome(passed=1, failed=["d"]), None)
    assert (tests.summary, tests.failed, tests.flaky) == ("7 passed, 2 failed, 1 skipped", ["b", "d"], ["a"])


@pytest.mark.parametrize("failed, wrong", [([], None), (["a", "b"], "b failed"), (list("abcd"), "a, b, c, d failed")])
def test_few_are_run_once_more(failed: list[str], wrong: str | None) -> None:
    tests, runs = Outcome(), []

    def run(names: list[str]) -> Outcome:
        runs.append(names)
        return Outcome(passed=1, failed=["b"])
    if wrong:
        with pytest.raises(BenchError, match=f"^{wrong}$"):
            testing._tried(tests, Outcome(passed=2, failed=failed), run)
    else:
        assert testing._tried(tests, Outcome(passed=2), run) == "2"
    assert runs == ([failed] if len(failed) == 2 else [])


def test_a_test_that_fails_is_repeated_alone_and_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest's own name for it depends on the arguments."""
    (tmp_path / "test_few.py").write_text("""
import pathlib, pytest
def test_right(): pass
@pytest.mark.parametrize("name", ["a.b-c"])
def test_flaky(name):
    once = pathlib.Path(__file__).with_name("once")
    assert once.exists() or once.touch()
""")
    monkeypatch.setattr(paths, "build_dir", lambda: tmp_path)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tests = Outcome()
    assert testing._python_tests("report", [str(tmp_path / "test_few.py")], tests) == "2"
    assert tests.flaky == ["test_few::test_flaky[a.b-c]"]
    assert (tests.summary, (tmp_path / "report.xml").read_text().count("<testcase")) == ("2 passed, 0 failed, 0 skipped", 1)
    (tmp_path / "test_few.py").write_text("def test_wrong(): assert False")
    with pytest.raises(BenchError, match="^test_few::test_wrong failed$"):
        testing._python_tests("report", [str(tmp_path / "test_few.py")], tests)


def test_what_builds_runs_after_what_is_built_ahead() -> None:
    """Two builds in one folder disturb each other."""
    builds = re.compile(r"\b(?:bases\.with_tests|optional\.build|sanitized\.configure|sanitized\.for_threads)\(")
    found = {str(file.relative_to(paths.ROOT)) for folder in ("replay", "server") for file in (paths.ROOT / folder).rglob("test_*.py")
             if builds.search(file.read_text())}
    assert found == set(testing._NEED_BUILDS)
