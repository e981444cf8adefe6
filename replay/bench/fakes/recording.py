# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fake spice-recording, for the recording that fakes/player.py plays."""

import json
import sys

if "seventh" in sys.argv[1]:
    sys.exit(f"spice-recording: {sys.argv[1]}: byte 7: it has no seventh byte")
print(json.dumps({"valid": True, "commands": 300, "seconds": 1.0}))
