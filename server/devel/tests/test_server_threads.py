# SPDX-License-Identifier: LGPL-2.1-or-later
"""No ThreadSanitizer report in tests of the library that start threads: two displays with a thread each, which share a client's
image dictionary; the display stage, while clients come and go.

The build is kept in build/threads. By itself: ./run test server/devel/tests/test_server_threads.py
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench.common.steps import Steps
from bench.source import sanitized

_SUPPRESSIONS = Path(__file__).with_name("tsan.supp")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sanitized.for_threads(Steps(tmp_path_factory.mktemp("threads") / "log"))


@pytest.mark.parametrize("name", sanitized.WITH_THREADS)
def test_no_report(name: str, build: Path) -> None:
    skips = [option for case in sanitized.WITH_THREADS[name] for option in ("-s", case)]
    done = subprocess.run([build / sanitized.SERVER_TESTS / name, *skips], capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "TSAN_OPTIONS": f"exitcode=66 suppressions={_SUPPRESSIONS}"})
    assert done.returncode == 0, done.stdout + done.stderr
