# SPDX-License-Identifier: LGPL-2.1-or-later
"""The project built with AddressSanitizer and UndefinedBehaviorSanitizer, for tests."""

from __future__ import annotations

from pathlib import Path

from bench.build import bases
from bench.common import paths
from bench.common.steps import Steps

# -O1: the library's sources compile in half the time of -O2, and the tests need no third of the speed.
# With statistics, which a build has not by default: what they count is tested here.
FLAGS = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
_OPTIONS = [*FLAGS, "-Doptimization=1", "-Dspice:statistics=true"]
ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:suppressions={paths.ROOT / 'server' / 'devel' / 'tests' / 'ubsan.supp'}",
}


def build_dir() -> Path:
    return paths.build_dir() / "sanitize"


def configure(steps: Steps) -> Path:
    """The build directory, ready for ninja."""
    bases.configure("the sanitized project", paths.ROOT, build_dir(), _OPTIONS, steps)
    return build_dir()
