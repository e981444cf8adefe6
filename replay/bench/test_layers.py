# SPDX-License-Identifier: LGPL-2.1-or-later
"""The layers of the bench: each imports only from the layers below it, and its README lists its modules. No packages of replay/ import
each other."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

_BENCH = Path(__file__).parent
_REPLAY = _BENCH.parent
_PACKAGES = {file.relative_to(_REPLAY).parts[0] for file in _REPLAY.glob("*/*.py")}
_LAYERS = re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", (_BENCH / "README.md").read_text(), re.MULTILINE)   # the topmost first


def _modules(layer: str) -> list[Path]:
    """But for tests, which may look anywhere."""
    return [file for file in sorted((_BENCH / layer).glob("*.py")) if not file.name.startswith(("test_", "__init__"))]


def _imported(source: str, packages: set[str]) -> Iterator[str]:
    """The modules of the packages, wherever in the file: bench.lab.lab and bench.lab; all that `from bench import` names."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            names = [f"{node.module}.{one.name}" for one in node.names]
        yield from (name for name in names if name.split(".")[0] in packages)


def _wrong(layer: str, source: str) -> list[str]:
    return [name for name in _imported(source, {"bench"}) if name.split(".")[1] not in _LAYERS[_LAYERS.index(layer):]]


def test_every_folder_with_modules_is_a_layer() -> None:
    assert {file.parent.name for file in _BENCH.glob("*/*.py")} == set(_LAYERS)
    assert {file.stem for file in _BENCH.glob("*.py") if not file.name.startswith("test_")} == {"__init__", "__main__", "cli", "conftest"}


@pytest.mark.parametrize("layer", _LAYERS)
def test_imports_go_downwards(layer: str) -> None:
    assert {file.name: wrong for file in _modules(layer) if (wrong := _wrong(layer, file.read_text()))} == {}


@pytest.mark.parametrize("layer", _LAYERS)
def test_no_circle_within_a_layer(layer: str) -> None:
    needs = {file.stem: {name.split(".")[2] for name in _imported(file.read_text(), {"bench"}) if name.startswith(f"bench.{layer}.")}
             for file in _modules(layer)}
    assert _circles(needs) == {}


def _circles(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What is left without those that need nothing, again and again."""
    left = dict(needs)
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    return left


def _package(module: str) -> str:
    """A layer of the bench counts as a package."""
    return ".".join(module.split(".")[:2 if module.startswith("bench.") else 1])


def test_no_circle_of_packages() -> None:
    needs: dict[str, set[str]] = defaultdict(set)
    for file in _REPLAY.glob("*/**/*.py"):
        if not file.name.startswith(("test_", "conftest")):
            package = _package(".".join(file.relative_to(_REPLAY).with_suffix("").parts))
            needs[package] |= {_package(name) for name in _imported(file.read_text(), _PACKAGES)} - {package}
    assert "recordings" in needs["bench.runs"]
    assert _circles(needs) == {}


def test_a_circle_is_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}).keys() == {"a", "b", "c"}


@pytest.mark.parametrize("layer", _LAYERS)
def test_the_readme_names_every_module(layer: str) -> None:
    table = re.findall(r"^\| (`.+?) \|", (_BENCH / layer / "README.md").read_text(), re.MULTILINE)
    named = [name for row in table for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == [file.stem for file in _modules(layer)]


@pytest.mark.parametrize("source", ["from bench.runs import run", "import bench.commands.compare as c", "from bench import report",
                                    "def later():\n    from bench.report.report import rows", "from bench import cli"])
def test_an_import_that_goes_upwards_is_found(source: str) -> None:
    assert _wrong("lab", source) and not _wrong("lab", "from bench.common import paths\nimport os\nfrom bench.lab import netns")
