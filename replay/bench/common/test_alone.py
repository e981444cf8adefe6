# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two commands that use one tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_HOLD = "import sys\nfrom bench.common.steps import alone\nwith alone('each'):\n    print('has it', flush=True)\n    sys.stdin.read()\n"


def _start(cache: Path, stdin: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _HOLD], stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "SPICE_BENCH_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)})


def test_the_second_says_so_and_waits_until_the_first_is_gone(tmp_path: Path) -> None:
    with _start(tmp_path, subprocess.PIPE) as first:
        assert first.stdout and first.stdout.readline() == "has it\n"
        with _start(tmp_path, subprocess.DEVNULL) as second:
            assert second.stdout and second.stderr
            assert second.stderr.readline() == "another ./run each is at work here: waiting for it\n"
            first.kill()
            assert second.stdout.readline() == "has it\n"
