# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ways to build a tree and run its tests, for ./run each: by meson, by upstream's other build system, as distributions build, and
for another architecture."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.build import bases, debsource, mesontest, newfiles
from bench.build.builder import RootBuilder
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

DEFAULT = "default"         # by meson, without SPICE_STREAM
AUTOTOOLS = "autotools"
_CHOICES = re.compile(r"option\('stream-mode',[^)]*choices *: *\[([^]]*)\]")
_MODE = re.compile(r"option\('stream-mode',[^)]*?\bvalue *: *'([\w-]+)'")
_OF_TESTS = ("gstreamer1.0-plugins-base", "gstreamer1.0-plugins-good", "libgdk-pixbuf-2.0-dev")


@dataclass(frozen=True)
class Build:
    options: tuple[str, ...] = ()                                       # of meson setup
    compilers: Mapping[str, str] = field(default_factory=dict)          # variable to program
    architecture: str = ""      # Debian's name: of a root made by debootstrap, with the release's dependencies of this suite

    def environment(self) -> dict[str, str]:
        """Raises BenchError if a program is missing."""
        missing = [program for program in self.compilers.values() if not shutil.which(program)]
        if missing:
            raise BenchError(f"{missing[0]} is missing: apt-get install --no-install-recommends {missing[0].removesuffix('++')}", 2)
        cache = "ccache " if shutil.which("ccache") else ""
        return {variable: cache + program for variable, program in self.compilers.items()}


_FORTIFY = "-D_FORTIFY_SOURCE=3"
BUILDS: dict[str, Build] = {
    "fortify": Build(("-Doptimization=2", f"-Dc_args={_FORTIFY}", f"-Dcpp_args={_FORTIFY} -D_GLIBCXX_ASSERTIONS")),
    "clang": Build(compilers={"CC": "clang", "CXX": "clang++"}),
    "c++20": Build(("-Dcpp_std=gnu++20",)),
    "i386": Build(architecture="i386"),
}


def modes(tree: Path) -> list[str]:
    """The modes that a tree has; none before there are modes."""
    found = _CHOICES.search((tree / "meson_options.txt").read_text())
    return re.findall(r"'([\w-]+)'", found[1]) if found else []


def default_mode(options: str) -> list[str]:
    """meson's option for the default mode of a tree. A reused build folder would otherwise keep the mode of the last state, and
    test flow in mode batch."""
    found = _MODE.search(options)
    return [f"-Dstream-mode={found[1]}"] if found else []


def check(what: str, how: str, tree: Path, build: Path, steps: Steps, environment: dict[str, str]) -> int:
    """Builds a tree and runs its tests; `how`: DEFAULT, AUTOTOOLS, a name of BUILDS, or the mode in which upstream's tests are run.
    Returns how many passed; raises BenchError or StepFailed."""
    if how == AUTOTOOLS:
        return _make(what, tree, steps, environment)
    kind = BUILDS.get(how, Build())
    options = ["-Dmanual=false", "-Ddebug=false", *kind.options, *default_mode((tree / "meson_options.txt").read_text())]
    if kind.architecture:
        return _elsewhere(what, tree, kind.architecture, options, steps)
    if how in BUILDS:
        build = build.with_name(f"{build.name}-{how}")
    environment = {**environment, **kind.environment()}
    bases.configure(what, tree, build, options, steps, environment)
    steps.run(f"building {what}", ["ninja", "-C", build], quiet=True, env=environment)
    names = mesontest.listed(build).keys()
    if how == DEFAULT:
        return mesontest.run_suite(f"tests of {what}", build, names, steps)
    if how in BUILDS:
        passed = mesontest.run_suite(f"tests of {what} as {how}", build, names, steps)
        shutil.rmtree(build)        # unlike the folder of a release, this one is not used again
        return passed
    return mesontest.run_suite(f"upstream's tests of {what} in mode {how}", build, names - newfiles.tests(), steps,
                               env={"SPICE_STREAM": how})      # our tests choose their modes


def _make(what: str, tree: Path, steps: Steps, environment: dict[str, str]) -> int:
    """As a packager does, in a copy, since it leaves much behind."""
    if not shutil.which("autoreconf"):
        raise BenchError("autoreconf is missing: install autoconf, automake, libtool and autoconf-archive", 2)
    if shutil.which("ccache"):
        environment = {"CC": "ccache gcc", "CXX": "ccache g++", **environment}
    folder = _copy(tree, tree.with_name(AUTOTOOLS))
    jobs = f"-j{os.cpu_count() or 1}"
    for title, argv in (("configuring", ["autoreconf", "-fi"]), ("configuring", ["./configure"]), ("building", ["make", jobs]),
                        ("tests of", [*mesontest.own_loopback(), "make", "check", jobs])):
        steps.run(f"{title} {what} with autotools", argv, quiet=True, cwd=folder, env=environment)
    passed = sum(":test-result: PASS" in result.read_text() for result in folder.rglob("*.trs"))
    shutil.rmtree(folder)
    return passed


def _copy(tree: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".git")))


def packages() -> list[str]:
    """What packages.txt has for building spice-server and for its tests."""
    needed = (paths.ROOT / "packages.txt").read_text().partition("# the player and the client")[0]
    return [line for line in needed.splitlines() if line and not line.startswith("#")] + [*_OF_TESTS]


def _elsewhere(what: str, tree: Path, architecture: str, options: list[str], steps: Steps) -> int:
    """In a root of this suite for another architecture that the processor runs. The root stays for the next time."""
    suite = debsource.codename()
    builder = RootBuilder(suite, paths.cache_dir() / "each" / architecture, steps, packages(), architecture)
    builder.prepare(debsource.places(debsource.machine_sources(), suite, suite)[:1])
    source, build = _copy(tree, builder.work / "source"), builder.work / "build"
    shutil.rmtree(build, ignore_errors=True)
    inner = Path(builder.inside(build))
    builder.run(f"configuring {what}", ["meson", "setup", str(inner), builder.inside(source), *options])
    builder.run(f"building {what}", ["ninja", "-C", str(inner)])
    passed = mesontest.run_suite(f"tests of {what}", inner, (), steps, inside=builder.entered([], "/"))
    shutil.rmtree(build)
    return passed
