# SPDX-License-Identifier: LGPL-2.1-or-later
"""One command under another kernel, on this machine's files, for the optional series `kernel`:

    PYTHONPATH=replay python3 -m vm [--kernel SUITE] [--memory MIB] [COMMAND ARGUMENT...]

Boots one of Debian's kernels in a virtual machine that has this machine's files, and runs the command there, as root and in
this folder. What it writes is gone with the machine; its output and exit status come back. Inside are network namespaces,
veth, tun, netem, fq and kernel TLS, whatever this machine's own kernel lacks."""

from __future__ import annotations

import argparse
import sys

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from vm import kernels, machine


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:      # type: ignore[override]
        raise BenchError(message, 2)


def main() -> int:
    parser = _Parser(prog="python3 -m vm", description=__doc__.split("\n\n")[2] if __doc__ else None)
    parser.add_argument("--kernel", choices=kernels.KERNELS, default=kernels.DEFAULT,
                        help=f"the Debian suite whose kernel it is (default {kernels.DEFAULT})")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB", help="for all that it writes, too (default 1024)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="and its arguments (default: uname -a)")
    try:
        args = parser.parse_args()
        kernel = kernels.fetch(args.kernel, Steps(paths.build_dir() / f"vm-{args.kernel}.log"))
        return machine.run(kernel, args.command or ["uname", "-a"], memory=args.memory)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.status


sys.exit(main())
