# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's own tests pass on the patched server under AddressSanitizer and UndefinedBehaviorSanitizer, in every mode.

By itself: ./run test replay/bench/source/test_sanitized.py"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.steps import Steps
from bench.runs import modes
from bench.source import mesontest, newfiles, sanitized

_UPSTREAMS_OWN = 26     # with smartcard


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """The build directory, and the names of upstream's tests."""
    build = sanitized.configure(Steps(tmp_path_factory.mktemp("sanitized") / "log"))
    return build, {name for name, project in mesontest.listed(build).items() if project != mesontest.PROJECT} - newfiles.tests()


@pytest.mark.parametrize("mode", [mode for mode in modes.MODES if mode != modes.STOCK])
def test_upstreams_suite(built: tuple[Path, set[str]], mode: str, tmp_path: Path) -> None:
    build, upstreams = built
    assert len(upstreams) >= _UPSTREAMS_OWN
    passed = mesontest.run_suite(f"upstream's tests under sanitizers in mode {mode}", build, upstreams, Steps(tmp_path / "log"),
                                 rebuild=True, env={**sanitized.ENV, "SPICE_STREAM": mode})
    assert passed == len(upstreams)
