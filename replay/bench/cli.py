# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line: one module a subcommand, one line an error."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import NoReturn

from bench.common.errors import BenchError

# subcommand -> module and what it does. A module has configure(parser) and execute(args) -> exit status; with
# VERBATIM its execute gets args.arguments as they were written.
COMMANDS = {
    "setup": ("bench.build.setup", "get and build everything"),
    "compare": ("bench.commands.compare", "play recordings in every mode and print what each cost"),
    "test": ("bench.build.testing", "run every test"),
    "diff": ("bench.commands.diff", "compare two result files"),
    "results": ("bench.commands.makeresults", "make everything in results/ anew"),
    "watch": ("bench.commands.watch", "what the library in a running guest is doing"),
    "page": ("bench.commands.page", "write the page of a result file anew"),
    "yardstick": ("bench.commands.yardstick", "show recordings by VNC, and see how old the picture is there"),
    "egress": ("bench.commands.egress", "measure the stream layer alone"),
    "vm": ("vm.command", "run a command under another kernel"),
    "tree": ("bench.series.tree", "the patches as commits of a git tree, to work on"),
    "refresh": ("bench.series.refresh", "write the patches again, from such a tree or as they are"),
    "export": ("bench.series.export", "write a series of patches as mails"),
    "rebase": ("bench.series.rebase", "whether the patches apply to another release"),
    "each": ("bench.series.each", "build and test after every single patch"),
    "recording": ("bench.commands.recording", "look into a recording"),
    "deb": ("distro.deb", "build Debian packages of the library"),
    "recipes": ("distro.recipes", "write the packages' recipes of other distributions"),
    "live": ("live.command", "work at a guest as a person does: response time, lag, bytes"),
    "clients": ("clients.command", "try real clients on a QEMU, in every mode"),
    "migration": ("clients.migration", "move a guest between libraries under a client"),
    "installed": ("clients.installed", "count what QEMU sends with the library that is installed"),
    "soak": ("clients.soak", "play clients good and bad for an hour, and look for harm"),
    "record": ("recorder.record", "make the recordings anew, or take in one's own"),
}
# for --help; those that are VERBATIM have their own
EXAMPLES = {
    "compare": "./run compare; ./run compare linux-desktop --link 20M/40ms --modes stock,flow --quick; "
               "./run compare FILE.rec --pace recorded",
    "diff": "./run diff results/lan/compare.json.xz results/own/compare.json; "
            "./run diff git:HEAD~1 patched linux-desktop --modes flow",
    "results": "./run results --dry-run; ./run results --only main; ./run results distance age --repeat 2",
    "setup": "./run setup --verbose",
    "watch": "./run watch DIR, beside a guest started with SPICE_STREAM_STATS=DIR",
    "page": "./run page results/own/compare.json",
    "yardstick": "./run yardstick linux-desktop@30-45 --link 2M100ms --beside results/own/compare.json",
    "egress": "./run egress linux-desktop --repeat 3",
    "vm": "./run vm ./run compare tiny --link 20M40ms",
    "tree": "./run tree /tmp/tree; ./run tree /tmp/tree --release 0.16.0",
    "refresh": "./run refresh /tmp/tree",
    "export": "./run export --series fixes --base 0.16.0 /tmp/mails",
    "rebase": "./run rebase spice-0.16.1.tar.bz2",
    "each": "./run each --list; ./run each --release 0.16.0 --series tls",
    "deb": "./run deb",
    "recipes": "./run recipes --version 0.16.0",
    "live": "./run live; ./run live --set main --list; ./run live --guests text-qxl --scenarios scroll --links 20M40ms --ways "
            "stock,flow,vnc; ./run live --library DIR --ways flow; ./run live --sessions 1,8,32",
    "clients": "./run clients --list; ./run clients --modes flow --transports tls",
    "migration": "./run migration --transports tls",
    "installed": "./run installed --seconds 60",
    "soak": "./run soak --minutes 5 --mode flow",
    "record": "./run record --attach; ./run record --attach FILE.rec --name mine",
}
_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise BenchError(f"{message} (see {self.prog} --help)", 2)


def _usage() -> str:
    width = max(map(len, COMMANDS))
    return "usage: ./run COMMAND [--help]\n\n" + "\n".join(
        f"  {name.ljust(width)}  {says}" for name, (_, says) in COMMANDS.items()) + "\n"


def _module(name: str) -> ModuleType:
    """Only the chosen command's module is loaded, so that one works whatever another needs."""
    module, _ = COMMANDS[name]
    if importlib.util.find_spec(module) is None:
        raise BenchError(f"{name} is not part of this tree", 2)
    return importlib.import_module(module)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        (sys.stdout if arguments else sys.stderr).write(_usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        raise BenchError(f"unknown command '{name}': it is one of {', '.join(COMMANDS)}", 2)
    module = _module(name)
    if getattr(module, "VERBATIM", False):
        return int(module.execute(argparse.Namespace(arguments=rest)))
    parser = _Parser(prog=f"./run {name}", epilog=f"examples: {EXAMPLES[name]}")
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
            print(f"bench: {error.filename or 'the system'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return _INTERRUPTED
