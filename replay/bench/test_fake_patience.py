# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m bench.test_fake_patience: the program, for which no machine is too busy. Of a run by stand-ins nothing is measured, so what others
do with the processors meanwhile is no reason not to count it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from bench import cli
from bench.lab import linktest
from bench.measure import validity


def make(assign: Callable[[object, str, object], None]) -> None:
    for module, name, value in ((validity, "LATE_LIMIT", math.inf), (validity, "STOLEN_LIMIT", math.inf), (linktest, "_LATE", math.inf),
                                (linktest, "_RATE_BOUNDS", (0.0, math.inf))):
        assign(module, name, value)


if __name__ == "__main__":
    make(setattr)
    sys.exit(cli.main())
