# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run deb recipes: what other distributions need to build the library, a folder for each."""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import upstream
from distro import changes

_TEMPLATES = paths.ROOT / "packaging"
_PATCH = "spice-batch.patch"
_NAME = re.compile(r"@([A-Z0-9_]+)@")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Writes build/recipes/: the recipes of packaging/ for Arch, Fedora, Nix and Alpine, filled in, and all patches as "
                          f"one file, {_PATCH}; for Debian's format of sources one by one. How to use each: packaging/README.md.")
    parser.add_argument("--release", default=upstream.DEFAULT, metavar="VERSION", help="upstream's release: "
                        f"{', '.join(upstream.RELEASES)} (default: {upstream.DEFAULT})")


def execute(args: argparse.Namespace) -> int:
    release = upstream.release(args.release)
    output = paths.build_dir() / "recipes"
    tarball = upstream.fetch(release.version, Steps(paths.build_dir() / "recipes.log")).read_bytes()
    written = write(release, tarball, output)
    print(f"recipes for spice {release.version}: {', '.join(str(path) for path in written)}")
    return 0


def combined(version: str) -> str:
    """The series as one file for patch: new files first."""
    return "".join(patch.text.rstrip("\n") + "\n\n" for patch in changes.patches(version))


def write(release: upstream.Release, tarball: bytes, output: Path) -> list[Path]:
    patch = combined(release.version)
    values = {"VERSION": release.version, "URL": release.url, "TARBALL": release.tarball.name,
              "TARBALL_SHA256": release.sha256, "TARBALL_SHA512": hashlib.sha512(tarball).hexdigest(),
              "PATCH_SHA256": hashlib.sha256(patch.encode()).hexdigest(),
              "PATCH_SHA512": hashlib.sha512(patch.encode()).hexdigest()}
    shutil.rmtree(output, ignore_errors=True)
    written = []
    for template in sorted(_TEMPLATES.glob("*/*")):
        if template.name == "README.md":
            continue
        folder = output / template.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / template.name).write_text(_filled(template, values), encoding="utf-8")
        (folder / _PATCH).write_text(patch, encoding="utf-8")
        written.append(folder)
    changes.write(changes.patches(release.version), output / "debian")      # which takes no patch that changes a file twice
    return [*written, output / "debian"]


def _filled(template: Path, values: dict[str, str]) -> str:
    def value(blank: re.Match[str]) -> str:
        if blank[1] not in values:
            raise BenchError(f"{template.relative_to(paths.ROOT)}: nothing is known for {blank[0]}")
        return values[blank[1]]

    return _NAME.sub(value, template.read_text(encoding="utf-8"))
