# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's releases: the list, their download, and a tree with our changes applied."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import atomic, paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import newfiles
from bench.source.debsource import Mirror

_URL = "https://www.spice-space.org/download/releases/spice-{version}.tar.bz2"
_WRAP = """\
# Made by ./run setup. Upstream's release, never vendored: ./run setup puts the tarball into packagecache/ (from the distribution's
# mirror where it has it), otherwise meson downloads it from source_url.
[wrap-file]
directory = {directory}
source_url = {release.url}
source_filename = {release.tarball.name}
source_hash = {release.sha256}
diff_files =
  {patches}
"""
_STAMP = ".made-from"
_TIMEOUT = 30
_NEWER = ("forky", "sid")       # suites of Debian that have the protocol headers that its stable release lacks


@dataclass(frozen=True)
class Release:
    version: str
    sha256: str
    protocol: str = "0.14.3"        # oldest spice-protocol that it builds with

    @property
    def url(self) -> str:
        return _URL.format(version=self.version)

    @property
    def tarball(self) -> Path:
        """Where meson looks for the tarball, and this program puts it."""
        return paths.ROOT / "subprojects" / "packagecache" / f"spice-{self.version}.tar.bz2"


DEVEL = "devel"         # the series for this repository's build; never exported
DEFAULT = "0.15.2"
RELEASES = {release.version: release for release in (
    Release("0.15.1", "ada9af67ab321916bd7eb59e3d619a4a7796c08a28c732edfc7f02fc80b1a37a"),
    Release("0.15.2", "6d9eb6117f03917471c4bc10004abecff48a79fb85eb85a1c45f023377015b81"),
    Release("0.16.0", "0a6ec9528f05371261bbb2d46ff35e7b5c45ff89bb975a99af95a5f20ff4717d", "0.14.5"),
)}


def release(version: str) -> Release:
    if version not in RELEASES:
        raise BenchError(f"unknown release {version}: choose one of {', '.join(RELEASES)}", 2)
    return RELEASES[version]


