# SPDX-License-Identifier: LGPL-2.1-or-later
"""Folders and files of the tree and of the build directory, whose layout only this module knows."""

from __future__ import annotations

import os
from pathlib import Path

from bench.common.errors import BenchError

ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = ROOT / "replay" / "recordings"
RESULTS = ROOT / "results"
OWN_RESULTS = RESULTS / "own"      # the user's own results; all others belong to the repository
LIBRARY_FILE = "libspice-server.so.1"


def build_dir() -> Path:
    """The meson build directory; SPICE_BENCH_BUILD names another one, which is used as it is."""
    return Path(os.environ.get("SPICE_BENCH_BUILD", ROOT / "build"))


def build_is_ours() -> bool:
    """Whether the build directory belongs to the tree, and is updated before use."""
    return "SPICE_BENCH_BUILD" not in os.environ


def cache_dir() -> Path:
    """A folder that may be deleted at any time, and is then made again; SPICE_BENCH_CACHE names another one."""
    return Path(os.environ.get("SPICE_BENCH_CACHE", ROOT / ".cache"))


def tool(*parts: str) -> Path:
    """The path of one of our programs in the build directory."""
    path = build_dir().joinpath("replay", *parts)
    if not os.access(path, os.X_OK):
        raise BenchError(f"{path.name} is not built ({path} is missing): run ./run setup")
    return path


def player() -> Path:
    return tool("player", "spice-player")


def client() -> Path:
    return tool("drain", "spice-drain")


def link_emulator() -> Path:
    return tool("link", "spice-link")


def _first(patterns: tuple[str, ...], what: str) -> Path:
    for pattern in patterns:
        for found in sorted(build_dir().parent.glob(pattern)):
            return found.parent
    raise BenchError(f"the {what} library is not built: run ./run setup")


def patched_library() -> Path:
    """The directory of the patched libspice-server.so.1."""
    build = build_dir().name
    return _first((f"{build}/subprojects/spice-*/server/{LIBRARY_FILE}",), "patched")


def stock_library() -> Path:
    """The directory of the unpatched libspice-server.so.1, built beside the patched one."""
    build = build_dir().name
    return _first((f"{build}/stock/**/server/{LIBRARY_FILE}", f"{build}-stock/**/server/{LIBRARY_FILE}"), "stock")
