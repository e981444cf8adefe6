# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's own tests pass on the patched server under AddressSanitizer and UndefinedBehaviorSanitizer, in every mode.

By itself: ./run test replay/bench/build/test_sanitized.py"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.build import mesontest, overlay, sanitized
from bench.common.steps import Steps
from bench.runs import modes

_UPSTREAMS_OWN = 26     # with smartcard


@pytest.mark.parametrize("mode", [mode for mode in modes.MODES if mode != modes.STOCK])
def test_upstreams_suite(mode: str, tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log")
    build = sanitized.configure(steps)
    upstreams = {name for name, project in mesontest.listed(build).items()
                 if project != mesontest.PROJECT} - overlay.tests()
    assert len(upstreams) >= _UPSTREAMS_OWN
    passed = mesontest.run_suite(f"upstream's tests under sanitizers in mode {mode}", build, upstreams, steps,
                                 rebuild=True, env={**sanitized.ENV, "SPICE_STREAM": mode})
    assert passed == len(upstreams)
