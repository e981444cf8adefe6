# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench.source import bases

_FAKE = """#!/bin/sh
echo "$*" >> calls
while [ "$1" != -o ]; do shift; done
touch "$2"
"""
_NAMES = "-MD -MQ a.o -MF a.d -o a.o -c"
_TESTS, _LIBRARY = (f"-include meson-private/precompiled-{kind}.h" for kind in ("tests", "library"))


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build directory."""
    (tmp_path / "cc").write_text(_FAKE)
    (tmp_path / "cc").chmod(0o755)
    (tmp_path / "meson-private").mkdir()
    return tmp_path


def compiled(build: Path, *commands: str) -> list[str]:
    """The arguments with which the compiler was called."""
    calls = build / "calls"
    calls.unlink(missing_ok=True)
    for command in commands:
        subprocess.run([*bases.COMPILER["CXX"].split()[:-1], build / "cc", *command.split()], cwd=build, check=True,
                       env={**os.environ, "CCACHE_DISABLE": "1"})
    return calls.read_text().splitlines()


@pytest.mark.parametrize("source, added", [
    (f"-O1 {_NAMES} ../source/server/tests/test-a.c", " -O0"),
    (f"-O1 -fPIC {_NAMES} ../common/rop3.c", " -O0"),
    (f"-O1 -fPIC {_NAMES} ../common/quic.c", ""),
    (f"-O1 {_NAMES} ../source/server/tests/test-motion.cpp", ""),
    ("server/tests/test-a.p/test-a.cpp.o -o test-a -Wl,--start-group server/libserver.a -pthread", ""),
])
def test_what_takes_long_is_not_optimized(build: Path, source: str, added: str) -> None:
    assert compiled(build, source) == [source + added]


def test_the_header_is_compiled_once_as_what_includes_it(build: Path) -> None:
    test = f"-O1 -DX=1 {_NAMES} ../source/server/tests/test-a.cpp"
    assert compiled(build, test, test) == [
        "-O1 -DX=1 -O0 -x c++-header meson-private/precompiled-tests.h -o meson-private/precompiled-tests.h.new",
        *[f"{test} -O0 {_TESTS}"] * 2]
    library = f"-O1 -fPIC {_NAMES} ../source/server/reds.cpp"
    of_tests = f"-O1 -fPIC {_NAMES} ../source/server/tests/test-base.cpp"      # position-independent: the other header is not for it
    assert compiled(build, library, of_tests)[1:] == [f"{library} {_LIBRARY}", f"{of_tests} {_LIBRARY}"]


def test_what_meson_tries_has_no_header(build: Path) -> None:
    (build / "meson-private").rmdir()
    assert compiled(build, f"{_NAMES} testfile.cpp") == [f"{_NAMES} testfile.cpp"]
