# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m live.acks TLS-PORT CA-FILE: a client that connects when a line comes, acknowledges all that comes and decodes nothing, until
its input ends. A process of its own, so that its processor time is not that of others."""

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
