# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages: a jinja2 template of replay/, filled from data."""

from __future__ import annotations

import re
from typing import Any

import jinja2

from bench.common import paths, table

_TEMPLATES = jinja2.Environment(loader=jinja2.FileSystemLoader(paths.ROOT / "replay"), undefined=jinja2.StrictUndefined,
                                trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters["table"] = table.markdown    # {{ head|table(rows, left=2) }}


def fill(template: str, **data: Any) -> str:
    """The page. What a template leaves out leaves one empty line."""
    return re.sub(r"\n{3,}", "\n\n", _TEMPLATES.get_template(template).render(data)).strip() + "\n"
