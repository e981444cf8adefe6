# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patches of a package make the same tree as ./run setup; its version is lower than any newer one of the
distribution."""

from __future__ import annotations

import datetime
import email
import subprocess
from pathlib import Path

import pytest

from bench.common.steps import Steps
from bench.source import debsource, newfiles, upstream
from distro import changes

_MADE = datetime.datetime(2026, 11, 23, 22, 5, tzinfo=datetime.UTC)


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_the_patches_apply_and_make_our_tree(version: str, tmp_path: Path) -> None:
    upstream.fetch(version, Steps(tmp_path / "fetch.log"))
    by_patches, by_us = tmp_path / "by-patches", tmp_path / "by-us"
    upstream.unpack(version, by_patches)
    for patch in changes.patches(version):
        file = tmp_path / patch.name
        file.parent.mkdir(exist_ok=True)
        file.write_text(patch.text, encoding="utf-8")
        upstream.apply_patch(file, by_patches)
    upstream.make_tree(version, by_us, upstream.built())
    differing = subprocess.run(["diff", "-rq", "--exclude=.*", by_us, by_patches], capture_output=True, text=True,
                               check=False)
    # where work is done the build takes what no list names, and can be a subproject; a package has them in the build,
    # and an entry of each patch's in upstream's list of changes; the benchmark is of no package
    work = {"meson.build", "Makefile.am", "CHANGELOG.md", "bench-mix", "bench-stream-egress.cpp"}
    assert [line for line in differing.stdout.splitlines()
            if not any(line.endswith((f"/{name}", f": {name}", f"/{name} differ")) for name in work)] == []
    build = (by_patches / "server/tests/meson.build").read_text() + (by_patches / "server/meson.build").read_text()
    files = [file for file in newfiles.sources(upstream.built()) if file.suffix == ".cpp"]
    sources = {file.name for file in files if file.parent.name == "server"}
    assert [name for name in changes.tests() | sources if f"'{name}'" not in build] == []


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_none_has_a_line_that_the_distributions_own_patch_changes(version: str) -> None:
    assert [patch.name for patch in changes.patches(version) if "['test-listen'," in patch.text] == []


def test_a_patch_says_who_what_where_from_and_whether_upstream_knows() -> None:
    for patch in changes.patches(upstream.DEFAULT):
        header = email.message_from_string(patch.text)
        assert [name for name in ("From", "Subject", "Origin", "Forwarded") if not header[name]] == [], patch.name
        assert not header["Date"] and patch.text.startswith("From: "), "what differs each time"


@pytest.mark.parametrize("base", ["0.15.1-1", "0.15.2-1+b1", "0.15.1-1build2", "0.16.0-3"])
def test_the_version_is_above_the_distributions_and_below_all_that_follows_it(base: str) -> None:
    ours = changes.suffixed(base, _MADE)
    assert debsource.newer(ours, base)
    assert debsource.newer(changes.suffixed(base, _MADE + datetime.timedelta(days=1)), ours)
    following = ["0.16.0-4", "0.17.0-1", "1:0.1-1", f"{base}.1", f"{base}+deb12u1", f"{base}ubuntu1", f"{base}+b3"]
    following += ["0.15.2-1+b2"] if "+b1" in base else ["0.15.1-1build3"] if "build" in base else [f"{base}build1"]
    assert [version for version in following if not debsource.newer(version, ours)] == []
