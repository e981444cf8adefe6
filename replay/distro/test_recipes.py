# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from bench.source import upstream
from distro import recipes


@pytest.fixture
def written(tmp_path: Path) -> Path:
    recipes.write(upstream.release(upstream.DEFAULT), b"tarball", tmp_path / "recipes")
    return tmp_path / "recipes"


def test_every_recipe_has_the_series_beside_it_and_no_blank_left(written: Path) -> None:
    assert sorted(folder.name for folder in written.iterdir()) == ["alpine", "arch", "debian", "fedora", "nix"]
    for folder in set(written.iterdir()) - {written / "debian"}:
        assert (folder / "spice-batch.patch").read_text() == recipes.combined(upstream.DEFAULT)
        [recipe] = [file for file in folder.iterdir() if file.name != "spice-batch.patch"]
        assert "@" not in recipe.read_text().replace("@localhost", "")


def test_no_patch_for_debian_changes_a_file_twice(written: Path) -> None:
    """dpkg-source refuses such a patch, and so the series as one file."""
    listed = (written / "debian/series").read_text().split()
    assert sorted(listed) == sorted(str(file.relative_to(written / "debian")) for file in written.glob("debian/batch/*/*"))
    for name in listed:
        changed = [line for line in (written / "debian" / name).read_text().splitlines() if line.startswith("diff --git ")]
        assert len(changed) == len(set(changed)) > 0


def test_checksums_are_those_of_the_files(written: Path) -> None:
    patch = recipes.combined(upstream.DEFAULT).encode()
    assert hashlib.sha256(patch).hexdigest() in (written / "arch/PKGBUILD").read_text()
    assert hashlib.sha512(patch).hexdigest() in (written / "alpine/APKBUILD").read_text()
    assert upstream.release(upstream.DEFAULT).sha256 in (written / "arch/PKGBUILD").read_text()


@pytest.mark.parametrize(("recipe", "shell"), [("arch/PKGBUILD", "bash"), ("alpine/APKBUILD", "sh")])
def test_recipes_in_shell_can_be_read(written: Path, recipe: str, shell: str) -> None:
    assert subprocess.run([shell, "-n", written / recipe], capture_output=True, check=False).stderr == b""
