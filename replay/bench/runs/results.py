# SPDX-License-Identifier: LGPL-2.1-or-later
"""The result file: one JSON document, with each run on a line of its own; it may be compressed with xz. An unknown
figure is null, never 0."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from bench.common import atomic
from bench.common.errors import BenchError
from bench.runs import modes
from bench.runs.store import Case

SCHEMA = "spice-bench-results"
VERSION = 1

_PARTS = {"command": list, "environment": dict, "plan": dict, "complete": bool, "warm_ups": list, "runs": list}
_ENVIRONMENT = {"kernel": object, "cpu": object, "packages": dict, "recordings": dict, "libraries": dict}
# fields that identify row and repeat of a run
RUN_KEY = ("recording", "link", "pace", "transport", "library", "mode", "repeat")
_XZ = b"\xfd7zXZ\0"


def document(environment: dict[str, Any], command: list[str], plan: dict[str, Any]) -> dict[str, Any]:
    return {"schema": SCHEMA, "version": VERSION, "command": command, "environment": environment, "plan": plan,
            "complete": False, "seconds": 0.0, "warm_ups": [], "runs": []}


def save(result: dict[str, Any], file: Path) -> None:
    atomic.write_text(file, _text(result))


def _text(result: dict[str, Any]) -> str:
    """The file is written after each run, so a run is one line."""
    def value(name: str) -> str:
        if name in ("warm_ups", "runs"):
            return "[\n" + ",\n".join(map(json.dumps, result[name])) + "\n]"
        return json.dumps(result[name], indent=1)
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {value(name)}" for name in result) + "\n}\n"


def load(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        result = json.loads(lzma.decompress(data) if data.startswith(_XZ) else data)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}", 2) from None
    except lzma.LZMAError as error:
        raise BenchError(f"{path} is damaged: {error}", 2) from None
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{path} is not JSON: {error}", 2) from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise BenchError(f"{path} is not a result file of ./run compare", 2)
    if result.get("version") != VERSION:
        raise BenchError(f"{path} has version {result.get('version')} of the format, and this program reads {VERSION}: measure again", 2)
    if damage := _damage(result):
        raise BenchError(f"{path} is damaged: {damage}", 2)
    return result


def case(run: dict[str, Any]) -> Case:
    """As RunSpec has it."""
    return Case((run["recording"],), modes.row(run["library"], run["mode"]), run["link"],
                tuple((name, run[name]) for name in ("pace", "transport")), run["repeat"])


def library(result: dict[str, Any] | None) -> str | None:
    """The hash of what this tree's library was made from; an old result may lack it."""
    tree: str | None = (result or {"environment": {}})["environment"].get("library_tree")
    return tree


def empty_cells(result: dict[str, Any]) -> list[str]:
    """The planned cells without a run that counts."""
    counted = {case(run).row for run in result["runs"] if run["valid"]}
    return [cell for cell in result["plan"]["cells"] if cell not in counted]


def load_complete(path: Path, status: int = 1) -> dict[str, Any]:
    """Loads a result; exits with that status if the comparison was interrupted."""
    result = load(path)
    if not result["complete"]:
        raise BenchError(f"{path} is incomplete: to continue, run {' '.join(result['command'])}", status)
    return result


def _damage(result: dict[str, Any]) -> str | None:
    for name, kind in _PARTS.items():
        if not isinstance(result.get(name), kind):
            return f"it has no {name}"
    if not all(isinstance(word, str) for word in result["command"]):
        return "its command is not made of words"
    environment = result["environment"]
    for name, kind in _ENVIRONMENT.items():
        if name not in environment or not isinstance(environment[name], kind):
            return f"its environment has no {name}"
    if not all(isinstance(library, dict) and "patched" in library for library in environment["libraries"].values()):
        return "a library does not say whether it is patched"
    if result["complete"] and not result["runs"]:
        return "it has no runs"
    for number, run in enumerate(result["runs"], 1):
        if not isinstance(run, dict) or any(name not in run for name in (*RUN_KEY, "valid")):
            return f"run {number} does not say what it is of"
        if not all(isinstance(run[name], str) for name in RUN_KEY if name != "repeat"):
            return f"run {number} does not say what it is of"
        if run["valid"] and not all(isinstance(run.get(side), dict) for side in ("server", "client")):
            return f"run {number} has no figures"
        if str(run["mode"]).split(":", 1)[0] not in modes.MODES:
            return f"run {number} is in an unknown mode, {run['mode']}"
    return None
