# SPDX-License-Identifier: LGPL-2.1-or-later
"""Talks like spice-recording info --json of the recording that fakes/player.py plays."""

import json
import sys

if sys.argv[1] == "trim":
    if "--from 7.0" in " ".join(sys.argv):
        sys.exit("spice-recording: it has no seventh second")
    with open(sys.argv[sys.argv.index("-o") + 1], "wb") as file:
        file.write(b"SPICE_REPLAY 1\n")
    sys.exit(0)
print(json.dumps({"valid": True, "commands": 300, "seconds": 1.0}))
