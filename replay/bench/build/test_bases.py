# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patched server builds on every release, and upstream's tests pass on it in every mode.

Slow at first: builds are kept in the cache, and made again when a patch or an overlay file changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.build import bases, mesontest, overlay, upstream
from bench.common.steps import Steps
from bench.runs import modes

_MODES = [mode for mode in modes.MODES if mode != modes.STOCK]
_UPSTREAMS_OWN = 26     # with smartcard


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("version", upstream.RELEASES)
def test_upstreams_suite(version: str, mode: str, tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log")
    base = bases.with_tests(version, steps)
    listed = mesontest.listed(base.build)
    upstreams = {name for name, project in listed.items() if project != mesontest.PROJECT} - overlay.tests()
    assert len(upstreams) >= _UPSTREAMS_OWN
    passed = mesontest.run_suite(f"upstream's tests of {base.name} in mode {mode}", base.build, upstreams, steps,
                                 env={"SPICE_STREAM": mode})
    assert passed == len(upstreams)
