# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run mutants FILE: does any test fail if one line of a file of the library is changed?

The file is compiled with coverage once, so each change is tried only with the tests that execute its line, the quickest first. A
change is compiled alone and linked before the library's archives. A change that compiles to the same code is none. What a test
notices is recorded, so a later run continues; what none notices is tried again, as a test may be new."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import Progress, duration
from bench.common.steps import alone
from bench.source import mesontest, setup, upstream

_ACCEPTED = Path(__file__).with_suffix(".txt")
_PERMITTED = 10         # per cent that may survive without a reason
_LIMIT = 20.0           # seconds that a test may take, at least
_SLOWER = 5             # times as long as it took
_SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+ 1": "+ 0", "- 1": "- 0", "&&": "||", "||": "&&"}
_SWAP = re.compile(r"(?<= )(?:(?:[<>]=?|[=!]=|&&|\|\|)(?=\s)|[+-] 1(?![\w.]))")
_CONDITION = re.compile(r"\b(if|while) \(|\breturn (?=[^;]*(?:&&|\|\|))|(?<=[^=!<>]) = (?=[^;=]*(?:&&|\|\|))")
# Not one that only takes or gives back memory: leaks are for AddressSanitizer.
_CALL = re.compile(r"^[ \t]+(?!(?:return|delete|if|while|for|switch|else|case|spice_assert|region_init|region_destroy|g_free|free)\b"
                   r"|g_assert)"
                   r"(?:[\w:]+(?:<[\w:]+>)?(?:\(\))?(?:\[[^]\n]*\])*(?:->|\.|::))*\w+(?=\()", re.MULTILINE)
_GOLD = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
_QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    begin: int
    end: int
    new: str
    line: int
    change: str     # "OLD -> NEW" in one line
    code: str       # the line

    def of(self, text: str) -> str:
        """On as many lines, as assertions and messages name them."""
        old = text[self.begin:self.end]
        return text[:self.begin] + self.new + "\n" * (old.count("\n") - self.new.count("\n")) + text[self.end:]


def _end(code: str, begin: int) -> int:
    """The place of the bracket or semicolon that ends what begins there."""
    depth = 0
    for place in range(begin, len(code)):
        if code[place] in "([{":
            depth += 1
        elif code[place] in ")]}":
            depth -= 1
        if depth < 0 or (code[place] == ";" and depth == 0):
            return place
    return begin


def _operands(code: str, begin: int, end: int, alone: bool) -> Iterator[tuple[int, int, str]]:
    """Each condition between two places, and what it is if it has no say: an operand of && is true, of || false, one that is `alone`
    both."""
    depth, cuts = 0, []
    for place in range(begin, end):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0 and code[place:place + 2] in ("&&", "||"):
            cuts.append((place, code[place:place + 2]))
    if any(operator == "||" for _, operator in cuts):
        cuts = [cut for cut in cuts if cut[1] == "||"]
    for start, stop in zip([begin, *(place + 2 for place, _ in cuts)], [*(place for place, _ in cuts), end]):
        part = code[start:stop]
        first, last = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        if cuts or alone:
            yield from ((first, last, new) for new in ({"&&": ["true"], "||": ["false"]}[cuts[0][1]] if cuts else ["true", "false"]))
        open_bracket = first + (code[first] == "!")
        if code[open_bracket] == "(" and _end(code, open_bracket + 1) == last - 1:
            yield from _operands(code, open_bracket + 1, last - 1, False)
        elif cuts:
            yield from _operands(code, first, last, False)


def mutants(text: str) -> list[Mutant]:
    """The changes of a C++ file in spice's style, in its order."""
    code = _QUIET.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found: set[tuple[int, int, str]] = set()
    for condition in _CONDITION.finditer(code):
        loops = condition[1] == "while"
        begin = condition.end()
        end = _end(code, begin)
        found |= {(first, last, new) for first, last, new in _operands(code, begin, end, bool(condition[1]))
                  if code[first:last] not in ("true", "false", new) and not (loops and new == "true")}
    found |= {(swap.start(), swap.end(), _SWAPS[swap[0]]) for swap in _SWAP.finditer(code)}
    for call in _CALL.finditer(code):
        end = _end(code, call.end() + 1)
        if code[end + 1:end + 2] == ";" and code[:call.start()].rstrip()[-1:] in "{};:)":
            found.add((call.start() + len(call[0]) - len(call[0].lstrip()), end + 1, ""))
    lines = text.splitlines()

    def made(begin: int, end: int, new: str) -> Mutant:
        line = text.count("\n", 0, begin) + 1
        old = textwrap.shorten(text[begin:end], 60, placeholder="...")
        return Mutant(begin, end, new, line, f"{old.strip()} -> {new.strip()}" if new else f"{old} deleted", lines[line - 1].strip())
    return [made(*one) for one in sorted(found)]


