# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds as distributions make them, for ./run each --build: flags, compiler, language standard."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.common.errors import BenchError


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
