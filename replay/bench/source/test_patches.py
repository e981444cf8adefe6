# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patch series: form of each patch; they apply to every release without fuzz."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from bench.common import paths
from bench.common.steps import Steps
from bench.series import faults
from bench.source import brings, mesontest, newfiles, upstream

_ALL = sorted({patch for version in upstream.RELEASES for patch in upstream.series(version)})
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,\d+)? @@")
_MOVED = re.compile(r"Hunk #(\d+) succeeded at \d+ \(offset (-?\d+) lines?\)\.?")


def old_sides(patch: Path) -> dict[str, list[str]]:
    """For each file a patch changes, what each of its hunks expects to find there."""
    found: dict[str, list[str]] = defaultdict(list)
    file, left = "", 0
    for line in patch.read_text(encoding="utf-8").splitlines(keepends=True):
        hunk = _HUNK.match(line)
        if left == 0 and line.startswith("--- a/"):
            file = line.removeprefix("--- a/").split("\t")[0].strip()
        elif hunk:
            left = int(hunk[1] or 1)
            found[file].append("")
        elif left and line[0] in " -":
            found[file][-1] += line[1:]
            left -= 1
    return found


def unpacked(version: str, target: Path) -> Path:
    upstream.fetch(version, Steps(target.parent / "fetch.log"))
    upstream.unpack(version, target)
    return target


def check_moves(text: str, expected: list[str], moves: dict[int, int]) -> None:
    """Each hunk that patch moved has gone where it belongs: what it expects is found in one place only, or it has moved
    as far as another that is."""
    sure = {lines for hunk, lines in moves.items() if text.count(expected[hunk]) == 1}
    lost = [f"hunk {hunk + 1} fits in {text.count(expected[hunk])} places" for hunk, lines in moves.items()
            if lines not in sure]
    assert lost == []


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_the_series_applies_exactly(version: str, tmp_path: Path) -> None:
    """No fuzz anywhere, and on the default release no hunk has moved either; elsewhere where it must."""
    tree = unpacked(version, tmp_path / "tree")
    for patch in filter(upstream.changes_files, upstream.series(version)):
        expected = old_sides(patch)
        before = {file: (tree / file).read_text(encoding="utf-8") for file in expected}
        moves: dict[str, dict[int, int]] = defaultdict(dict)
        file = ""
        for line in filter(None, upstream.apply_patch(patch, tree)):
            moved = _MOVED.fullmatch(line)
            if line.startswith("patching file "):
                file = line.removeprefix("patching file ")
            else:
                assert moved and version != upstream.DEFAULT, f"{patch.name}: {file}: {line}"
                moves[file][int(moved[1]) - 1] = int(moved[2])
        for file, hunks in moves.items():
            check_moves(before[file], expected[file], hunks)
    assert [path for pattern in ("*.orig", "*.rej") for path in tree.rglob(pattern)] == []


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_patches_change_files_of_upstream_only(version: str, tmp_path: Path) -> None:
    tree = unpacked(version, tmp_path / "tree")
    assert [f"{patch.name}: {file}" for patch in upstream.series(version) for file in old_sides(patch) if not (tree / file).is_file()] == []
    assert [str(file) for file in newfiles.sources() if (tree / file).exists()] == [], "server/ has new files only"


@pytest.mark.parametrize("patch", _ALL, ids=lambda patch: "/".join(patch.parts[-2:])[:24])
def test_a_patch_says_what_and_why(patch: Path) -> None:
    message = email.message_from_string(patch.read_text(encoding="utf-8"))
    subject = re.sub(r"\s+", " ", str(message["Subject"]))
    assert re.fullmatch(r"\[PATCH[^]]*\] [\w-]+(, [\w-]+)*: [A-Z].*[^.]", subject), subject
    body, _, diff = str(message.get_payload()).partition("\n---\n")
    assert len(body.split()) >= 15, "a body that argues"
    assert max(map(len, body.splitlines())) <= 80
    assert diff.count("\ndiff --git ") >= 1 or brings.said(body)
    assert message.keys() == ["Subject"] and "\nindex " not in diff, "run ./run refresh"
    assert re.match(r"\d{4}-[\w.-]+\.patch$", patch.name)


@pytest.mark.parametrize("name", upstream.names())
def test_patches_are_numbered_in_order(name: str) -> None:
    numbers = [int(patch.name[:4]) for patch in upstream.series(of=[name])]
    assert numbers == list(range(1, len(numbers) + 1))
    readme = paths.ROOT / "patches" / name / "README.md"
    if readme.exists():
        rows = re.findall(r"^\| (\d{4}) \|", readme.read_text(encoding="utf-8"), re.MULTILINE)
        assert [int(row) for row in rows] == ([] if name == faults.SERIES else numbers)


def test_the_page_of_faults_is_what_the_messages_say() -> None:
    text = (paths.ROOT / "patches/FAULTS.md").read_text(encoding="utf-8")
    assert text == faults.page(text), "run ./run refresh"


def test_meson_alone_makes_the_same_tree(tmp_path: Path) -> None:
    """A clone without ./run: wrap and patches give what ./run makes of the same files; configuring links the new ones, and finds them."""
    packagecache = Path("subprojects/packagecache")
    upstream.fetch(upstream.DEFAULT, Steps(tmp_path / "fetch.log"))
    clone = tmp_path / "clone"
    for folder in ("server", "patches", "subprojects/packagefiles"):
        shutil.copytree(paths.ROOT / folder, clone / folder, symlinks=True)
    shutil.copy(paths.ROOT / "subprojects/spice.wrap", clone / "subprojects")
    (clone / packagecache).mkdir()
    os.symlink(upstream.release(upstream.DEFAULT).tarball, clone / packagecache / upstream.release(upstream.DEFAULT).tarball.name)
    (clone / "meson.build").write_text("project('clone', 'c')\nsubproject('spice')\n")
    done = subprocess.run(["meson", "setup", "build", "-Dspice:manual=false"], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    by_meson = clone / "subprojects" / upstream.subproject().name
    by_us = tmp_path / "by-us"
    upstream.make_tree(upstream.DEFAULT, by_us, upstream.built())
    differing = subprocess.run(["diff", "-rq", "--exclude=.*", by_us, by_meson], capture_output=True, text=True,
                               check=False)
    assert differing.stdout == ""
    assert newfiles.tests(upstream.built()) <= mesontest.listed(clone / "build").keys()
    sources = {file.name for file in newfiles.sources(upstream.built()) if file.parent == Path("server") and file.suffix == ".cpp"}
    compiled = (clone / "build/build.ninja").read_text()
    assert [name for name in sources if f"/server/{name}" not in compiled] == []
    assert (by_meson / "server/red-stream-egress.cpp").resolve() == clone / "server/tls/red-stream-egress.cpp"
