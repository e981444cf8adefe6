# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds and tests in a root of this suite for another architecture that the processor runs, for ./run each --build."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.build import debsource, mesontest
from bench.build.builder import RootBuilder
from bench.common import paths
from bench.common.steps import Steps

_OF_TESTS = ("gstreamer1.0-plugins-base", "gstreamer1.0-plugins-good", "libgdk-pixbuf-2.0-dev")


def packages() -> list[str]:
    """What packages.txt has for building spice-server and for its tests."""
    needed = (paths.ROOT / "packages.txt").read_text().partition("# the player and the client")[0]
    return [line for line in needed.splitlines() if line and not line.startswith("#")] + [*_OF_TESTS]


def check(what: str, tree: Path, architecture: str, options: list[str], steps: Steps) -> int:
    """How many tests of this tree passed. The root stays for the next time."""
    suite = debsource.codename()
    builder = RootBuilder(suite, paths.cache_dir() / "each" / architecture, steps, packages(), architecture)
    builder.prepare(debsource.places(debsource.machine_sources(), suite, suite)[:1])
    source, build = builder.work / "source", builder.work / "build"
    for old in (source, build):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(tree, source, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    inner = Path(builder.inside(build))
    builder.run(f"configuring {what}", ["meson", "setup", str(inner), builder.inside(source), *options])
    builder.run(f"building {what}", ["ninja", "-C", str(inner)])
    passed = mesontest.run_suite(f"tests of {what}", inner, (), steps, inside=builder.entered([], "/"))
    shutil.rmtree(build)
    return passed