@dataclass
class Test:
    name: str
    argv: list[str]
    folder: str
    link: list[str]                             # the command that makes its program; another -o behind it counts
    seconds: float = 0.0
    lines: set[int] = field(default_factory=set)        # of the file, that it executes


def accepted(file: Path = _ACCEPTED) -> dict[tuple[str, str, str], str]:
    """Name of the file, change and line of code -> why no test need notice it."""
    rows = [line.split("\t") for line in file.read_text().splitlines() if line and not line.startswith("#")]
    if wrong := [row[0] for row in rows if len(row) != 4]:
        raise BenchError(f"{file.name}: {wrong[0]}: not FILE, CHANGE, CODE and REASON with tabs between")
    return {(row[0], row[1], row[2]): row[3] for row in rows}


class Trial:
    """The changes of one file, `source`, compiled in `build`."""

    def __init__(self, build: Path, source: Path, record: Path, work: Path) -> None:
        self.build, self.source, self.text = build, source, source.read_text()
        self._record, self._work = record, work
        self._compile = self._compile_command()
        self.tests: list[Test] = []
        self._instrumented: list[int] = []

    def _compile_command(self) -> list[str]:
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if (self.build / entry["file"]).resolve() == self.source.resolve():
                options = shlex.split(entry["command"].partition(" -MD ")[0])       # behind that are the files
                return [*(part for part in options if part != "ccache"), f"-I{self.source.parent}", "-O1", "-g0", "-w", "-c"]
        raise BenchError(f"{self.source.name} is not compiled in {self.build}", 2)

    def compile(self, text: str, name: str, *options: str) -> Path | None:
        """The object file; None if the text is no C++."""
        file = self._work / name / self.source.name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        made = file.with_suffix(".o")
        done = subprocess.run([*self._compile, *options, str(file), "-o", str(made)], cwd=self.build, capture_output=True,
                              check=False)
        return None if done.returncode else made

    def _link(self, test: Test, made: Path, *options: str) -> Path | None:
        program = made.with_name(test.name)
        done = subprocess.run([test.link[0], str(made), *test.link[1:], *options, *_GOLD, "-Wl,-s", "-o", str(program)], cwd=self.build,
                              capture_output=True, check=False)
        return None if done.returncode else program

    def _passes(self, test: Test, program: Path, limit: float, env: dict[str, str] | None = None) -> bool:
        child = subprocess.Popen([*mesontest.own_loopback(), str(program), *test.argv[1:]], cwd=test.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                 env={**os.environ, **(env or {})})
        try:
            return child.wait(limit) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def find_tests(self, workers: int) -> None:
        """Runs each test once, and finds what it executes of the file."""
        made = self.compile(self.text, "coverage", "--coverage", "-O0")
        if not made:
            raise BenchError(f"{self.source.name} does not compile with --coverage")

        def look(entry: dict[str, Any]) -> Test | None:
            argv: list[str] = entry["cmd"]
            program = Path(argv[0])
            if not program.is_file() or not program.is_relative_to(self.build):
                return None     # a script, or not built
            commands = subprocess.run(["ninja", "-t", "commands", program.relative_to(self.build)], cwd=self.build,
                                      capture_output=True, text=True, check=True).stdout
            link = [part for part in shlex.split(commands.splitlines()[-1]) if part != "ccache"]
            test = Test(str(entry["name"]), argv, str(entry["workdir"] or self.build), link)
            linked = self._link(test, made, "--coverage")
            if not linked:
                return None
            folder = self._work / "coverage" / f"{test.name}.counted"
            began = time.monotonic()
            passes = self._passes(test, linked, 300, {"GCOV_PREFIX": str(folder)})
            test.seconds = time.monotonic() - began
            linked.unlink()
            if passes:
                test.lines = self._executed(made, folder)
            return test

        with ThreadPoolExecutor(workers) as pool:
            self.tests = sorted((test for test in pool.map(look, mesontest.tests(self.build)) if test and test.lines), key=lambda test: test.seconds)

    def _executed(self, made: Path, folder: Path) -> set[int]:
        counted = next(folder.rglob("*.gcda"), None)
        if not counted:
            return set()
        shutil.copy(made.with_suffix(".gcno"), counted.with_suffix(".gcno"))
        found = subprocess.run(["gcov", "--json-format", "--stdout", counted], cwd=folder, capture_output=True, check=True).stdout
        lines = [line for file in json.loads(found)["files"] if file["file"].endswith(f"/{self.source.name}") for line in file["lines"]]
        self._instrumented = sorted({line["line_number"] for line in lines})
        return {line["line_number"] for line in lines if line["count"]}

    def covering(self, line: int) -> list[Test]:
        """The tests that execute this line. Of a statement of several lines the compiler counts some only."""
        near = {max((one for one in self._instrumented if one <= line), default=line),
                min((one for one in self._instrumented if one >= line), default=line)}
        return [test for test in self.tests if near & test.lines]

    def verdict(self, number: int, mutant: Mutant, original: bytes) -> str:
        """Which test notices it; or "survived", "same code", or "no code"."""
        made = self.compile(mutant.of(self.text), str(number))
        try:
            if not made:
                return "no code"
            if made.read_bytes() == original:
                return "same code"
            for test in self.covering(mutant.line):
                program = self._link(test, made)
                if not program:
                    return "no code"
                if not self._passes(test, program, max(_LIMIT, test.seconds * _SLOWER)):
                    return test.name
                program.unlink()
            return "survived"
        finally:
            shutil.rmtree(self._work / str(number))

    def run(self, workers: int) -> dict[Mutant, str]:
        """The verdict on each change."""
        known: dict[str, str] = json.loads(self._record.read_text()) if self._record.is_file() else {}
        every = mutants(self.text)
        keys = {mutant: hashlib.sha256(mutant.of(self.text).encode()).hexdigest() for mutant in every}
        found = {mutant: known[keys[mutant]] for mutant in every if known.get(keys[mutant], "survived") != "survived"}
        left = [mutant for mutant in every if mutant not in found]
        began = time.monotonic()
        object_file = self.compile(self.text, "original")
        if not object_file:
            raise BenchError(f"{self.source.name} does not compile by itself")
        original = object_file.read_bytes()
        self.find_tests(workers)
        progress = Progress(len(left), float(len(left)))
        progress.note(f"{self.source.name}: {len(every)} changes, {len(left)} to try with {len(self.tests)} tests, "
                      f"found in {duration(time.monotonic() - began)}")
        self._record.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(workers) as pool:
            tried = {pool.submit(self.verdict, number, mutant, original): mutant for number, mutant in enumerate(left)}
            try:
                for one in as_completed(tried):
                    mutant = tried[one]
                    found[mutant] = one.result()
                    progress.end(f"{self.source.name}:{mutant.line}: {mutant.change}", found[mutant], 1.0)
                    self._record.write_text(json.dumps({keys[done]: found[done] for done in found}))
            finally:
                pool.shutdown(cancel_futures=True)
        return found


