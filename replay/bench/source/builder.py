# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where packages are built: on this machine, or in a minimal root of another suite. Both use the suite's own tools,
have no network during the build, and leave no process behind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps
from bench.source import debroot, mesontest
from bench.source.debsource import Place

_TOOLS = ("build-essential", "dpkg-dev", "lintian", "abigail-tools")
_APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends")
_OWN_PROCESSES = ("--pid", "--fork", "--kill-child", "--mount-proc")


class Builder:
    """This machine."""

    _IS_OWN = False     # whether nothing but builds happens there

    def __init__(self, suite: str, home: Path, steps: Steps, tools: Sequence[str] = _TOOLS, architecture: str = "") -> None:
        """`architecture`: Debian's name of it, for a root of another one than this machine's."""
        self.suite = suite
        self.tools = tools
        self.architecture = architecture
        self.home = home
        self.steps = steps

    @property
    def work(self) -> Path:
        """The folder in which to build."""
        return self.home / "work"

    def inside(self, path: Path) -> str:
        """The path inside the root for a path below work."""
        return str(path)

    def run(self, title: str, argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None,
            network: bool = False) -> list[str]:
        return self.steps.run(title, proc.inside(None, self.entered(argv, self.inside(cwd or self.work), network)),
                              quiet=True, env=env)

    def entered(self, argv: Sequence[str], folder: str, network: bool = False) -> list[str]:
        alone = () if network else mesontest.own_loopback(*_OWN_PROCESSES)
        return [*alone, "sh", "-c", 'cd "$0" && exec "$@"', folder, *argv]

    def prepare(self, places: Sequence[Place]) -> None:
        """Installs the tools. require_for() installs what the package needs."""
        self.work.mkdir(parents=True, exist_ok=True)
        if not self.knows(self.tools):
            self.install("install", self.tools)

    def knows(self, packages: Sequence[str]) -> bool:
        try:
            states = self.run("looking for tools", ["dpkg-query", "-W", "-f", "${db:Status-Status}\n", *packages])
        except StepFailed:
            return False
        return states == ["installed"] * len(packages)

    def install(self, command: str, packages: Sequence[str], of: str = "") -> None:
        """`command` of apt-get: install, or build-dep for what the source package in the folder `of` needs, the packages."""
        if os.geteuid() or os.environ.get("RUN_NO_PACKAGES") and not self._IS_OWN:
            raise BenchError(f"packages are missing; as root: apt-get install --no-install-recommends {' '.join(packages)}")
        steps = [("asking for package lists", [*_APT, "update"]),
                 (f"installing {'what the build needs' if of else ' '.join(packages)}", [*_APT, command, *([of] if of else packages)])]
        if self._IS_OWN:        # on a machine, an interrupted installation is left to its administrator, as apt says
            steps.insert(0, ("finishing what was interrupted", ["dpkg", "--configure", "-a"]))
        for title, argv in steps:
            self.run(title, argv, env=debroot.QUIET, network=True)

    def require_for(self, tree: Path) -> None:
        """Installs the build dependencies of the source package in the folder tree."""
        try:
            self.run("checking what the build needs", ["dpkg-checkbuilddeps"], tree)
        except StepFailed as failure:
            unmet = next((line.split("dependencies:", 1)[1].split() for line in failure.output if "dependencies:" in line), [])
            self.install("build-dep", unmet, self.inside(tree))


class RootBuilder(Builder):
    """A root of another suite, made by mmdebstrap; the mirror and its keys are this machine's."""

    _IS_OWN = True
    _READY = ".ready"

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def work(self) -> Path:
        return self.root / "build"

    def inside(self, path: Path) -> str:
        return f"/{path.relative_to(self.root)}"

    def entered(self, argv: Sequence[str], folder: str, network: bool = False) -> list[str]:
        return debroot.entered(self.root, folder, argv, network=network)

    def prepare(self, places: Sequence[Place]) -> None:
        if os.geteuid():
            raise BenchError(f"building for {self.suite} needs root, for a chroot; without root, build on a machine that runs {self.suite}")
        if not (self.root / self._READY).is_file():
            Builder(self.suite, self.home, self.steps, ("mmdebstrap",)).prepare(())
            debroot.make(self.suite, self.root, places, self.steps, packages=self.tools, architecture=self.architecture)
            (self.root / self._READY).touch()
        super().prepare(places)
