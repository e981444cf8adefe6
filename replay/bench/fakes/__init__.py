# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fake player and client, for tests of the orchestration only."""
