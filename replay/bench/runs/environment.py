# SPDX-License-Identifier: LGPL-2.1-or-later
"""The environment of a result: machine, programs, commit."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.common import commit, paths, proc
from bench.common.errors import BenchError
from bench.runs.libraries import Library
from bench.source import newfiles, upstream
from recordings.catalogue import Recording, sha256_of

# Packages that matter, besides our own programs.
_IN_USE = ("libspice-client-glib-2.0-8", "libssl3", "libglib2.0-0", "tcpdump", "iproute2", "socat")
_PACKAGES = (*_IN_USE, "gcc")
_NO_FILES = ("not-installed", "config-files")


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def _system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _packages() -> dict[str, str | None]:
    """Versions of the packages, whatever their dpkg state: a package in use may be waiting for its triggers."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}"]
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        state, _, version = (proc.said([*query, name]) or "").partition(" ")
        found[name] = version if version and state not in _NO_FILES else None
    return found


def _programs() -> dict[str, str]:
    """Our programs that a run needs. The link emulator is not needed on every link, and may not be built."""
    found = {}
    for program in (paths.player, paths.client, paths.link_emulator):
        with contextlib.suppress(BenchError):
            found[program().name] = sha256_of(program())
    return found


def machine(described: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the description that must be equal for a measurement to be continued: what changes figures."""
    packages = described.get("packages") or {}
    return {**{name: described.get(name) for name in ("recordings", "libraries", "programs", "kernel", "cpu")},
            "packages": {name: packages.get(name) for name in _IN_USE}}


def library_tree() -> str:
    """Hash of what the patched library is made from: the release, the changes by patches, the new files without tests. Names and
    messages of patches, which may contain figures measured with this library, and the files' folders are left out."""
    digest = hashlib.sha256(upstream.release(upstream.DEFAULT).sha256.encode())
    for patch in upstream.series(of=upstream.built()):
        made = patch.read_bytes()
        made = made[max(made.find(b"\ndiff --git "), 0):]
        digest.update(f"{len(made)}\0".encode() + made)
    for place, kept in newfiles.sources(upstream.built()).items():
        if place.parent == Path("server"):
            made = (paths.ROOT / kept).read_bytes()
            digest.update(f"{place}\0{len(made)}\0".encode() + made)
    return digest.hexdigest()


def library() -> str:
    """The name of the state of this tree's library, in runs and on pages."""
    return named(library_tree())


def named(tree: str | None) -> str:
    """The same of a hash; of an old result it may be unknown."""
    return (tree or "unknown")[:12]


def short() -> dict[str, Any]:
    """What a page of runs of guests says of the environment."""
    state = commit.state()
    return {"release": upstream.DEFAULT, "machine": f"Linux {platform.release()}, {os.cpu_count()} processors",
            "processors": os.cpu_count() or 1, "commit": f"{str(state.get('commit') or 'an unknown commit')[:12]}{' with changes' if state.get('dirty') else ''}"}


def describe(recordings: Iterable[Recording], libraries: Iterable[Library]) -> dict[str, Any]:
    return {
        "system": _system(),
        "kernel": platform.release(),
        "cpu": {"model": _cpu_model(), "count": os.cpu_count()},
        "python": platform.python_version(),
        "packages": _packages(),
        "git": commit.state(),
        "library_tree": library_tree(),
        "programs": _programs(),
        "recordings": {recording.name: recording.sha256 for recording in recordings},
        "libraries": {library.name: {"file": library.file.name, "sha256": sha256_of(library.file),
                                     "patched": library.patched} for library in libraries},
    }
