# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m live.acks TLS-PORT CA-FILE: a client that acks everything and decodes nothing. It connects when it
reads a line, and ends with its input. It is a process of its own, so that its CPU time counts separately."""

from __future__ import annotations

import sys
from pathlib import Path

from clients import target
from clients.drivers.counting import GtkLike


def main() -> None:
    print('{"event":"ready"}', flush=True)
    sys.stdin.readline()
    client = GtkLike(target.Target(target.TLS, int(sys.argv[1]), ca=Path(sys.argv[2])), Path())
    client.start()
    print('{"event":"connected"}', flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
