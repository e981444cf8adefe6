# SPDX-License-Identifier: LGPL-2.1-or-later
"""Talks like spice-recording info --json of the recording that fakes/player.py plays."""

import json

print(json.dumps({"valid": True, "commands": 300, "seconds": 1.0}))
