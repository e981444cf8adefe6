# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run vm: one command under another kernel, on this machine's files."""

from __future__ import annotations

import argparse

from bench.common import paths
from bench.common.steps import Steps
from vm import kernels, machine


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Boots one of Debian's kernels in a virtual machine that has this machine's files, and runs a command there, "
        "as root and in this folder. What the command writes is gone with the machine; its output and exit status come "
        "back. Inside are network namespaces, veth, tun, netem, fq, kernel TLS and io_uring, whatever this machine's "
        "own kernel lacks.")
    parser.add_argument("--kernel", choices=kernels.KERNELS, default=kernels.DEFAULT,
                        help=f"the Debian suite whose kernel it is (default {kernels.DEFAULT})")
    parser.add_argument("--cpus", type=int, default=2, help="default 2")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB",
                        help="for all that it writes, too (default 1024)")
    parser.add_argument("--count", action="store_true",
                        help="one processor, and clocks that go on by a nanosecond an instruction")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help="and its arguments (default: uname -a)")


def execute(args: argparse.Namespace) -> int:
    kernel = kernels.fetch(args.kernel, Steps(paths.build_dir() / f"vm-{args.kernel}.log"))
    return machine.run(kernel, args.command or ["uname", "-a"], cpus=args.cpus, memory=args.memory,
                       count=args.count)
