# SPDX-License-Identifier: LGPL-2.1-or-later
"""What .ci/run does, in order: the road of somebody who tries, tests, builds, installs, looks, reads and goes back. The commands are
the documents', to the letter."""

from __future__ import annotations

from dataclasses import dataclass

_OURS = "dpkg-query -W -f '${Version}' libspice-server1 | grep -q batch"


@dataclass(frozen=True)
class Step:
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
