# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the meson tests of a build directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps

PROJECT = "spice-batch"     # the suite of our own programs' tests

_BAD = re.compile(r"^ *\d+/\d+ (?:\S+ / )?(\S+) +(?:FAIL|TIMEOUT|ERROR)\b")
_SLOW_MACHINE = "4"
_PROCESSES = 3 * (os.cpu_count() or 1)      # tests at a time: they mostly wait


@cache
def own_loopback() -> tuple[str, ...]:
    """A prefix that runs a command in a network namespace of its own, as upstream's tests listen on fixed ports. Empty where that
    is not allowed; the tests may then collide with others."""
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    inside = [*unshare, "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]
    if shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 0:
        return tuple(inside)
    return ()


def _tests(build: Path) -> list[dict[str, Any]]:
    # introspection shows the last configuration, so configure first. An error here occurs again when the project is built.
    subprocess.run(["ninja", "-C", build, "build.ninja"], capture_output=True, check=False)
    done = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{build} is not a build directory of meson: run ./run setup")
    tests: list[dict[str, Any]] = json.loads(done.stdout)
    return tests


def listed(build: Path) -> dict[str, str]:
    """The tests of a build directory: name -> project."""
    return {test["name"]: test["suite"][0].split(":")[0] for test in _tests(build)}


def programs(build: Path) -> list[str]:
    """What ninja has to build there for its tests."""
    return sorted({str(program.relative_to(build)) for test in _tests(build)
                   if (program := Path(test["cmd"][0])).is_relative_to(build)})


def run_suite(title: str, build: Path, names: Iterable[str], steps: Steps, *, rebuild: bool = False,
              env: Mapping[str, str] | None = None, inside: Sequence[str] | None = None) -> int:
    """Runs the tests of these names (none: all), rebuilt first if wanted. Returns how many passed; raises BenchError, one line,
    that names those that failed. `inside`: a prefix that runs a command elsewhere, without other programs on its ports."""
    argv = [*(own_loopback() if inside is None else inside), "meson", "test", "-C", build, "--num-processes", str(_PROCESSES),
            "--timeout-multiplier", _SLOW_MACHINE, *([] if rebuild else ["--no-rebuild"]), *sorted(names)]
    try:
        output = steps.run(title, argv, quiet=True, env=env)
    except StepFailed as failure:
        bad = [found[1] for found in map(_BAD.match, failure.output) if found]
        if not bad:
            raise
        raise BenchError(f"{title}: {', '.join(bad)} failed (log: {steps.log})") from None
    counted = re.search(r"^Ok: +(\d+)", "\n".join(output), re.MULTILINE)
    if not counted:
        raise BenchError(f"{title}: meson has no such tests: run ./run setup")
    return int(counted[1])
