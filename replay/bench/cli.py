# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line: one module per subcommand, one line per error."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any, NoReturn

from bench.common.errors import BenchError

@dataclass(frozen=True)
class Command:
    """A module has configure(parser) and execute(args) -> exit status; with VERBATIM its execute gets args.arguments as they were written."""

    module: str
    does: str
    examples: str       # between semicolons
    needs: str
    writes: str
    takes: str


_LIVE = "root, x86_64, an otherwise idle machine"
_GUEST = "x86_64, the packages of packages-clients.txt"
# A command of two words stands with those of its first; the second alone will do.
COMMANDS = {
    "setup": Command("bench.source.setup", "download and build everything", "./run setup",
                     "network the first time", "build, subprojects, .cache", "2 minutes; 20 s after a change of a patch"),
    "compare": Command(
        "bench.commands.compare", "play recordings in several modes: packets, bytes, CPU, latency, staleness",
        "./run compare; ./run compare linux-desktop --links 20M/40ms --modes stock,flow --repeat 1; "
        "./run compare FILE.rec --pace recorded --modes stock,flow",
        "the right to make network namespaces", "compare.md, .csv and .json in --output", "2 minutes without arguments"),
    "live": Command(
        "live.command", "measure how long a user waits at a live guest: stock, this library, VNC",
        "./run live; ./run live main --dry-run; ./run live --guests text-qxl --scenarios scroll --links 20M40ms --modes stock,flow,vnc; "
        "./run live --library DIR --modes flow",
        _LIVE, "README.md and live.jsonl in --output; the guests in .cache/guest",
        "10 minutes, 10 more the first time; front 55, main 140, ways 60, edges 30 minutes, full 35 hours"),
    "live deployment": Command(
        "live.deployment", "second clients and displays, outages, pastes, a path that drops large packets",
        "./run live deployment; ./run live deployment paste out-20s --modes flow", _LIVE, "deployment.md and .jsonl in --output", "20 minutes"),
    "live reports": Command(
        "live.reports", "what people have reported: large screens, a client that only watches",
        "./run live reports; ./run live reports view-only view-only-busy --count 7200", _LIVE, "reports.md and .jsonl in --output", "45 minutes"),
    "live sessions": Command(
        "live.sessions", "the server's cost of many sessions at once",
        "./run live sessions; ./run live sessions 16 64 --modes stock", _LIVE, "sessions.md and .jsonl in --output", "half a minute to a minute per mode and N"),
    "test": Command("bench.commands.testing", "run all tests, or some files of Python tests",
                    "./run test; ./run test replay/bench/runs/test_modes.py; ./run test -k relay",
                    "6 GB of disk; some tests need root, and are skipped without", "build, .cache; the results: build/tests.json",
                    "9 minutes; a file of Python tests seconds to 2 minutes"),
    "diff": Command(
        "bench.commands.diff", "compare two result files or two libraries; exit status 1 if B is worse",
        "./run compare --output before; ./run compare --output after; ./run diff before/compare.json after/compare.json; "
        "./run compare linux-desktop --library git:HEAD~1 --library patched --modes flow; ./run diff results/own/compare.json",
        "result files of ./run compare", "nothing", "seconds"),
    "results": Command(
        "pages.command", "measure the pages of results/, or write the page of a result file",
        "./run results --dry-run; ./run results main; ./run results distance staleness --repeat 2; ./run results results/own/compare.json",
        "as ./run compare, and an otherwise idle machine", "results, the tables of README.md and docs/modes.md", "72 minutes; main 33; others as --dry-run says"),
    "watch": Command("bench.commands.watch", "show live counters of a running guest's connections", "./run watch DIR",
                     "a guest whose QEMU has SPICE_STREAM_STATS=FOLDER in its environment", "nothing", "until Ctrl-C"),
    "installed": Command("clients.installed", "measure what the installed library sends, with a test guest",
                         "./run installed; ./run installed plain",
                         "root, x86_64, QEMU with libspice-server1, the first packages of packages-clients.txt", "build/installed.jsonl",
                         "some minutes the first time"),
    "clients": Command("clients.command", "test the compatibility of clients, with a test guest",
                       "./run clients --dry-run; ./run clients --modes flow --transports tls", _GUEST, "README.md and clients.jsonl in --output", "hours for all"),
    "clients migration": Command("clients.migration", "migrate a guest between libraries while a client watches",
                                 "./run clients migration --transports tls", _GUEST, "migration.md and clients.jsonl in --output", "an hour for all"),
    "clients soak": Command("clients.soak", "connect well-behaved and misbehaving clients to one QEMU for an hour",
                            "./run clients soak; ./run clients soak stock --minutes 5", _GUEST, "nothing", "an hour, or --minutes"),
    "record": Command("recordings.record", "show how to record a guest of your own", "./run record", "nothing", "nothing", "a second"),
    "record add": Command("recordings.add", "add a recording to the shipped ones",
                          "./run record add mine.rec --what TEXT --driver TEXT --licence TEXT",
                          "./run setup; a recording whose contents may all be shipped", "replay/recordings", "as long as it takes to play it at full speed"),
    "record info": Command("recordings.describe", "validate a recording and describe it",
                           "./run record info linux-desktop; ./run record info --json FILE.rec", "./run setup", "nothing", "seconds"),
    "record trim": Command("recordings.trim", "cut a part out of a recording", "./run record trim linux-desktop@20-35 -o part.rec.xz",
                           "./run setup", "the file of --output", "seconds"),
    "deb": Command("distro.deb", "build and test the Debian package", "./run deb; ./run deb --suite trixie", "root, network",
                   "build/deb/SUITE; for another suite a root of 1.5 GB in .cache", "5 minutes, half of that when repeated"),
    "deb recipes": Command("distro.recipes", "write the package recipes of other distributions", "./run deb recipes --release 0.16.0",
                           "network the first time", "build/recipes", "seconds"),
    "patches tree": Command("bench.series.patchtree", "make a git tree with one commit per patch",
                            "./run patches tree /tmp/tree; ./run patches tree /tmp/tree --release 0.16.0",
                            "network the first time", "DIR", "seconds"),
    "patches refresh": Command("bench.series.refresh", "write the patches from such a tree", "./run patches refresh /tmp/tree",
                               "a tree of ./run patches tree", "patches, server", "seconds"),
    "patches export": Command("bench.series.export", "write a series as mails for git am",
                              "./run patches export fixes /tmp/mails --release 0.16.0; ./run patches export fixes/0009 /tmp/mail",
                              "user.name and user.email of git", "DIR", "seconds"),
    "patches each": Command("bench.series.each", "build and test after every single patch",
                            "./run patches each --whole; ./run patches each tls fixes/0009 --release 0.16.0",
                            "network the first time", ".cache/each; the log: build/each.log", "an hour, or minutes per patch"),
    "patches mutants": Command("bench.series.mutants", "list the changes of a file that no test notices", "./run patches mutants red-stream-egress.cpp",
                               "./run setup", "build/mutants", "some minutes"),
    "patches lines": Command("bench.series.lines", "count the lines of each series", "./run patches lines", "nothing", "nothing", "seconds"),
}
_WIDTH = 140        # of --help
_INTERRUPTED = 130


