# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands that are found in documents, and how they are read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from ci import documents, reader, root
from ci.documents import ROAD, Command
from ci.reader import NAMED, NOT_RUN, ONLY, RAN, ROADS

_PAGE = """# A page

Run `./run setup`, then `./run export fixes DIR --release
VERSION`; `text`, ``code `x` ``, `SPICE_STREAM=cork` and `./run compare --modes` too.

    ./run tree DIR      # a comment
    cd DIR
    ./run export fixes/{0001,0002} \\
        DIR
    git ls-files |
        wc -l
    ./run clients soak; ./run installed

- an item that goes on
    as an indented line is no block
"""


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    assert [(command.line, command.text, command.named) for command in documents.found_in("a.md", _PAGE)] == [
        (3, "./run setup", True), (3, "./run export fixes DIR --release VERSION", False), (4, "./run compare --modes", True),
        (6, "./run tree DIR", False), (7, "cd DIR", False), (8, "./run export fixes/{0001,0002} DIR", False),
        (9, "git ls-files | wc -l", False), (10, "./run clients soak", False), (10, "./run installed", False)]


def _rules() -> list[documents.Rule]:
    return documents.rules(documents.RULES.read_text(encoding="utf-8"))


def useless(given: list[documents.Rule], commands: list[documents.Command]) -> list[str]:
    """Rules that hold for no command."""
    return sorted({f"{documents.RULES.name}: no document has `{rule.begins}`" + (f" in {rule.document}" if rule.document else "")
                   for rule in given if not any(map(rule.holds_for, commands))})


def test_every_rule_is_of_a_command_that_some_document_has() -> None:
    assert useless(_rules(), documents.found()) == []


def test_a_rule_that_no_document_has_is_an_error() -> None:
    given = documents.rules("[except: why]\na.md: ./run nothing\n")
    assert useless(given, documents.found_in("a.md", _PAGE)) == ["documents.txt: no document has `./run nothing` in a.md"]
    with pytest.raises(BenchError, match="maybe: .*is not one of"):
        documents.rules("[maybe: why]\n")


def test_each_step_of_the_road_is_what_a_document_says() -> None:
    said = {command.text for command in documents.found() if command.document in ("README.md", "docs/install.md")}
    assert [step.command for step in ROAD if step.documented and step.command not in said] == []


def test_no_name_is_left_that_stands_for_something() -> None:
    """Such as DIR or FILE.rec."""
    given = _rules()
    left = [str(command) for command in documents.found()
            if not command.named and not any(documents.first(kind, command, given) for kind in ("text", "except"))
            and re.search(r"(?<![\w$/.{-])(?!END\b)[A-Z]{3,}(?:\.\w+)*(?![\w=_}/])", documents.filled(command, given).replace("HEAD", ""))]
    assert left == []


def _read(text: str, rules: str, folder: Path) -> list[tuple[str, int]]:
    with reader.Reader(documents.rules(rules), folder / "log") as one:
        return [(done.how, done.status) for done in one.read(documents.found_in("a.md", text), folder)]


def test_what_is_read_is_run_in_one_folder_after_the_other(tmp_path: Path) -> None:
    text = "\n    mkdir FOLDER\n    cd FOLDER\n    touch here\n    ls here\n    ls there\n    a line\n    qm list\n    seq\n    ./run deb\n"
    rules = ('[with: FOLDER = "$WORK/new"]\nmkdir\ncd\n[text: none]\na line\n[except: no host]\nqm\n[add: 3: counts]\nseq\n'
             '[before: touch "$WORK/new/there"]\nls there\n')
    assert _read(text, rules, tmp_path) == [(RAN, 0)] * 5 + [(NOT_RUN, 0), (ONLY, 0), (ROADS, 0)]
    assert _read("\n    ls there\n    true | false | true\n", "", tmp_path) == [(RAN, 2), (RAN, 1)]


def test_a_command_that_is_named_is_one_and_has_the_option(tmp_path: Path) -> None:
    assert _read("`./run diff`, `./run compare --modes`; `./run nothing`, `./run compare --nothing`", "", tmp_path) == [
        (NAMED, 0), (NAMED, 0), (NAMED, 2), (NAMED, 1)]


def test_what_was_run_in_the_clone_is_not_run_again(tmp_path: Path) -> None:
    assert _read("`./run diff`, `./run diff`\n\n    true\n    true\n", "", tmp_path) == [(NAMED, 0)] * 2 + [(RAN, 0)] * 2
    said = (tmp_path / "log").read_text()
    assert (said.count("$ ./run diff --help"), said.count("$ true")) == (1, 2)


def test_a_readers_files_are_safe_outside_of_ci() -> None:
    """The step as it is started in the root, with no more of the environment than there."""
    [step] = [step for step in ROAD if not step.documented]
    environment = {name: value for name, value in root.environment().items() if name != "CI"}
    done = subprocess.run(["bash", "-c", step.command], cwd=paths.ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "only .ci/run starts it" in done.stderr


def test_a_command_can_be_read_again() -> None:
    assert str(Command("a.md", 3, "./run setup")) == "a.md:3: ./run setup"
