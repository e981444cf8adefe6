# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run test: everything that can be tested, and one line at the end that says how it went."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.build import bases, mesontest, overlay, sanitized, setup, upstream
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.common.steps import Steps

VERBATIM = True     # the arguments are pytest's
_AT_ONCE = 4        # files of tests at the most: many start several processes


def execute(args: argparse.Namespace) -> int:
    if args.arguments[:1] in (["-h"], ["--help"]):
        print("usage: ./run test [ARGUMENT...]\n\nBuilds everything and runs every test: upstream's on every release in "
              "every mode, ours in C and Python,\nand those in C again under sanitizers. With arguments, for pytest, the "
              "Python tests alone.\n\nexamples: ./run test; ./run test replay/bench/runs/test_modes.py; ./run test -k relay")
        return 0
    began = time.monotonic()
    setup.setup()
    if args.arguments:
        return run_pytest(args.arguments)
    steps = Steps(paths.build_dir() / "test.log")
    parts: list[tuple[str, Callable[[], str]]] = [
        ("builds of every release", lambda: _build_releases(steps)),
        ("C tests", lambda: _c_tests(steps)),
        ("sanitizers", lambda: _sanitizers(steps)),
        ("Python tests", _python_tests),
    ]
    passed, failed = [], []
    for name, part in parts:
        try:
            passed.append(f"{name}: {part()}")
        except BenchError as error:
            steps.say(f"FAILED: {error}")
            failed.append(name)
    took = duration(time.monotonic() - began)
    if failed:
        print(f"FAILED after {took}: {', '.join(failed)}")
        return 1
    print(f"all tests passed in {took} ({'; '.join(passed)})")
    return 0


def _build_releases(steps: Steps) -> str:
    for version in upstream.RELEASES:
        bases.with_tests(version, steps)
    return str(len(upstream.RELEASES))


def _c_tests(steps: Steps) -> str:
    build = paths.build_dir()
    return str(mesontest.run_suite("C tests", build, mesontest.listed(build), steps, rebuild=True))


def _sanitizers(steps: Steps) -> str:
    build = sanitized.configure(steps)
    own = {name for name, project in mesontest.listed(build).items()
           if project == mesontest.PROJECT or name in overlay.tests()}
    return str(mesontest.run_suite("our own tests under sanitizers", build, own, steps, rebuild=True,
                                   env=sanitized.ENV))


def _python_tests() -> str:
    # One more than there are processors, for a test often waits: for a link, or for a machine that boots. Those of one file
    # one after the other: they share what they build.
    workers = min((os.cpu_count() or 1) + 1, _AT_ONCE)
    if run_pytest(["-p", "xdist.plugin", "--numprocesses", str(workers), "--dist", "loadfile"]):
        raise BenchError("Python tests: see above")
    return "all"


def run_pytest(arguments: list[str]) -> int:
    """Of the whole tree unless the arguments name a file or a folder. Its status."""
    named = any(Path(argument.split("::")[0]).exists() for argument in arguments)
    folders = [] if named else [paths.ROOT / "replay", paths.ROOT / "server"]
    # pytest leaves out what is called build, as bench/build is
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "norecursedirs=.*",
                           *folders, *arguments],
                          env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, check=False).returncode
