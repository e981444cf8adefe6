# SPDX-License-Identifier: LGPL-2.1-or-later
"""The description of the machine changes only when something does that changes figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common import proc
from bench.runs import environment
from bench.source import upstream

_STATES = {"tcpdump": "installed 4.99", "iproute2": "triggers-pending 6.1", "libssl3": "half-configured 3.0.1",
           "libglib2.0-0": "unpacked 2.74", "socat": "config-files 1.7", "gcc": "installed 12.2"}


@pytest.fixture
def dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dpkg-query that answers with the file in states/ of a package's name."""
    for name, state in _STATES.items():
        (tmp_path / name).write_text(state)
    program = tmp_path / "dpkg-query"
    program.write_text(f'#!/bin/sh\nfor name; do :; done\nexec cat {tmp_path}/"$name" 2>/dev/null\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert proc.require("dpkg-query", "dpkg") == str(program)
    return tmp_path


def _packages() -> dict[str, str | None]:
    packages: dict[str, str | None] = environment.describe([], [])["packages"]
    return packages


def test_versions_do_not_depend_on_what_dpkg_has_still_to_do(dpkg: Path) -> None:
    before = _packages()
    assert before == {"tcpdump": "4.99", "iproute2": "6.1", "libssl3": "3.0.1", "libglib2.0-0": "2.74", "socat": None,
                      "gcc": "12.2", "libspice-client-glib-2.0-8": None}
    for name in ("tcpdump", "iproute2", "libssl3", "libglib2.0-0"):
        (dpkg / name).write_text("installed " + _STATES[name].split(" ")[1])
    assert _packages() == before


@pytest.mark.parametrize(("package", "matters"), [("tcpdump", True), ("libssl3", True), ("gcc", False)])
def test_only_what_runs_makes_another_machine(dpkg: Path, package: str, matters: bool) -> None:
    before = environment.machine(environment.describe([], []))
    (dpkg / package).write_text("installed 99")
    assert (environment.machine(environment.describe([], [])) != before) is matters


@pytest.mark.parametrize(("change", "matters"), [(("+new", "+newer"), True), (("a figure", "another figure"), False)])
def test_a_patchs_message_does_not_make_another_library(change: tuple[str, str], matters: bool, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.paths, "ROOT", tmp_path)
    monkeypatch.setattr(environment.newfiles, "sources", lambda names: {})
    monkeypatch.setattr(upstream, "built", lambda: [])
    patch = tmp_path / "0001.patch"
    monkeypatch.setattr(upstream, "series", lambda of: [patch])
    patch.write_text("Subject: [PATCH] a: b\n\na figure\n---\n\ndiff --git a/c b/c\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-old\n+new\n")
    before = environment.library_tree()
    patch.write_text(patch.read_text().replace(*change))
    assert (environment.library_tree() != before) is matters
