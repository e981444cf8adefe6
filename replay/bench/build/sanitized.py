# SPDX-License-Identifier: LGPL-2.1-or-later
"""The project built with AddressSanitizer and UndefinedBehaviorSanitizer, for tests."""

from __future__ import annotations

from pathlib import Path

from bench.build import bases
from bench.common import paths
from bench.common.steps import Steps

# -O1: the library's sources compile in half the time of -O2, and the tests need no third of the speed.
# With statistics, which a build has not by default: what they count is tested here.
# Without what makes a test program 50 MB instead of 25, and there are 100: all but the lines for a debugger, and 500 000 relocations.
FLAGS = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Ddebug=false",
         *(f"-D{language}_args=-g1" for language in ("c", "cpp")), *(f"-D{language}_link_args=-no-pie" for language in ("c", "cpp"))]
_OPTIONS = [*FLAGS, "-Doptimization=1", "-Dspice:statistics=true"]
# GLib drops the table of its quarks when it grows, at 2048: with every plugin that a desktop has GStreamer comes to that, and the
# leak checker to GLib. So the plugins that tests use, and a registry apart from the user's.
_PLUGINS = "gstreamer:coreelements gst-plugins-base:app,videoconvert,videoconvertscale gst-plugins-good:vpx"
ENV = {
    "GST_PLUGIN_LOADING_WHITELIST": _PLUGINS,
    "GST_REGISTRY_1_0": str(paths.build_dir() / "sanitize" / "gstreamer-registry.bin"),
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:suppressions={paths.ROOT / 'server' / 'devel' / 'tests' / 'ubsan.supp'}",
}


def build_dir() -> Path:
    return paths.build_dir() / "sanitize"


def configure(steps: Steps) -> Path:
    """The build directory, ready for ninja."""
    bases.configure("the sanitized project", paths.ROOT, build_dir(), _OPTIONS, steps)
    return build_dir()
