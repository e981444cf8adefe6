# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run setup: downloads upstream, builds the patched server, the tools and the unpatched library."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps, alone
from bench.source import bases, upstream


def setup() -> None:
    """Makes everything that a measurement needs; takes seconds if it is up to date. Raises BenchError, one line."""
    with alone("setup"):
        steps = Steps(paths.build_dir() / "setup.log")
        if upstream.sync_wrap():
            steps.say("spice.wrap did not name the release and the patches of the series; put right")
        _build_project(paths.build_dir(), steps)
        bases.prepare_base(upstream.DEFAULT, steps, patched=False, tests=False,
                           build=paths.build_dir() / "stock" / f"spice-{upstream.DEFAULT}")


def current() -> None:
    """The same for commands that measure: of a build directory that belongs to the tree."""
    if paths.build_is_ours():
        setup()


def _build_project(build: Path, steps: Steps) -> None:
    """The whole project, with upstream as a subproject."""
    upstream.fetch(upstream.DEFAULT, steps)
    # meson could make this tree from spice.wrap, but it accepts fuzz, and does not notice later changes
    upstream.make_tree(upstream.DEFAULT, upstream.subproject(), upstream.built())
    first = not (build / "build.ninja").is_file()
    bases.configure("the project", paths.ROOT, build, [], steps)
    steps.run("building the patched server and the tools", ["ninja", "-C", build], quiet=not first)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Downloads upstream spice; builds the patched and the unpatched library, the player, the client and the "
                          "link. Builds only what has changed since the last time.")


def execute(_args: argparse.Namespace) -> int:
    began = time.monotonic()
    setup()
    print(f"ready after {time.monotonic() - began:.1f} s: {paths.build_dir()}")
    return 0
