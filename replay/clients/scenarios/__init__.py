# SPDX-License-Identifier: LGPL-2.1-or-later
"""One module per scenario: run(world) returns what it saw, or raises Failed or NotRun."""
