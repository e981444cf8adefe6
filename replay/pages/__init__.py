# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run results: the pages of results/, and the tables of README.md and docs/modes.md."""
