# SPDX-License-Identifier: LGPL-2.1-or-later
"""Results of ./run test: every test by name, and skipped ones by reason."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.common import paths

_SKIPPED_CASE = re.compile(r"^ok \d+ (\S+) # SKIP *(.*)$", re.MULTILINE)
_PASSED = {"OK", "EXPECTEDFAIL"}
_NO_REASON = "no reason given"


def file() -> Path:
    """The file with the results of the last ./run test."""
    return paths.build_dir() / "tests.json"


def meson_log(build: Path) -> Path:
    """The log of meson's last run in a build directory: one JSON object per test."""
    return build / "meson-logs" / "testlog.json"


@dataclass
class Outcome:
    """Counts. A C test is one program: if only one of its cases was skipped it passes, and the case is counted as skipped."""
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    flaky: list[str] = field(default_factory=list)      # failed, and passed when repeated: counted as passed, and listed

    @property
    def summary(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {sum(map(len, self.skipped.values()))} skipped"

    def reasons(self) -> list[str]:
        """One line per reason, the most frequent first."""
        return [f"{len(names):5}  {reason}" for reason, names in
                sorted(self.skipped.items(), key=lambda item: (-len(item[1]), item[0]))]

    def add(self, first: Outcome, again: Outcome | None) -> None:
        """Adds the tests of a part. `again`: its failed ones, repeated."""
        self.passed += first.passed + (again.passed if again else 0)
        self.failed += again.failed if again else first.failed
        self.flaky += [name for name in first.failed if again and name not in again.failed]
        for one in filter(None, (first, again)):
            for reason, names in one.skipped.items():
                self.skipped[reason] += names

    def write(self) -> None:
        file().write_text(json.dumps({"passed": self.passed, "failed": self.failed, "flaky": self.flaky, "skipped": self.skipped}, indent=1))


def of_meson(build: Path) -> Outcome:
    """Of meson's last run in a build directory."""
    found = Outcome()
    for test in _meson_tests(build):
        said = test.get("stdout") or ""
        cases = _SKIPPED_CASE.findall(said)
        for case, reason in cases:
            found.skipped[reason.strip() or _NO_REASON].append(f"{test['name']} {case}")
        if test["result"] == "SKIP":
            if not cases:
                words = (said + (test.get("stderr") or "")).strip().splitlines()
                found.skipped[words[-1] if words else _NO_REASON].append(test["name"])
        elif test["result"] in _PASSED:
            found.passed += 1
        else:
            found.failed.append(test["name"])
    return found


def of_pytest(xml: Path) -> Outcome:
    """Of what pytest wrote with --junitxml."""
    found = Outcome()
    for case in ElementTree.parse(xml).getroot().iter("testcase") if xml.is_file() else []:
        name = f"{case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            found.failed.append(name)
        elif skipped is not None:
            found.skipped[skipped.get("message") or _NO_REASON].append(name)
        else:
            found.passed += 1
    return found


def _meson_tests(build: Path) -> list[dict[str, Any]]:
    log = meson_log(build)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    tests: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for test in tests:      # "spice / test-x" if there are several projects; `meson test` accepts the last part only
        test["name"] = test["name"].rpartition(" / ")[2]
    return tests


def read(path: Path) -> Outcome:
    return Outcome(**json.loads(path.read_text()))


def last_words(build: Path, lines: int = 60) -> list[str]:
    """The end of the output of each C test that failed in meson's last run there."""
    found = []
    for test in _meson_tests(build):
        if test["result"] not in _PASSED | {"SKIP"}:
            said = ((test.get("stdout") or "") + (test.get("stderr") or "")).splitlines()
            found += [f"--- {test['name']}: {test['result']}", *said[-lines:]]
    return found
