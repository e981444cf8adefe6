# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stand-ins for the player and the client, for the tests of the bench's own orchestration only."""
