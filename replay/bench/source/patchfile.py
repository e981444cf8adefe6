# SPDX-License-Identifier: LGPL-2.1-or-later
"""A patch file of a series: subject, message, diff. It has no author and no date; an export takes these from git's
configuration."""

from __future__ import annotations

import email
import re
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import BenchError

_SLUG_LENGTH = 52       # as format-patch
_PLACE = re.compile(r"^(?:@@|index) .*\n", re.MULTILINE)
_SIGNATURE = re.compile(r"\n-- \n[^\n]*\n*\Z")


@dataclass(frozen=True)
class Patch:
    subject: str        # one line, without [PATCH]
    body: str
    diff: str

    @property
    def message(self) -> str:
        return f"{self.subject}\n\n{self.body}"

    def same_as(self, other: Patch) -> bool:
        """Whether both change the same, perhaps in other lines of a file."""
        return self.message == other.message and _PLACE.sub("", self.diff) == _PLACE.sub("", other.diff)

    def name(self, number: int) -> str:
        """The file name that format-patch would choose."""
        slug = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._]+", "-", self.subject)).strip("-.")
        return f"{number:04}-{slug[:_SLUG_LENGTH]}.patch"


def parse(text: str, name: str) -> Patch:
    """Also accepts the output of git format-patch."""
    mail = email.message_from_string(text)
    subject = re.sub(r"\s+", " ", re.sub(r"^\[PATCH[^]]*\]\s*", "", str(mail["Subject"] or "")))
    head, found, diff = str(mail.get_payload()).partition("\ndiff --git ")
    body, rule, _ = f"\n{head}".partition("\n---\n")
    if not subject or not rule:
        raise BenchError(f"{name} is not a patch: it needs a line 'Subject:', a message, a line '---' and a diff")
    return Patch(subject, body.strip("\n"), f"diff --git {_SIGNATURE.sub(chr(10), diff)}" if found else "")


def read(file: Path) -> Patch:
    return parse(file.read_text(encoding="utf-8"), file.name)


def text(patch: Patch, stat: str = "") -> str:
    return f"Subject: [PATCH] {patch.subject}\n\n{patch.body}\n---\n{stat}\n{patch.diff}"
