# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run test: all tests, and one line of totals at the end."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.common.steps import GB, Steps, require_space
from bench.source import bases, mesontest, newfiles, outcome, sanitized, setup, upstream
from bench.source.outcome import Outcome

VERBATIM = True     # the arguments are pytest's
_AT_ONCE = 4        # test files at a time, at most: many start several processes
_SPACE = 6 * GB   # disk space for a tree without builds
_FUZZ = 120         # seconds
_FEW = 3            # at most so many failed tests of a part are repeated
# The Python tests that need more than ./run setup builds.
_NEED_BUILDS = ("replay/bench/source/test_bases.py", "replay/bench/source/test_sanitized.py", "replay/player/test_threads.py",
                "server/devel/tests/test_server_threads.py")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Builds everything and runs all tests: upstream's on every release in every mode, ours in C and Python, the C tests "
                          "again under sanitizers. With arguments: the Python tests only. Tests of the library alone: meson test -C build.")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="of pytest: files, folders, options")


def execute(args: argparse.Namespace) -> int:
    began = time.monotonic()
    if not sanitized.build_dir().is_dir():
        require_space(paths.ROOT, _SPACE, "remove something, or clone the tree where there is more")
    setup.setup()
    if args.arguments:
        return run_pytest(args.arguments)
    steps = Steps(paths.build_dir() / "test.log")
    tests = Outcome()
    outcome.file().unlink(missing_ok=True)
    with contextlib.suppress(BenchError):       # here, as tests need them, too; these report errors
        for version in upstream.RELEASES:
            upstream.protocol_environment(version, steps)
            upstream.fetch(version, steps)
    ahead = multiprocessing.get_context("fork").Process(target=_build_ahead, daemon=True)
    ahead.start()
    fuzzing = _Fuzzing(steps)
    needed = [str(paths.ROOT / file) for file in _NEED_BUILDS]
    parts: list[tuple[str, Callable[[], str]]] = [
        ("C tests", lambda: _c_tests(steps, tests)),
        ("Python tests", lambda: _python_tests("pytest", [f"--ignore={file}" for file in needed], tests)),
        ("builds of every release", lambda: _build_releases(ahead, steps)),
        ("fuzzing begins", fuzzing.begin),
        ("optional series", lambda: _optional(steps, tests)),
        ("sanitizers", lambda: _sanitizers(steps, tests)),
        ("Python tests of these builds", lambda: _python_tests("pytest-builds", needed, tests)),
        ("fuzzing", fuzzing.end),
    ]
    passed, failed = [], []
    with contextlib.closing(fuzzing):
        for name, part in parts:
            known = len(tests.failed)
            try:
                passed.append(f"{name}: {part()}")
            except BenchError as error:
                steps.say(f"FAILED: {error}")
                failed.append(name)
                if len(tests.failed) == known:      # it did not come to its tests
                    tests.failed.append(name)
    tests.write()
    for line in ["skipped:", *tests.reasons()] if tests.skipped else []:
        print(line)
    if tests.flaky:
        print(f"flaky, passed when run once more: {', '.join(tests.flaky)}")
    took = duration(time.monotonic() - began)
    if failed:
        print(f"FAILED after {took}: {', '.join(failed)}")
    else:
        print(f"all tests passed in {took} ({'; '.join(passed)})")
    print(tests.summary)
    return 1 if failed else 0


def _build_ahead() -> None:
    """Builds, while the first parts often wait, what the others need. These build it again, which takes seconds, and report errors."""
    os.nice(10)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        steps = Steps(paths.build_dir() / "test-ahead.log")

        def build_sanitized() -> None:
            build = sanitized.configure(steps)
            steps.run("building the sanitized project", ["ninja", "-C", build, *mesontest.programs(build)])

        builds: list[Callable[[], object]] = [
            build_sanitized, lambda: sanitized.for_threads(steps),
            *(partial(bases.with_tests, version, steps) for version in upstream.RELEASES),
            *(partial(sanitized.with_optional, name, steps) for name in upstream.optional())]
        for build in builds:
            with contextlib.suppress(BenchError):
                build()


def _build_releases(ahead: BaseProcess, steps: Steps) -> str:
    ahead.join()
    for version in upstream.RELEASES:
        bases.with_tests(version, steps)
    return str(len(upstream.RELEASES))


