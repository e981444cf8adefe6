# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists on the command line: names with commas between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bench.common.errors import BenchError


def read(text: str | None, default: Sequence[str], what: str, known: Collection[str] | None = None) -> list[str]:
    """Each name once; the default if the option was not given. Raises BenchError, one line, for no name or an unknown one."""
    if text is None:
        return list(default)
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise BenchError(f"no {what} given: name at least one, or leave out the option", 2)
    return checked(names, what, known)


def checked(names: Sequence[str], what: str, known: Collection[str] | None) -> list[str]:
    for name in names:
        if known is not None and name not in known:
            raise BenchError(f"unknown {what} '{name}': choose one of {', '.join(known)}", 2)
    return list(dict.fromkeys(names))
