# SPDX-License-Identifier: LGPL-2.1-or-later
"""patches/README.md has the lines and constants of each series as `./run patches lines` counts them."""

from __future__ import annotations

import re

from bench.common import paths
from bench.series import lines

# of the two series that a review of the stream layer begins with; CONTRIBUTING.md asks who notices a constant
_MOST_CONSTANTS = {"tls": 20, "flow": 52}
_MOST_NEW = {"tls": 1500}


def test_the_readme_has_the_counts() -> None:
    readme = (paths.ROOT / "patches/README.md").read_text(encoding="utf-8")
    found = re.search(r"^\| series \| new files .*?\n(?=\n)", readme, flags=re.MULTILINE | re.DOTALL)
    assert found and found.group() == lines.table()


def test_the_stream_layer_does_not_grow_by_accident() -> None:
    for name, most in _MOST_CONSTANTS.items():
        assert lines.size(name).constants <= most, name
    for name, most in _MOST_NEW.items():
        assert lines.size(name).new <= most, name
