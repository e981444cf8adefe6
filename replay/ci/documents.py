# SPDX-License-Identifier: LGPL-2.1-or-later
"""What .ci/run does, in order (ROAD), and the commands that the documents tell a reader to run. Each of these is run, in the order in
which one reads, unless documents.txt says why not.

A command is a line of an indented block, or words in backticks that begin with a program. `./run NAME` in a sentence, with no argument
or with the name of an option, only names a command: its --help must know it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from bench.common import commit, paths
from bench.common.errors import BenchError

_KINDS = ("text", "except", "add", "with", "before")
RULES = Path(__file__).with_name("documents.txt")
_LEFT_OUT = ("CHANGELOG.md",)       # tells what was
_PROGRAM = re.compile(r"\./run\b|\.ci/run\b|(?:build|replay)/\S+ --|[A-Z_]+=\S+ \S|(?:meson|ninja|git|apt|apt-get|apt-cache|apt-mark|"
                      r"dpkg-\w+|dpkg|qm|virsh|semanage|systemctl|ssh|scp|python3|makepkg|fedpkg|abuild) +\S")
_NAMED = re.compile(r"(?:\./run|\.ci/run)(?: [a-z]+)*(?: \[.*\])?(?P<option> --[a-z-]+)?")
_SPAN = re.compile(r"(?<!`)`([^`]+)`")
_COMMENT = re.compile(r"\s+# .*$")
_OURS = "dpkg-query -W -f '${Version}' libspice-server1 | grep -q batch"


@dataclass(frozen=True)
class Step:
    """Of the road of somebody who tries, tests, builds, installs, looks, reads and goes back, to the letter of the documents."""
    name: str
    command: str
    then: str = ""              # shell; must be true after it
    on: str = ""                # the step without which it is not tried
    documented: bool = True     # whether it is a command of the documents


ROAD = (
    Step("compare", "./run compare"),
    Step("test", "./run test"),
    Step("count before", "./run installed", "! grep -q batch build/installed.jsonl"),
    Step("deb", "./run deb"),
    Step("install", "apt-get install ./build/deb/bookworm/libspice-server1_*.deb", _OURS, on="deb"),
    Step("count after", "./run installed", "grep -q batch build/installed.jsonl", on="install"),
    Step("documents", "PYTHONPATH=replay PYTHONDONTWRITEBYTECODE=1 python3 -m ci.reader", on="install", documented=False),
    Step("go back", "apt-get install --allow-downgrades libspice-server1/bookworm", f"! {_OURS} && qemu-system-x86_64 --version", on="install"),
)


@dataclass(frozen=True)
class Command:
    document: str       # its path in the tree
    line: int
    text: str           # without its comment, in one line
    in_block: bool = False

    @property
    def named(self) -> bool:
        """Whether a sentence only speaks of it."""
        return not self.in_block and bool(_NAMED.fullmatch(self.text))

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


def found_in(document: str, text: str) -> list[Command]:
    """In the order in which they are read."""
    found = []
    prose = []
    block = previous = ""
    began = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        inside = re.match(r" {4}", line) and (began or not previous.strip())
        if inside:
            began = began or number
            block += f"{_COMMENT.sub('', line).strip()}\n"
        elif line.strip() or not block:
            if block:
                found += _lines(document, began, block)
            block, began = "", 0
        prose.append("" if inside else line)
        previous = line
    if block:
        found += _lines(document, began, block)
    whole = "\n".join(prose)
    for span in _SPAN.finditer(whole):
        said = " ".join(span[1].split())
        if _PROGRAM.match(said):
            found.append(Command(document, whole.count("\n", 0, span.start()) + 1, said))
    return sorted(found, key=lambda command: command.line)


def _lines(document: str, began: int, block: str) -> list[Command]:
    """The commands of a block; what it says in a row is one."""
    joined = re.sub(r"\\\n|(?<=[|&])\n", lambda end: " " * len(end[0]), block.rstrip("\n"))
    found, number = [], began
    for line in joined.split("\n"):
        for text in re.split(r"; (?=\./run )", " ".join(line.split())):
            if text:
                found.append(Command(document, number, text, in_block=True))
        number += 1
    return found


def found() -> list[Command]:
    """In all documents; the reader's first one comes first."""
    listed = (commit.git("ls-files", "*.md") or "").split()
    names = sorted(set(listed) - set(_LEFT_OUT), key=lambda name: (name != "README.md", name.count("/"), name))
    if not names:
        raise BenchError("git names no documents")
    return [command for name in names for command in found_in(name, (paths.ROOT / name).read_text(encoding="utf-8"))]


@dataclass(frozen=True)
class Rule:
    """Of documents.txt: for the commands that begin so, in the documents that the pattern matches."""
    kind: str
    says: str
    document: str
    begins: str

    def holds_for(self, command: Command) -> bool:
        if self.kind == "text" and not command.in_block or not fnmatchcase(command.document, self.document or "*"):
            return False
        return command.text == self.begins[:-1] if self.begins.endswith("$") else command.text.startswith(self.begins)


def rules(text: str) -> list[Rule]:
    """A group of lines is of all the kinds that stand above it."""
    found: list[Rule] = []
    above: list[tuple[str, str]] = []
    began = False
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            kind, _, says = line[1:].removesuffix("]").partition(": ")
            if kind not in _KINDS:
                raise BenchError(f"{RULES.name}: [{kind}: ...] is not one of {', '.join(_KINDS)}")
            above = [*([] if began else above), (kind, says)]
            began = False
        else:
            began = True
            document, separator, begins = line.rpartition(".md: ")
            found += [Rule(kind, says, f"{document}.md" if separator else "", begins) for kind, says in above]
    return found


def first(kind: str, command: Command, given: Sequence[Rule]) -> str:
    """What the first rule of this kind that holds for the command says."""
    return next((rule.says for rule in given if rule.kind == kind and rule.holds_for(command)), "")


def filled(command: Command, given: Sequence[Rule]) -> str:
    """As it is run: names such as DIR are replaced."""
    text = command.text
    for rule in given:
        if rule.kind == "with" and rule.holds_for(command):
            name, _, value = rule.says.partition(" = ")
            text = re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w])", lambda _, value=value: value, text)
    return text
