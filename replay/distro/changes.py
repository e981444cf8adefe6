# SPDX-License-Identifier: LGPL-2.1-or-later
"""Our changes as a distribution wants them: a list of patches, the new files among them, and a version."""

from __future__ import annotations

import datetime
import subprocess
from dataclasses import dataclass

from bench import overlay, paths, upstream

_SUBPROJECT = "build-Find-own-sources-when-built-as-a-subproject"     # a package is no subproject
_NEW_FILES = "0000-stream-New-files.patch"


@dataclass(frozen=True)
class Patch:
    name: str
    text: str


def patches(version: str) -> list[Patch]:
    """What turns a release into ours, in order: first the new files, then the series."""
    return [Patch(_NEW_FILES, _new_files()),
            *(Patch(f"{name}/{file.name}", file.read_text(encoding="utf-8")) for name in upstream.bases()
              for file in upstream.series(version, [name])
              if upstream.changes_files(file) and _SUBPROJECT not in file.name)]


def _new_files() -> str:
    text = ["Subject: [PATCH] stream: New files\n\n",
            "What the patches that follow hook in: how streams are written (egress,\n",
            "policy, flow), and the tests of every patch.\n---\n"]
    for file in overlay.files():
        lines = (paths.ROOT / file).read_text(encoding="utf-8").splitlines(keepends=True)
        text += [f"--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{len(lines)} @@\n", *(f"+{line}" for line in lines)]
        if lines and not lines[-1].endswith("\n"):
            text.append("\n\\ No newline at end of file\n")
    return "".join(text)


def dep3(patch: Patch) -> Patch:
    """With what Debian wants to know of a patch: Subject stands for DEP-3's Description; where it is from and whether
    upstream has been asked is not in the file."""
    head, body = patch.text.split("\n\n", 1)
    return Patch(patch.name, f"{head}\nOrigin: vendor, spice-batch\nForwarded: no\n\n{body}")


def moment(now: datetime.datetime | None = None) -> datetime.datetime:
    """When the changes were made: the last commit of them; now, if they differ from it or nobody knows."""
    git = ["git", "-c", "safe.directory=*", "-C", str(paths.ROOT)]
    ours = ["--", "server", "patches"]
    changed = subprocess.run([*git, "status", "--porcelain", *ours], capture_output=True, text=True, check=False)
    made = subprocess.run([*git, "log", "-1", "--format=%ct", *ours], capture_output=True, text=True, check=False)
    if changed.returncode or changed.stdout or not made.stdout.strip():
        return now or datetime.datetime.now(datetime.UTC)
    return datetime.datetime.fromtimestamp(int(made.stdout), datetime.UTC)


def suffixed(version: str, made: datetime.datetime) -> str:
    """A version just above the distribution's, whatever comes next there: letters sort before everything that a rebuild
    (+b1, build1), a derivative (ubuntu1), an update (.1) or a security fix (+deb12u1) appends, and b-a before build.
    A later one of ours is above an earlier one."""
    return f"{version}batch{made:%Y%m%d.%H%M}"