class _Help(argparse.RawDescriptionHelpFormatter):
    """Wide, and without every option in the first line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_WIDTH)

    def _format_usage(self, usage: str | None, actions: Iterable[argparse.Action], groups: Iterable[Any], prefix: str | None) -> str:
        shown = [action for action in actions if not action.option_strings or action.required]
        text = super()._format_usage(usage, shown, groups, prefix)
        return text if usage else f"{text.rstrip()} [OPTION ...]\n\n"     # it is asked for again with what it was


class _Parser(argparse.ArgumentParser):
    """Shows its examples first, and complains in one line."""

    def __init__(self, name: str) -> None:
        super().__init__(prog=f"./run {name}", formatter_class=_Help, add_help=False)
        self.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
        self._command = COMMANDS[name]

    def format_help(self) -> str:
        says, one = self.description, self._command
        self.description = "\n".join([*_examples(one.examples.split("; ")), *([textwrap.fill(says, _WIDTH)] if says else []),
                                      textwrap.fill(f"Needs: {one.needs}. Writes: {one.writes}. Takes: {one.takes}.", _WIDTH)])
        try:
            return super().format_help()
        finally:
            self.description = says

    def error(self, message: str) -> NoReturn:
        raise BenchError(f"{message} (see {self.prog} --help)", 2)


def _examples(shown: Iterable[str]) -> list[str]:
    return ["examples:", *(f"  {example}" for example in shown), ""]


def _second(first: str) -> list[str]:
    """The second words of the commands that begin so."""
    return [name.split()[1] for name in COMMANDS if name.startswith(f"{first} ")]


def _first_words() -> list[str]:
    return list(dict.fromkeys(name.split()[0] for name in COMMANDS))


def _says(first: str) -> str:
    more = ", ".join(_second(first))
    if first not in COMMANDS:
        return f"work on the patches: {more}"
    return COMMANDS[first].does + (f" (also: {more})" if more else "")


def _usage(first: str | None = None) -> str:
    """Of all commands, or of those that begin with a word that is none."""
    names = {name: _says(name) for name in _first_words()} if first is None else {
        word: COMMANDS[f"{first} {word}"].does for word in _second(first)}
    shown = ("setup", "compare", "live") if first is None else [f"{first} {word}" for word in names]
    width = max(map(len, names))
    return "\n".join([f"usage: ./run {f'{first} ' if first else ''}COMMAND [--help]", "",
                      *_examples(COMMANDS[name].examples.split("; ")[0] for name in shown),
                      *(f"  {name.ljust(width)}  {says}" for name, says in names.items()), "",
                      "Of a command of two words the second is enough: ./run tree for ./run patches tree.",
                      "With RUN_NO_PACKAGES=1 no Debian packages are looked for or installed.", ""])


def _chosen(arguments: list[str]) -> tuple[str, list[str]]:
    """The command, and what stands behind it."""
    first, *rest = arguments
    if rest and f"{first} {rest[0]}" in COMMANDS:
        return f"{first} {rest[0]}", rest[1:]
    for name in COMMANDS:
        if first == name or name.endswith(f" {first}"):
            return name, rest
    if rest and _second(first):
        raise BenchError(f"unknown command '{first} {rest[0]}': write {first} and one of {', '.join(_second(first))}", 2)
    raise BenchError(f"unknown command '{first}': choose one of {', '.join(_first_words())}", 2)


def _module(name: str) -> ModuleType:
    """Only the chosen command's module is loaded, so that one works whatever another needs."""
    module = COMMANDS[name].module
    if importlib.util.find_spec(module) is None:
        raise BenchError(f"{name} is not part of this tree", 2)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise BenchError(f"{name} needs Python's {error.name}, a package that ./run setup installs") from None


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        (sys.stdout if arguments else sys.stderr).write(_usage())
        return 0 if arguments else 2
    if arguments[0] not in COMMANDS and _second(arguments[0]) and arguments[1:2] in ([], ["-h"], ["--help"]):
        (sys.stdout if arguments[1:] else sys.stderr).write(_usage(arguments[0]))
        return 0 if arguments[1:] else 2
    name, rest = _chosen(arguments)
    module, parser = _module(name), _Parser(name)
    module.configure(parser)
    if getattr(module, "VERBATIM", False) and rest[:1] not in (["-h"], ["--help"]):
        return int(module.execute(argparse.Namespace(arguments=rest)))
    return int(module.execute(_parsed(parser, rest)))


def _parsed(parser: argparse.ArgumentParser, rest: list[str]) -> argparse.Namespace:
    """Options may stand between positional arguments, unless those take all the rest."""
    try:
        return parser.parse_intermixed_args(rest)
    except TypeError:
        return parser.parse_args(rest)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    return guarded("bench", lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def guarded(program: str, run: Callable[[], int]) -> int:
    """The exit status of a program. Its errors are one line, which begins with its name."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        return run()
    except BenchError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.status
    except OSError as error:    # a full disk, a folder that is gone
        if isinstance(error, BrokenPipeError):      # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            print(f"{program}: {error.filename or 'the output'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return _INTERRUPTED
