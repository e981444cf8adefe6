# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our changes as a distribution wants them: a list of patches that includes the new files, and a version."""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.common import commit, paths
from bench.series import export
from bench.source import newfiles, upstream

_SUBPROJECT = "build-Find-own-sources-when-built-as-a-subproject"     # left out: a package is not built as a subproject
VERSION = "%Y%m%d.%H%M"       # format of a date in a version
_US = export.Author("spice-batch", "spice-batch@localhost")


@dataclass(frozen=True)
class Patch:
    name: str
    text: str


@cache
def patches(version: str) -> list[Patch]:
    """The patches that turn a release into ours, in order: each with its new files and their lines in the build, and with little
    context, as the distribution has patches of its own. git's From and Subject stand for DEP-3's Author and Description; origin, and
    whether upstream was asked, are not in its output."""
    paths.cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.cache_dir()) as work:
        tree = export.Mails(version, Path(work, "tree"), _US)
        found = []
        for name in [name for name in upstream.built() if name != upstream.DEVEL]:
            for file in [file for file in upstream.series(version, [name]) if _SUBPROJECT not in file.name]:
                tree.add(file)
                text = tree.git("format-patch", "-1", "--stdout", "-U1", "--no-renames", "--no-numbered", "--no-signature", "--no-stat")
                head, body = text.split("\n\n", 1)
                head = re.sub(r"^(From [0-9a-f]{40} |Date: ).*\n", "", head, flags=re.MULTILINE)
                found.append(Patch(f"{name}/{file.name}", f"{head}\nOrigin: vendor, spice-batch\nForwarded: no\n\n{body}"))
        return found


def write(ours: Sequence[Patch], folder: Path, before: str = "") -> None:
    """Adds patches to a folder in Debian's format of sources, behind those that the file `series` there has `before`."""
    for patch in ours:
        (folder / "batch" / patch.name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "batch" / patch.name).write_text(patch.text, encoding="utf-8")
    (folder / "series").write_text("\n".join([*before.splitlines(), *(f"batch/{patch.name}" for patch in ours)]) + "\n", encoding="utf-8")


def tests() -> set[str]:
    """The names of the tests that these patches bring."""
    return newfiles.tests(upstream.built())


def moment() -> datetime.datetime:
    """The date of the last commit that changed them; now, if they differ from it or it is unknown."""
    ours = ["--", "server", "patches"]
    made = commit.git("log", "-1", "--format=%ct", *ours)
    if commit.git("status", "--porcelain", *ours) != "" or not made:
        return datetime.datetime.now(datetime.UTC)
    return datetime.datetime.fromtimestamp(int(made), datetime.UTC)


def suffixed(version: str, made: datetime.datetime) -> str:
    """A version just above the distribution's, and below all that follow: letters sort before what a rebuild (+b1, build1), a
    derivative (ubuntu1), an update (.1) or a security fix (+deb12u1) appends, and b-a before build. A later version of ours is
    above an earlier one."""
    return f"{version}batch{made:{VERSION}}"
