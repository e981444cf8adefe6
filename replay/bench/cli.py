# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line: one module per subcommand, one line per error."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import textwrap
from collections.abc import Iterable, Sequence
from types import FrameType, ModuleType
from typing import Any, NoReturn

from bench.common.errors import BenchError

# subcommand -> module and what it does. A module has configure(parser) and execute(args) -> exit status; with
# VERBATIM its execute gets args.arguments as they were written. A command of two words stands with those of its first; the second
# alone will do.
COMMANDS = {
    "setup": ("bench.source.setup", "download and build everything"),
    "compare": ("bench.commands.compare", "play recordings in several modes: packets, bytes, CPU, latency, staleness"),
    "live": ("live.command", "measure how long a user waits at a live guest: stock, this library, VNC"),
    "test": ("bench.commands.testing", "run all tests, or some files of Python tests"),
    "diff": ("bench.commands.diff", "compare two result files or two libraries; exit status 1 if B is worse"),
    "results": ("pages.command", "measure the pages of results/, or write the page of a result file"),
    "watch": ("bench.commands.watch", "show live counters of a running guest's connections"),
    "installed": ("clients.installed", "measure what the installed library sends, with a test guest"),
    "clients": ("clients.command", "test the compatibility of clients, with a test guest"),
    "clients migration": ("clients.migration", "migrate a guest between libraries while a client watches"),
    "clients soak": ("clients.soak", "connect well-behaved and misbehaving clients to one QEMU for an hour"),
    "record": ("recordings.record", "show how to record a guest of your own; add the recording"),
    "record info": ("recordings.info", "validate a recording and describe it"),
    "record trim": ("recordings.trim", "cut a part out of a recording"),
    "deb": ("distro.deb", "build and test the Debian package"),
    "deb recipes": ("distro.recipes", "write the package recipes of other distributions"),
    "patches tree": ("bench.series.tree", "make a git tree with one commit per patch"),
    "patches refresh": ("bench.series.refresh", "write the patches from such a tree"),
    "patches export": ("bench.series.export", "write a series as mails for git am"),
    "patches each": ("bench.series.each", "build and test after every single patch"),
    "patches lines": ("bench.series.lines", "count the lines of each series"),
}
# for --help; those that are VERBATIM have their own
EXAMPLES = {
    "compare": "./run compare; ./run compare linux-desktop --links 20M/40ms --modes stock,flow --repeat 1; "
               "./run compare FILE.rec --pace recorded --modes stock,flow",
    "diff": "./run compare --output before; ./run compare --output after; ./run diff before/compare.json after/compare.json; "
            "./run compare linux-desktop --library git:HEAD~1 --library patched --modes flow; ./run diff results/own/compare.json",
    "results": "./run results --dry-run; ./run results main; ./run results distance staleness --repeat 2; "
               "./run results results/own/compare.json",
    "setup": "./run setup",
    "watch": "./run watch DIR",
    "patches tree": "./run patches tree /tmp/tree; ./run patches tree /tmp/tree --release 0.16.0",
    "patches refresh": "./run patches refresh /tmp/tree",
    "patches export": "./run patches export fixes /tmp/mails --release 0.16.0; ./run patches export fixes/0009 /tmp/mail",
    "patches each": "./run patches each --whole; ./run patches each tls fixes/0009 --release 0.16.0",
    "patches lines": "./run patches lines",
    "deb": "./run deb",
    "deb recipes": "./run deb recipes --release 0.16.0",
    "live": "./run live; ./run live --set main --dry-run; ./run live --guests text-qxl --scenarios scroll --links 20M40ms --modes "
            "stock,flow,vnc; ./run live --library DIR --modes flow; ./run live --sessions 1,8,32",
    "clients": "./run clients --dry-run; ./run clients --modes flow --transports tls",
    "clients migration": "./run clients migration --transports tls",
    "installed": "./run installed; ./run installed --transports plain",
    "clients soak": "./run clients soak --minutes 5 --modes flow",
    "record info": "./run record info linux-desktop; ./run record info --json FILE.rec",
    "record trim": "./run record trim linux-desktop@20-35 -o part.rec.xz",
    "record": "./run record --attach; ./run record --attach mine.rec --what TEXT --driver TEXT --licence TEXT",
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
        self._examples = EXAMPLES[name].split("; ")

    def format_help(self) -> str:
        says = self.description
        self.description = "\n".join(["examples:", *(f"  {example}" for example in self._examples),
                                      *(["", textwrap.fill(says, _WIDTH)] if says else [])])
        try:
            return super().format_help()
        finally:
            self.description = says

    def error(self, message: str) -> NoReturn:
        raise BenchError(f"{message} (see {self.prog} --help)", 2)


def _second(first: str) -> list[str]:
    """The second words of the commands that begin so."""
    return [name.split()[1] for name in COMMANDS if name.startswith(f"{first} ")]


def _first_words() -> list[str]:
    return list(dict.fromkeys(name.split()[0] for name in COMMANDS))


def _says(first: str) -> str:
    more = ", ".join(_second(first))
    if first not in COMMANDS:
        return f"work on the patches: {more}"
    return COMMANDS[first][1] + (f" (also: {more})" if more else "")


def _usage(first: str | None = None) -> str:
    """Of all commands, or of those that begin with a word that is none."""
    names = {name: _says(name) for name in _first_words()} if first is None else {
        word: COMMANDS[f"{first} {word}"][1] for word in _second(first)}
    shown = ("setup", "compare", "live") if first is None else [f"{first} {word}" for word in names]
    width = max(map(len, names))
    return "\n".join([f"usage: ./run {f'{first} ' if first else ''}COMMAND [--help]", "", "examples:",
                      *(f"  {EXAMPLES[name].split('; ')[0]}" for name in shown), "",
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
    module, _ = COMMANDS[name]
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
    module = _module(name)
    if getattr(module, "VERBATIM", False):
        return int(module.execute(argparse.Namespace(arguments=rest)))
    parser = _Parser(name)
    module.configure(parser)
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
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.status
    except OSError as error:    # a full disk, a folder that is gone
        if isinstance(error, BrokenPipeError):      # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            print(f"bench: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return _INTERRUPTED