def _c_tests(steps: Steps, tests: Outcome) -> str:
    build = paths.build_dir()
    return _suite("C tests", build, mesontest.listed(build), steps, tests)


def _optional(steps: Steps, tests: Outcome) -> str:
    """Tests the optional series, in builds of their own, under sanitizers."""
    return ", ".join(_suite(f"the tests of {name}", sanitized.with_optional(name, steps), newfiles.tests([name]), steps,
                            tests, sanitized.ENV) for name in upstream.optional())


def _sanitizers(steps: Steps, tests: Outcome) -> str:
    build = sanitized.configure(steps)
    own = {name for name, project in mesontest.listed(build).items()
           if project == mesontest.PROJECT or name in newfiles.tests()}
    return _suite("our own tests under sanitizers", build, own, steps, tests, sanitized.ENV)


class _Fuzzing:
    """The fuzzer of the display channel, under sanitizers, beside the other parts: it mostly waits. The same seeds each time."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._log = paths.build_dir() / "fuzz-display.log"
        self._child: subprocess.Popen[bytes] | None = None

    def begin(self) -> str:
        build = sanitized.configure(self._steps)
        program = f"{sanitized.SERVER_TESTS}/fuzz-display"
        self._steps.run("building the fuzzer", ["ninja", "-C", build, program], quiet=True)
        with self._log.open("wb") as log:
            self._child = subprocess.Popen(["nice", "-n", "10", build / program, "--time", str(_FUZZ)],
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **sanitized.ENV})
        return f"for {_FUZZ} s"

    def end(self) -> str:
        if not self._child:
            raise BenchError("the fuzzer was not built")
        status = self._child.wait()
        lines = self._log.read_text(errors="replace").splitlines()
        if status:
            told = [line for line in lines if line.startswith("FAILED")]
            raise BenchError(f"fuzzing: {'; '.join(told) or f'status {status}'} (log: {self._log})")
        return lines[-1]

    def close(self) -> None:
        if self._child and self._child.poll() is None:
            self._child.terminate()
            self._child.wait()


def _suite(title: str, build: Path, names: Iterable[str], steps: Steps, tests: Outcome,
           env: Mapping[str, str] | None = None) -> str:
    def run(what: str, chosen: Iterable[str]) -> Outcome:
        found = mesontest.run(what, build, chosen, steps, rebuild=True, env=env)
        if found.failed:
            for line in [*outcome.last_words(build), f"FAILED: {what}: {', '.join(found.failed)} failed (log: {steps.log})"]:
                steps.say(line)
        return found
    return _tried(tests, run(title, names), lambda failed: run(f"{title}, once more", failed))


def _tried(tests: Outcome, first: Outcome, run: Callable[[list[str]], Outcome]) -> str:
    """Repeats failed tests if they are few. One that passes then is not the fault of this change, and is listed."""
    again = run(first.failed) if 0 < len(first.failed) <= _FEW else None
    tests.add(first, again)
    if failed := (again or first).failed:
        raise BenchError(f"{', '.join(failed)} failed")
    return str(first.passed + (again.passed if again else 0))


def _python_tests(name: str, which: list[str], tests: Outcome) -> str:
    # One more than there are processors, for a test often waits: for a link, or for a machine that boots. Those of one file
    # one after the other: they share what they build.
    workers = min((os.cpu_count() or 1) + 1, _AT_ONCE)
    report = paths.build_dir() / f"{name}.xml"

    def run(*arguments: str) -> Outcome:
        report.unlink(missing_ok=True)
        status = run_pytest([*which, *arguments, f"--junitxml={report}", "-o", f"cache_dir={report.with_suffix('')}"])
        found = outcome.of_pytest(report)
        if status and not found.failed:
            raise BenchError("Python tests failed: see above")
        return found
    return _tried(tests, run("-p", "xdist.plugin", "--numprocesses", str(workers), "--dist", "loadfile"), lambda _: run("--last-failed"))


def run_pytest(arguments: list[str]) -> int:
    """Runs all Python tests, or the named files and folders. Returns pytest's status."""
    named = any(Path(argument.split("::")[0]).exists() for argument in arguments)
    folders = [] if named else [paths.ROOT / "replay", paths.ROOT / "server"]
    # pytest names a test after its place below the root, which else depends on the arguments
    root = ["--rootdir", str(paths.ROOT)]
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={paths.build_dir() / 'pytest-cache'}", *root, *folders, *arguments],
                          env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, check=False).returncode
