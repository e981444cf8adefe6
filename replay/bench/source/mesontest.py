# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the meson tests of a build directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps
from bench.source import outcome
from bench.source.outcome import Outcome

PROJECT = "spice-batch"     # the suite of our own programs' tests

_SLOW_MACHINE = "4"
_PROCESSES = 3 * (os.cpu_count() or 1)      # tests at a time: they mostly wait


@cache
def own_loopback(*more: str) -> tuple[str, ...]:
    """A prefix that runs a command in a network namespace of its own, as upstream's tests listen on fixed ports, and with `more`
    options of unshare. Empty where that is not allowed; the tests may then collide with others."""
    user = ["--user", "--map-root-user"] if os.geteuid() else []
    inside = ["unshare", *user, "--net", *more, "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]
    if shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 0:
        return tuple(inside)
    return ()


def tests(build: Path) -> list[dict[str, Any]]:
    # introspection shows the last configuration, so configure first. An error here occurs again when the project is built.
    subprocess.run(["ninja", "-C", build, "build.ninja"], capture_output=True, check=False)
    done = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{build} is not a build directory of meson: run ./run setup")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def listed(build: Path) -> dict[str, str]:
    """The tests of a build directory: name -> project."""
    return {test["name"]: test["suite"][0].split(":")[0] for test in tests(build)}


def programs(build: Path) -> list[str]:
    """What ninja has to build there for its tests."""
    return sorted({str(program.relative_to(build)) for test in tests(build)
                   if (program := Path(test["cmd"][0])).is_relative_to(build)})


def run(title: str, build: Path, names: Iterable[str], steps: Steps, *, rebuild: bool = False, env: Mapping[str, str] | None = None,
        inside: tuple[Sequence[str], Path] | None = None) -> Outcome:
    """Runs the tests of these names (none: all), rebuilt first if wanted. Raises BenchError, one line, if none was run. `inside`: a prefix
    that runs a command elsewhere, without other programs on its ports, and the build directory's name there."""
    prefix, folder = inside or (own_loopback(), build)
    outcome.meson_log(build).unlink(missing_ok=True)
    try:
        steps.run(title, [*prefix, "meson", "test", "-C", folder, "--num-processes", str(_PROCESSES), "--timeout-multiplier", _SLOW_MACHINE,
                          *([] if rebuild else ["--no-rebuild"]), *sorted(names)], quiet=True, env=env)
    except StepFailed:
        if not outcome.of_meson(build).failed:
            raise
    found = outcome.of_meson(build)
    if not (found.passed or found.failed or found.skipped):
        raise BenchError(f"{title}: meson has no such tests: run ./run setup")
    return found


def run_suite(title: str, build: Path, names: Iterable[str], steps: Steps, **how: Any) -> int:
    """As run(). Returns how many passed; raises BenchError, one line, that names those that failed."""
    found = run(title, build, names, steps, **how)
    if found.failed:
        raise BenchError(f"{title}: {', '.join(found.failed)} failed (log: {steps.log})")
    return found.passed
