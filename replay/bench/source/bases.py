# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds upstream's releases, patched or not, for comparisons (stock) and for tests."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from bench.source import mesontest, newfiles, upstream


# For builds that are only for tests.
_QUICK = shlex.quote(str(paths.ROOT / "replay" / "bench" / "source" / "quick-compiler.sh"))
COMPILER = {"CC": f"{_QUICK} cc", "CXX": f"{_QUICK} c++"}
# For those without sanitizers, whose programs are all linked again when the library changes: gold takes a third of the time.
LINKER = {"CC_LD": "gold", "CXX_LD": "gold"} if shutil.which("ld.gold") else {}


@dataclass(frozen=True)
class Base:
    version: str
    patched: bool
    source: Path
    build: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{'patched' if self.patched else 'stock'} spice {self.version}"

    @property
    def library(self) -> Path:
        """The directory of a build's libspice-server.so.1."""
        return self.build / "server"


def configure(title: str, source: Path, build: Path, options: list[str], steps: Steps,
              env: dict[str, str] | None = None) -> None:
    """Runs meson setup, unless it was done with the same options and environment. ninja notices changes of meson.build."""
    stamp = build / ".configured-with"
    wanted = "\n".join([str(source), *options, *(f"{name}={value}" for name, value in (env or {}).items())])
    if (build / "build.ninja").is_file() and stamp.is_file() and stamp.read_text() == wanted:
        return
    shutil.rmtree(build / "meson-private", ignore_errors=True)
    steps.run(f"configuring {title}", ["meson", "setup", build, source, *options], quiet=True, env=env)
    stamp.write_text(wanted)


def prepare_base(version: str, steps: Steps, patched: bool = True, build: Path | None = None,
                 tests: bool = True) -> Base:
    """Gets, unpacks, patches and builds a release; takes seconds if nothing changed. A build for tests has upstream's only, not
    ours, of which there are four times as many (./run each runs them), and uses -O1 without debug information, which compiles in
    three fifths of the time."""
    home = paths.cache_dir() / "bases" / f"{version}-{'patched' if patched else 'stock'}"
    upstream.fetch(version, steps)
    base = Base(version, patched, home / "source", build or home / "build",
                {**upstream.protocol_environment(version, steps), **({**COMPILER, **LINKER} if tests else {})})
    upstream.make_tree(version, base.source, upstream.built() if patched else ())
    options = ["-Dmanual=false", f"-Dtests={str(tests).lower()}", *(["-Doptimization=1", "-Ddebug=false"] if tests else [])]
    configure(base.name, base.source, base.build, options, steps, base.env)
    first = not (base.build / ".ninja_log").is_file()
    targets = [name for name in mesontest.programs(base.build) if Path(name).name not in newfiles.tests()] if tests else []
    steps.run(f"building {base.name}", ["ninja", "-C", base.build, *targets], quiet=not first, env=base.env)
    return base


def with_tests(version: str, steps: Steps) -> Base:
    """A patched release in which upstream's tests can be run; for the default release, the project's own build."""
    if version == upstream.DEFAULT:
        return Base(version, True, upstream.subproject(), paths.build_dir())
    return prepare_base(version, steps)
