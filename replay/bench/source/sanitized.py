# SPDX-License-Identifier: LGPL-2.1-or-later
"""The project built for tests: with AddressSanitizer and UndefinedBehaviorSanitizer, or with ThreadSanitizer."""

from __future__ import annotations

from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from bench.source import bases, newfiles, upstream

# -O1: the library's sources compile in half the time of -O2, and the tests need no third of the speed.
# With statistics, which are not in a default build, as tests use their counters.
# Packages of Debian 13 have the assertions of libstdc++: they end a program that takes the address behind a vector's end by an index.
# A test program is 50 MB with all that a debugger wants and relocations one by one, 25 without, and there are 100.
SMALL = ["-Db_lundef=false", "-Ddebug=false",
         *(f"-D{language}_{kind}={flags}" for language in ("c", "cpp")
           for kind, flags in (("args", "-g1 -D_GLIBCXX_ASSERTIONS"), ("link_args", "-Wl,-z,pack-relative-relocs")))]
FLAGS = ["-Db_sanitize=address,undefined", *SMALL]
_OPTIONS = [*FLAGS, "-Doptimization=1", "-Dspice:statistics=true"]
# GLib drops the table of its quarks when it grows, at 2048: with every plugin that a desktop has GStreamer comes to that, and the
# leak checker to GLib. So the plugins that tests use, and a registry apart from the user's. The longer of two names with one
# beginning comes first: GStreamer ends its search at the shorter.
_PLUGINS = "gstreamer:coreelements gst-plugins-base:app,videoconvertscale,videoconvert gst-plugins-good:vpx"
ENV = {
    "GST_PLUGIN_LOADING_WHITELIST": _PLUGINS,
    "GST_REGISTRY_1_0": str(paths.build_dir() / "sanitize" / "gstreamer-registry.bin"),
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:suppressions={paths.ROOT / 'server' / 'devel' / 'tests' / 'ubsan.supp'}",
}


def build_dir() -> Path:
    return paths.build_dir() / "sanitize"


def configure(steps: Steps) -> Path:
    """Configures the build directory; ninja can run in it then."""
    bases.configure("the sanitized project", paths.ROOT, build_dir(), _OPTIONS, steps, bases.COMPILER)
    return build_dir()


PLAYER = "replay/player/spice-player"
SERVER_TESTS = f"subprojects/spice-{upstream.DEFAULT}/server/tests"
# With the cases left out: here a batch of drawings ends by time, before it is complete, so more images are sent than these allow.
WITH_THREADS = {"test-two-displays": [], "test-display-motion": ["/server/display-motion/text-in-colours",
                                                                 "/server/display-motion/text-in-two-colours"]}


def for_threads(steps: Steps) -> Path:
    """The build directory with player and WITH_THREADS built with ThreadSanitizer; takes seconds if nothing changed."""
    build = paths.build_dir() / "threads"
    bases.configure("the project for ThreadSanitizer", paths.ROOT, build, ["-Db_sanitize=thread", *SMALL, "-Doptimization=1"], steps,
                    bases.COMPILER)
    steps.run("building for ThreadSanitizer", ["ninja", "-C", build, PLAYER, *(f"{SERVER_TESTS}/{name}" for name in WITH_THREADS)],
              quiet=True)
    return build


def with_optional(name: str, steps: Steps) -> Path:
    """The build directory of the default release with an optional series, and with its tests; takes seconds if nothing changed."""
    home = paths.cache_dir() / "optional" / name
    what = f"spice {upstream.DEFAULT} with {name}, sanitized"
    upstream.fetch(upstream.DEFAULT, steps)
    upstream.make_tree(upstream.DEFAULT, home / "source", [*upstream.built(), name])
    env = {**upstream.protocol_environment(upstream.DEFAULT, steps), **bases.COMPILER}
    bases.configure(what, home / "source", home / "sanitized", ["-Dmanual=false", "-Doptimization=0", *FLAGS], steps, env)
    # Not all tests: under sanitizers each of 100 programs has 50 MB and takes a second to link.
    steps.run(f"building {what}", ["ninja", "-C", home / "sanitized", *(f"server/tests/{test}" for test in sorted(newfiles.tests([name])))],
              quiet=True, env=env)
    return home / "sanitized"
