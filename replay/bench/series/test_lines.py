# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each patch stays small, as `./run patches lines` counts it."""

from __future__ import annotations

from bench.series import lines
from bench.source import upstream

# Lines of a patch with its new files and tests. A longer one is not reviewed.
_MOST = 1000


def test_a_patch_is_short_enough_to_be_reviewed() -> None:
    assert [f"{name}/{patch.name[:4]}: {total}" for name in upstream.exported() for patch, one in lines.sizes(name).items()
            if (total := one.total()) > _MOST] == []
