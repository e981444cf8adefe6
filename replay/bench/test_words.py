# SPDX-License-Identifier: LGPL-2.1-or-later
"""Words: subjects of patches and commits, retired words, and that each setting is documented."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bench.common import paths
from bench.source import newfiles, patchfile, upstream

_LENGTH = 72
_SUBJECT = re.compile(r"[\w./-]+(, [\w./-]+)*: [A-Z`\d-].*[^.]")
# what a subject in the imperative does not begin with
_NO_VERB = re.compile(r"(A|An|The|No|What|Who|Some|\w{3,}(ed|ing|ion))\b")
_PATCHES = sorted({patch for version in upstream.RELEASES for patch in upstream.series(version)})
_SETTING = re.compile(r'RedStreamSetting \w+\("(\w+)"')


def _texts() -> dict[Path, str]:
    """What people read, by file; of a patch its message, of a source file all."""
    root = paths.ROOT
    files = [root / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
    files += [file for folder in ("docs", "patches", "server", "replay", "packaging") for file in sorted((root / folder).rglob("*.md"))]
    files += [*sorted((root / "results").glob("*.md")), *(root / "results/live").glob("*.md")]
    files += [file for ending in ("py", "c", "h") for file in sorted((root / "replay").rglob(f"*.{ending}"))]
    files += [root / kept for kept in newfiles.sources().values() if kept.suffix in (".cpp", ".h")]
    return {**{file: file.read_text(encoding="utf-8") for file in files},
            **{file: patchfile.read(file).message for file in _PATCHES}}


def _retired() -> list[tuple[str, str]]:
    lines = (paths.ROOT / "docs/retired-words.txt").read_text(encoding="utf-8").splitlines()
    return [(word, instead) for word, instead in (line.split("\t") for line in lines if not line.startswith("#"))]


def test_no_retired_word_has_come_back() -> None:
    found = [f"{file.relative_to(paths.ROOT)}:{number}: '{word[0]}', write: {instead}" for file, text in _texts().items()
             for number, line in enumerate(text.splitlines(), 1) for pattern, instead in _retired()
             if (word := re.search(pattern, line))]
    assert found == []


@pytest.mark.parametrize("patch", _PATCHES, ids=lambda patch: "/".join(patch.parts[-2:])[:24])
def test_a_patch_has_a_short_subject_in_the_imperative(patch: Path) -> None:
    subject = patchfile.read(patch).subject
    assert len(subject) <= _LENGTH and _SUBJECT.fullmatch(subject)
    assert not _NO_VERB.match(subject.split(": ", 1)[1])


def test_a_commit_has_a_short_subject_with_an_area() -> None:
    """Those that a clone is about to land: what has landed stays as it is."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(paths.ROOT), "log", "--no-merges", "--format=%s",
                             "origin/main..HEAD"], capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no origin/main here")
    assert [subject for subject in listed.stdout.splitlines()
            if len(subject) > _LENGTH or not _SUBJECT.fullmatch(subject)] == []


def test_each_setting_is_described() -> None:
    """In the documents, upstream's manual, and what --modes accepts."""
    sources = [paths.ROOT / kept for place, kept in newfiles.sources(upstream.built()).items() if place.match("server/*.cpp")]
    settings = {name for file in sources for name in _SETTING.findall(file.read_text(encoding="utf-8"))}
    assert {"record", "hold", "catchup"} <= settings and "ktls" not in settings
    manual = "".join(file.read_text(encoding="utf-8") for file in upstream.series() if "docs/manual/" in file.read_text())
    places = {"docs/modes.md": (paths.ROOT / "docs/modes.md").read_text(encoding="utf-8"), "docs/manual": manual,
              "replay/bench/runs/modes.py": (paths.ROOT / "replay/bench/runs/modes.py").read_text(encoding="utf-8")}
    missing = [f"{place}: {name}" for place, text in places.items() for name in sorted(settings)
               if not re.search(rf"`{name}[=`]|\"{name}(=|\": \()", text)]
    assert missing == []