def _is(file: Path, sha256: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def fetch(version: str, steps: Steps) -> Path:
    """Gets the release tarball from the cache, the distribution's mirror or upstream, and checks its hash."""
    wanted = release(version)
    if not _is(wanted.tarball, wanted.sha256):
        with atomic.replaced(wanted.tarball) as part:
            from_mirror = Mirror(paths.cache_dir() / "apt", steps).tarball("spice", version, "tar.bz2", part)
            if not (from_mirror and _is(part, wanted.sha256)):
                _download(wanted, part)
    return wanted.tarball


def _download(wanted: Release, target: Path) -> None:
    """Downloads from upstream itself."""
    try:
        with urllib.request.urlopen(wanted.url, timeout=_TIMEOUT) as answer:
            target.write_bytes(answer.read())
    except OSError as error:
        raise BenchError(f"spice {wanted.version}: no such tarball on the mirror, and {wanted.url}: {getattr(error, 'reason', error)}; put "
                         f"{wanted.tarball.name} into {wanted.tarball.parent} by hand") from None
    if not _is(target, wanted.sha256):
        raise BenchError(f"spice {wanted.version}: {wanted.url} is not the known release (sha256 differs): try again, or from another network")


def protocol_environment(version: str, steps: Steps) -> dict[str, str]:
    """Environment for pkg-config to find protocol headers that are new enough for a release. Empty if the system's are; otherwise
    the headers of a newer suite's package, unpacked into a private prefix."""
    wanted = release(version)
    known = subprocess.run(["pkg-config", f"--atleast-version={wanted.protocol}", "spice-protocol"], check=False)
    if known.returncode == 0:
        return {}
    prefix = paths.cache_dir() / f"spice-protocol-{wanted.protocol}"
    description = prefix / "usr/share/pkgconfig/spice-protocol.pc"
    if not description.is_file():
        deb = paths.cache_dir() / "libspice-protocol-dev.deb"
        if not Mirror(paths.cache_dir() / "apt", steps).package("libspice-protocol-dev", _NEWER, deb):
            raise BenchError(f"spice {version} needs spice-protocol {wanted.protocol}, which neither this machine nor "
                             f"its mirror has (log: {steps.log}): install libspice-protocol-dev of that version or newer")
        steps.run("unpacking libspice-protocol-dev", ["dpkg", "-x", deb, prefix], quiet=True)
        deb.unlink()
    # always, as the tree may have been moved
    text = re.sub(r"^prefix=.*$", f"prefix={prefix}/usr", description.read_text(), flags=re.MULTILINE)
    description.write_text(text)
    return {"PKG_CONFIG_PATH": str(description.parent)}


def _lines(file: Path) -> list[str]:
    return [line for text in file.read_text().splitlines() if (line := text.split("#")[0].strip())]


def names() -> list[str]:
    """All series, in the order in which they are applied."""
    return [line.split()[0] for line in _lines(paths.ROOT / "patches/series")]


def optional() -> list[str]:
    """The series that are in no default build and no package."""
    return [line.split()[0] for line in _lines(paths.ROOT / "patches/series") if line.split()[1:] == ["optional"]]


def built() -> list[str]:
    """The series of the default build and the packages."""
    return [name for name in names() if name not in optional()]


def exported() -> list[str]:
    return [name for name in names() if name != DEVEL]


def below(name: str) -> list[str]:
    """The exported series up to this one, which needs them all."""
    if name not in exported():
        raise BenchError(f"{name} is only for this repository: choose another series" if name == DEVEL else
                         f"unknown series {name}: choose one of {', '.join(exported())}", 2)
    return exported()[:exported().index(name) + 1]


def series(version: str = DEFAULT, of: Iterable[str] | None = None) -> list[Path]:
    """The patches, in order, of all series or some. The folder VERSION of a series has those that differ for another release than
    the default."""
    found = [file for name in (names() if of is None else of) for file in sorted((paths.ROOT / "patches" / name).glob("*.patch"))]
    return [variant if (variant := file.with_name(version) / file.name).is_file() else file for file in found]


def changes_files(patch: Path) -> bool:
    """Whether the patch changes upstream's files; it may only add new ones."""
    return "\ndiff --git " in patch.read_text(encoding="utf-8")


def subproject() -> Path:
    """The default release's tree in the project's own build."""
    return paths.ROOT / "subprojects" / f"spice-{DEFAULT}"


def sync_wrap() -> bool:
    """Writes spice.wrap, from which meson alone makes this tree in a clone; returns whether it was out of date."""
    file = paths.ROOT / "subprojects" / "spice.wrap"
    named = (str(patch.relative_to(paths.ROOT)) for patch in series(of=built()) if changes_files(patch))
    text = _WRAP.format(release=release(DEFAULT), directory=subproject().name, patches=",\n  ".join(named))
    if _read(file) == text:
        return False
    file.write_text(text)
    return True


def made_from(version: str, of: Sequence[str]) -> str:
    """A hash of what make_tree() reads. Our own files are linked, so their names count and their contents do not."""
    digest = hashlib.sha256(release(version).sha256.encode())
    for patch in series(version, of):
        digest.update(f"{patch.name}\0{patch.stat().st_size}\0".encode() + patch.read_bytes())
    digest.update("\0".join([str(paths.ROOT), *map(str, newfiles.sources(of).values())]).encode())
    return digest.hexdigest()


def make_tree(version: str, target: Path, of: Sequence[str]) -> None:
    """Makes a release's source tree with these series, unless it is up to date."""
    def make(tree: Path) -> None:
        unpack(version, tree)
        for patch in filter(changes_files, series(version, of)):
            apply_patch(patch, tree)
        if of:
            newfiles.link(tree, of)

    linked = newfiles.links(target)
    refresh(target, made_from(version, of), make)
    if linked != newfiles.links(target):
        os.utime(target / "server/meson.build")     # which meson does not read again because a file is there now


def unpack(version: str, target: Path) -> None:
    """Unpacks the release, unpatched."""
    target.mkdir(parents=True)
    done = subprocess.run(["tar", "-xf", release(version).tarball, "--strip-components=1", "-C", target],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"cannot unpack spice {version}: {done.stderr.strip()}; remove {release(version).tarball} and try again")


def apply_patch(patch: Path, target: Path) -> list[str]:
    """Applies strictly: every context line must match. Returns the output of patch."""
    done = subprocess.run(["patch", "--directory", target, "-p1", "--fuzz=0", "--force", "--no-backup-if-mismatch",
                           "--reject-file=-", "--input", patch], capture_output=True, text=True, check=False)
    said = [line.strip() for line in done.stdout.splitlines()]
    if done.returncode:
        why = next((line for line in said if "FAILED" in line or "can't find" in line), done.stderr.strip())
        file = [line.removeprefix("patching file ") for line in said if line.startswith("patching file")]
        raise BenchError(f"{patch.name} does not apply: {file[-1] if file else ''} {why}")
    return said


def refresh(target: Path, wanted: str, make: Callable[[Path], None]) -> bool:
    """Has make() make the tree `target` anew unless it was made from the same; True when it did.

    It is made beside the old tree, which an interruption leaves as it was. Files that come out as they were keep their times, so that
    ninja builds again what changed and nothing else: the times inside a tarball are years old, and a patch taken back would go
    unnoticed."""
    if _read(target / _STAMP) == wanted:
        return False
    made = target.with_name(f".{target.name}.new")
    shutil.rmtree(made, ignore_errors=True)         # left by an interrupted run
    make(made)
    for file in filter(Path.is_file, made.rglob("*")):
        before = target / file.relative_to(made)
        if file.is_symlink():
            if before.exists() and not (before.is_symlink() and before.readlink() == file.readlink()):
                os.utime(file)      # of our file: what was compiled before was another
        elif before.is_file() and before.read_bytes() == file.read_bytes():
            shutil.copystat(before, file)
        else:
            os.utime(file)
    (made / _STAMP).write_text(wanted)
    (target / _STAMP).unlink(missing_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)
    return True


def _read(file: Path) -> str:
    return file.read_text() if file.is_file() else ""
