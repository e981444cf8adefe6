# SPDX-License-Identifier: LGPL-2.1-or-later
"""A minimal Debian root in a folder, made by debootstrap from this machine's mirror, with its keys and proxies."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.common import proc
from bench.common.steps import Steps
from bench.source.debsource import Place, machine_acquire

QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_ETC = Path("/etc")
_SECRETS = 0o600


def make(suite: str, root: Path, places: Sequence[Place], steps: Steps, *, archives: Path | None = None,
         architecture: str = "") -> None:
    """Replaces the folder root; archives is where .deb files are kept for the next time, architecture Debian's name of another one
    than this machine's. Needs root's rights. Raises StepFailed."""
    proc.require("debootstrap", "debootstrap")
    shutil.rmtree(root, ignore_errors=True)         # left by an interrupted run
    root.parent.mkdir(parents=True, exist_ok=True)
    options = [*([f"--cache-dir={archives}"] if archives else []), *([f"--arch={architecture}"] if architecture else [])]
    steps.run(f"making a root of {suite}", proc.inside(None, [
        "debootstrap", *options, "--variant=minbase", "--include=ca-certificates", suite, str(root), places[0].source.uri]),
        quiet=True, env=QUIET)
    sources = root / "etc/apt/sources.list.d"
    (root / "etc/apt/sources.list").unlink(missing_ok=True)
    for place in places:
        (sources / f"{place.suite}{place.source.suffix}").write_text(place.source.render("deb", place.suite))
    (root / "etc/apt/apt.conf.d/00machine").write_text(machine_acquire())
    copy_network(root)


def copy_network(root: Path) -> None:
    """Copies this machine's name resolution; may be repeated for a kept root."""
    for name in ("resolv.conf", "hosts"):
        shutil.copyfile(_ETC / name, root / "etc" / name)


def copy_access(root: Path) -> None:
    """Copies what this machine's mirror requires: passwords, keys, and certificates that Debian lacks."""
    for name in ("apt/auth.conf", "apt/auth.conf.d", "apt/keyrings", "apt/trusted.gpg.d"):
        source, target = _ETC / name, root / "etc" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copyfile(source, target)
            target.chmod(_SECRETS)
    certificates = Path("/usr/local/share/ca-certificates")
    if certificates.is_dir():
        shutil.copytree(certificates, root / certificates.relative_to("/"), dirs_exist_ok=True)
