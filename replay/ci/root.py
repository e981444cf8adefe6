# SPDX-License-Identifier: LGPL-2.1-or-later
"""The root in which a commit is tested: a minimal Debian with the packages of the tree, made once and kept as a
tarball."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.common import atomic, proc
from bench.common.steps import Steps
from bench.source import debroot
from bench.source.debsource import Place, codename, machine_sources, places
from clients import packages

SUITE = "bookworm"
FOLDER = "srv/spice-batch"          # the clone's place in the root: readable for all, as some tests run as nobody
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
# in the commit: the packages that ./run would install, those for tests, and of those for clients what ./run installed names
_LISTS = ("packages.txt", "packages-ci.txt", "packages-clients.txt")


def environment() -> dict[str, str]:
    """The environment variables of this machine that are passed into the root."""
    proxies = {name: value for plain in _PROXIES for name in (plain, plain.upper()) if (value := os.environ.get(name))}
    return {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", "CI": "true", **debroot.QUIET, **proxies}


def entered(root: Path, archives: Path, folder: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs argv in the root. All its processes end with it, and it ends with this process."""
    return proc.inside(None, debroot.entered(root, folder, argv, archives=archives))


def unpack(clone: Path, target: Path, cache: Path, steps: Steps) -> None:
    """Makes the folder target a root with the clone in FOLDER; the clone is moved there. `cache` keeps the root as a tarball, and the
    packages from which it was made."""
    sources = places(machine_sources(), codename(), SUITE)
    tarball = cache / f"root-{_key(clone, sources)}.tar.gz"
    if not tarball.is_file():
        for old in cache.glob("*root-*.tar*"):
            old.unlink()
        _make(clone, sources, tarball, steps)
    target.mkdir(parents=True)
    steps.run("unpacking the root", ["tar", "-xz", "--numeric-owner", "-C", target, "-f", tarball], quiet=True)
    debroot.copy_network(target)
    shutil.move(clone, target / FOLDER)


def archives(cache: Path) -> Path:
    """Where apt keeps packages."""
    (cache / "archives/partial").mkdir(parents=True, exist_ok=True)
    return cache / "archives"


def _make(clone: Path, sources: Sequence[Place], tarball: Path, steps: Steps) -> None:
    root, kept = tarball.with_name("making"), archives(tarball.parent)
    try:
        wanted = [name for file in _LISTS for name in _packages(clone / file)]
        debroot.make(SUITE, root, sources, steps, packages=wanted, archives=kept)
        debroot.copy_access(root)
        (root / "etc/apt/apt.conf.d/01yes").write_text('APT::Get::Assume-Yes "true";\n')      # as its user would answer
        clean = ["env", "-i", *(f"{name}={value}" for name, value in environment().items())]
        for title, command in (
                ("taking up certificates", ["update-ca-certificates"]), ("asking for package lists", ["apt-get", "-q", "update"])):
            steps.run(title, entered(root, kept, "/", [*clean, *command]), quiet=True)
        with atomic.replaced(tarball) as part:
            part.touch(0o600)       # it has apt's passwords
            steps.run("packing the root", ["tar", "-c", "-I", "gzip -1", "--numeric-owner", "-C", root, "-f", part, "."], quiet=True)
    finally:
        debroot.remove(root)


def _packages(file: Path) -> list[str]:
    return [name for line in file.read_text().split(packages.OTHERS)[0].splitlines() if (name := line.split("#")[0].strip())]


def _key(clone: Path, sources: Sequence[Place]) -> str:
    """Changes with the packages, their sources, and the recipe."""
    digest = hashlib.sha256(SUITE.encode())
    for file in (*(clone / name for name in _LISTS), Path(__file__), debroot.ENTER, Path(debroot.__file__)):
        digest.update(file.read_bytes())
    for place in sources:
        digest.update(place.source.render("deb", place.suite).encode())
    return digest.hexdigest()[:16]