def report(name: str, found: dict[Mutant, str], reasons: dict[tuple[str, str, str], str]) -> int:
    """Prints what survived; returns 1 if that is too much."""
    tried = {mutant: verdict for mutant, verdict in found.items() if verdict not in ("no code", "same code")}
    survived = [mutant for mutant, verdict in sorted(tried.items(), key=lambda item: item[0].begin) if verdict == "survived"]
    without = [mutant for mutant in survived if (name, mutant.change, mutant.code) not in reasons]
    for mutant in without:
        print(f"{name}:{mutant.line}: {mutant.change}\n    {mutant.code}")
    print(f"{name}: of {len(tried)} changes {len(tried) - len(survived)} were noticed, {len(survived)} survived, "
          f"{len(without)} without a reason in {_ACCEPTED.relative_to(paths.ROOT)}")
    return 1 if len(without) * 100 > len(tried) * _PERMITTED else 0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Changes a file one line at a time, and lists the changes that no test notices. What a test notices is recorded: "
                          "repeat it to continue.")
    parser.add_argument("file", metavar="FILE", help="of server/, or its name alone")


def execute(args: argparse.Namespace) -> int:
    setup.setup()
    source = upstream.subproject() / "server" / Path(args.file).name
    if source.suffix not in (".c", ".cpp") or not source.is_file():
        raise BenchError(f"{args.file} is no source file of the library", 2)
    with alone("each"), tempfile.TemporaryDirectory(prefix="mutants-") as work:
        trial = Trial(paths.build_dir(), source, paths.build_dir() / "mutants" / f"{source.name}.json", Path(work))
        return report(source.name, trial.run(os.cpu_count() or 1), accepted())
