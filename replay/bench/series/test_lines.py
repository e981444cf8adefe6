# SPDX-License-Identifier: LGPL-2.1-or-later
"""The part that upstream reviews first stays small, as `./run patches lines` counts it."""

from __future__ import annotations

from bench.series import lines

_MOST_CONSTANTS = {"tls": 7, "flow": 28}
_MOST_NEW = {"tls": 1450}
_MOST_HOOKS = {"tls": 199}


def test_the_stream_layer_does_not_grow_by_accident() -> None:
    for name, most in _MOST_CONSTANTS.items():
        assert lines.size(name).constants <= most, name
    for name, most in _MOST_NEW.items():
        assert lines.size(name).new <= most, name
    for name, most in _MOST_HOOKS.items():
        assert lines.size(name).hooks <= most, name
