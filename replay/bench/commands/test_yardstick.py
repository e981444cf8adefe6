# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

from typing import Any

from bench.commands import yardstick


def _run(p95: float | None, reason: str | None = None) -> dict[str, Any]:
    seen = None if p95 is None else {"age": {"p95": p95, "max": 2 * p95}, "recovery": []}
    return {"recording": "tiny", "link": "2M100ms", "repeat": 1, "seen": seen, "bytes": 1_500_000, "packets": 9, "invalid_reason": reason}


def test_a_row_is_the_median_of_the_runs_that_count() -> None:
    document = {"command": ["./run", "yardstick", "tiny"], "version": "Xvnc 1", "system": "Debian",
                "runs": [_run(100), _run(300), _run(200), _run(None, "the viewer does not connect")]}
    text = yardstick.page(document)
    row = next(line for line in text.splitlines() if line.startswith("| tiny"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["tiny", "2M100ms", "vnc", "200.0", "400.0", "1.50 MB", "3/4"]
    assert "- tiny, 2M100ms: the viewer does not connect" in text
