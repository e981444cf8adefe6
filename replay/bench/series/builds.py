# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ways to build a tree and run its tests, for ./run each: by meson, by upstream's other build system, as distributions build, and
for another architecture."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import bases, debsource, mesontest, newfiles
from bench.source.builder import RootBuilder

DEFAULT = "default"         # by meson, without SPICE_STREAM
AUTOTOOLS = "autotools"
I386 = "i386"               # in a root made by mmdebstrap, with this suite's dependencies of the default release
_FORTIFY = "-D_FORTIFY_SOURCE=3"
# Options of meson setup; names of compilers are variables.
BUILDS = {
    "fortify": ["-Doptimization=2", f"-Dc_args={_FORTIFY}", f"-Dcpp_args={_FORTIFY} -D_GLIBCXX_ASSERTIONS"],
    "clang": ["CC=clang", "CXX=clang++"],
    "c++20": ["-Dcpp_std=gnu++20"],
    I386: [],
}
_MODES = re.compile(r"option\('stream-mode',[^)]*\)")
_OF_TESTS = ("gstreamer1.0-plugins-base", "gstreamer1.0-plugins-good", "libgdk-pixbuf-2.0-dev")


def modes(tree: Path) -> list[str]:
    """The modes that a tree has, the default first; none before there are modes."""
    found = _MODES.search((tree / "meson_options.txt").read_text())
    value, names = (re.search(rf"\b{key} *: *(\[[^]]*\]|'[\w-]+')", found[0]) if found else None for key in ("value", "choices"))
    return list(dict.fromkeys(re.findall(r"'([\w-]+)'", value[1] + names[1]))) if value and names else []


def check(what: str, how: str, tree: Path, build: Path, steps: Steps, env: dict[str, str]) -> int:
    """Builds a tree and runs its tests; `how`: DEFAULT, AUTOTOOLS, a name of BUILDS, or the mode in which upstream's tests are run.
    Returns how many passed; raises BenchError or StepFailed."""
    if how == AUTOTOOLS:
        return _make(what, tree, steps, env)
    # A reused build folder would otherwise keep the default mode of the last state, and test flow in mode batch.
    options = ["-Dmanual=false", "-Ddebug=false", *(f"-Dstream-mode={mode}" for mode in modes(tree)[:1])]
    if how == I386:
        return _elsewhere(what, tree, options, steps)
    if how in BUILDS:
        build, what = build.with_name(f"{build.name}-{how}"), f"{what} as {how}"
        options += [one for one in BUILDS[how] if one.startswith("-")]
        cache = "ccache " if shutil.which("ccache") else ""
        env = {**env, **{name: cache + program for name, program in (one.split("=") for one in BUILDS[how] if one not in options)}}
    bases.configure(what, tree, build, options, steps, env)
    steps.run(f"building {what}", ["ninja", "-C", build], quiet=True, env=env)
    names = mesontest.listed(build).keys()
    if how != DEFAULT and how not in BUILDS:    # our tests choose their modes
        return mesontest.run_suite(f"upstream's tests of {what} in mode {how}", build, names - newfiles.tests(), steps,
                                   env={"SPICE_STREAM": how})
    passed = mesontest.run_suite(f"tests of {what}", build, names, steps)
    if how in BUILDS:       # unlike the folder of a release, this one is not used again
        shutil.rmtree(build)
    return passed


def _copy(tree: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".git")))


def _make(what: str, tree: Path, steps: Steps, env: dict[str, str]) -> int:
    """As a packager does, in a copy, since it leaves much behind."""
    if not shutil.which("autoreconf"):
        raise BenchError("autoreconf is missing: install autoconf, automake, libtool and autoconf-archive", 2)
    if shutil.which("ccache"):
        env = {"CC": "ccache gcc", "CXX": "ccache g++", **env}
    folder = _copy(tree, tree.with_name(AUTOTOOLS))
    jobs = f"-j{os.cpu_count() or 1}"
    for title, argv in (("configuring", ["autoreconf", "-fi"]), ("configuring", ["./configure"]), ("building", ["make", jobs]),
                        ("tests of", [*mesontest.own_loopback(), "make", "check", jobs])):
        steps.run(f"{title} {what} with autotools", argv, quiet=True, cwd=folder, env=env)
    passed = sum(":test-result: PASS" in result.read_text() for result in folder.rglob("*.trs"))
    shutil.rmtree(folder)
    return passed


def packages() -> list[str]:
    """What packages.txt has for building spice-server and for its tests."""
    needed = (paths.ROOT / "packages.txt").read_text().partition("# the player and the client")[0]
    return [line for line in needed.splitlines() if line and not line.startswith("#")] + [*_OF_TESTS]


def _elsewhere(what: str, tree: Path, options: list[str], steps: Steps) -> int:
    """In a root for an architecture that the processor also runs. It stays for the next time."""
    suite = debsource.codename()
    builder = RootBuilder(suite, paths.cache_dir() / "each" / I386, steps, packages(), I386)
    builder.prepare(debsource.places(debsource.machine_sources(), suite, suite)[:1])
    source, build = _copy(tree, builder.work / "source"), builder.work / "build"
    shutil.rmtree(build, ignore_errors=True)
    inner = Path(builder.inside(build))
    builder.run(f"configuring {what}", ["meson", "setup", str(inner), builder.inside(source), *options])
    builder.run(f"building {what}", ["ninja", "-C", str(inner)])
    passed = mesontest.run_suite(f"tests of {what}", build, (), steps, inside=(builder.entered([], "/"), inner))
    shutil.rmtree(build)
    return passed
