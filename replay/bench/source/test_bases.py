# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patched server builds on every release, and upstream's tests pass on it in every mode.

Slow at first: builds are kept in the cache, and made again when a patch or a file of server/ changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.steps import Steps
from bench.runs import modes
from bench.source import bases, mesontest, newfiles, upstream

_MODES = [mode for mode in modes.MODES if mode != modes.STOCK]
_UPSTREAMS_OWN = 26     # with smartcard


@pytest.fixture(scope="module", params=upstream.RELEASES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bases.Base, set[str]]:
    """A release, and the names of upstream's tests."""
    base = bases.with_tests(request.param, Steps(tmp_path_factory.mktemp("bases") / "log"))
    listed = mesontest.listed(base.build)
    return base, {name for name, project in listed.items() if project != mesontest.PROJECT} - newfiles.tests()


@pytest.mark.parametrize("mode", _MODES)
def test_upstreams_suite(built: tuple[bases.Base, set[str]], mode: str, tmp_path: Path) -> None:
    base, upstreams = built
    assert len(upstreams) >= _UPSTREAMS_OWN
    passed = mesontest.run_suite(f"upstream's tests of {base.name} in mode {mode}", base.build, upstreams, Steps(tmp_path / "log"),
                                 env={"SPICE_STREAM": mode})
    assert passed == len(upstreams)
