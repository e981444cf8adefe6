# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the tests find what was built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def build_dir() -> Path:
    default = Path(__file__).resolve().parents[2] / "build"
    return Path(os.environ.get("BUILD_DIR", default))


def tool(name: str, folder: str = "player") -> str:
    path = build_dir() / "replay" / folder / name
    if not path.is_file():
        pytest.fail(f"{path} is not built: run meson and ninja first, or set BUILD_DIR",
                    pytrace=False)
    return str(path)
