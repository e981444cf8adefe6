# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commit of this tree."""

from __future__ import annotations

from typing import Any

from bench.common import paths, proc


def git(*arguments: str) -> str | None:
    """What git prints about this tree, whoever owns it; None if it fails."""
    return proc.said(["git", "-c", "safe.directory=*", "-C", str(paths.ROOT), *arguments])


def state() -> dict[str, Any]:
    """The commit, and whether files differ from it on which a run can depend; nulls outside a repository. Pages are ignored:
    `./run results` writes them, and figures in README.md and docs/, while it runs."""
    commit = git("rev-parse", "HEAD")
    changes = git("status", "--porcelain", "--", ".", ":!results", ":!docs", ":!README.md")
    return {"commit": commit, "dirty": bool(changes) if commit and changes is not None else None}
