# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our changes as a distribution wants them: a list of patches that includes the new files, and a version."""

from __future__ import annotations

import datetime
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.build import upstream
from bench.common import paths
from bench.series import export

_SUBPROJECT = "build-Find-own-sources-when-built-as-a-subproject"     # a package is no subproject
VERSION = "%Y%m%d.%H%M"       # of a moment
_TURNED_OFF = ("test-listen",)      # by Debian's own patch, in meson.build
_US = export.Author("spice-batch", "spice-batch@localhost")


@dataclass(frozen=True)
class Patch:
    name: str
    text: str


@cache
def patches(version: str) -> list[Patch]:
    """What turns a release into ours, in order: each patch with the new files it brings and their lines in the build,
    and little context, as the distribution has patches of its own."""
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree = export.Tree(version, Path(work, "tree"), _US, _TURNED_OFF)
        found = []
        for name in upstream.built():
            for file in upstream.series(version, [name]) if name != export.NOT_EXPORTED else []:
                if _SUBPROJECT in file.name:
                    continue
                tree.add(file)
                text = tree.git("format-patch", "-1", "--stdout", "-U1", "--no-renames", "--no-numbered",
                                "--no-signature", "--zero-commit", "--no-stat")
                text = re.sub(r"^Date: .*\n", "", text, count=1, flags=re.MULTILINE)
                found.append(Patch(f"{name}/{file.name}", text))
        return found


def dep3(patch: Patch) -> Patch:
    """With what Debian wants to know of a patch: git's From and Subject stand for DEP-3's Author and Description; where
    it is from and whether upstream has been asked is not in the file."""
    head, body = patch.text.split("\n\n", 1)
    head = re.sub(r"\AFrom 0+ .*\n", "", head)
    return Patch(patch.name, f"{head}\nOrigin: vendor, spice-batch\nForwarded: no\n\n{body}")


def moment() -> datetime.datetime:
    """When the changes were made: the last commit of them; now, if they differ from it or nobody knows."""
    git = ["git", "-c", "safe.directory=*", "-C", str(paths.ROOT)]
    ours = ["--", "server", "patches"]
    changed = subprocess.run([*git, "status", "--porcelain", *ours], capture_output=True, text=True, check=False)
    made = subprocess.run([*git, "log", "-1", "--format=%ct", *ours], capture_output=True, text=True, check=False)
    if changed.returncode or changed.stdout or not made.stdout.strip():
        return datetime.datetime.now(datetime.UTC)
    return datetime.datetime.fromtimestamp(int(made.stdout), datetime.UTC)


def suffixed(version: str, made: datetime.datetime) -> str:
    """A version just above the distribution's, whatever comes next there: letters sort before everything that a rebuild
    (+b1, build1), a derivative (ubuntu1), an update (.1) or a security fix (+deb12u1) appends, and b-a before build.
    A later one of ours is above an earlier one."""
    return f"{version}batch{made:{VERSION}}"
