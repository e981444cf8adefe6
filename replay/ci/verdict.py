# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which skipped tests are accepted: those whose reason is in skips.txt."""

from __future__ import annotations

import re
from pathlib import Path

from bench.source.outcome import Outcome

ALLOWED = Path(__file__).with_name("skips.txt")


def allowed(text: str) -> list[re.Pattern[str]]:
    """One regular expression per line; it must match the whole reason."""
    return [re.compile(line) for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]


def judge(tests: Outcome, patterns: list[re.Pattern[str]]) -> Outcome:
    """The same results, with tests skipped for other reasons as failed."""
    judged = Outcome(tests.passed, list(tests.failed), flaky=list(tests.flaky))
    for reason, names in tests.skipped.items():
        if any(pattern.fullmatch(reason) for pattern in patterns):
            judged.skipped[reason] = names
        else:
            judged.failed += [f"{name} (skipped, which replay/ci/skips.txt does not allow: {reason})" for name in names]
    return judged
