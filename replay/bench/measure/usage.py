# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU time and memory of a process, and what else /proc tells of it. A process or thread is named by its folder there."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu(task: Path) -> tuple[str, float]:
    """Its name, and the CPU seconds that it has used."""
    name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
    user, system = fields.split()[11:13]
    return name, (int(user) + int(system)) / _TICKS


def status(task: Path, field: str) -> int:
    """A number of its status; 0 if that has none of this name."""
    lines = (line.partition(":") for line in (task / "status").read_text().splitlines())
    return next((int(value.split()[0]) for name, _, value in lines if name == field), 0)


def memory(process: Path) -> int:
    """Resident bytes."""
    return status(process, "VmRSS") * 1024
