# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commit of this tree."""

from __future__ import annotations

import subprocess
from typing import Any

from bench.common import paths


def git(*arguments: str) -> str | None:
    """What git prints about this tree, whoever owns it; None if it fails."""
    command = ["git", "-c", "safe.directory=*", "-C", str(paths.ROOT)]
    try:
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def state() -> dict[str, Any]:
    """The commit, and whether files differ from it on which a run can depend; nulls outside a repository. Pages are ignored:
    `./run results` writes them, and figures in README.md and docs/, while it runs."""
    commit = git("rev-parse", "HEAD")
    changes = git("status", "--porcelain", "--", ".", ":!results", ":!docs", ":!README.md")
    return {"commit": commit, "dirty": bool(changes) if commit and changes is not None else None}
