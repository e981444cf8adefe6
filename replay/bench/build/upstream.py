# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's releases: the list, their download, and a tree with our changes applied."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.build import overlay
from bench.build.debsource import Mirror
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps

_URL = "https://www.spice-space.org/download/releases/spice-{version}.tar.bz2"
_STAMP = ".made-from"
_TIMEOUT = 30


@dataclass(frozen=True)
class Release:
    version: str
    sha256: str
    suites: tuple[str, ...]         # Debian suites that have it
    protocol: str = "0.14.3"        # oldest spice-protocol that it builds with

    @property
    def url(self) -> str:
        return _URL.format(version=self.version)

    @property
    def tarball(self) -> Path:
        """Where meson looks for the tarball, and this program puts it."""
        return paths.ROOT / "subprojects" / "packagecache" / f"spice-{self.version}.tar.bz2"


DEVEL = "devel"         # the series for this repository's build; never exported
RELEASE = "release"     # what a series may be based on, besides another series
DEFAULT = "0.15.2"
RELEASES = {release.version: release for release in (
    Release("0.15.1", "ada9af67ab321916bd7eb59e3d619a4a7796c08a28c732edfc7f02fc80b1a37a", ("bookworm",)),
    Release("0.15.2", "6d9eb6117f03917471c4bc10004abecff48a79fb85eb85a1c45f023377015b81", ("trixie",)),
    Release("0.16.0", "0a6ec9528f05371261bbb2d46ff35e7b5c45ff89bb975a99af95a5f20ff4717d", ("forky", "sid"), "0.14.5"),
)}


def release(version: str) -> Release:
    if version not in RELEASES:
        raise BenchError(f"unknown release {version}: choose one of {', '.join(RELEASES)}", 2)
    return RELEASES[version]


def _is(file: Path, sha256: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def _download(wanted: Release, target: Path) -> str:
    """Downloads from upstream itself; returns the error, if any."""
    try:
        with urllib.request.urlopen(wanted.url, timeout=_TIMEOUT) as answer:
            target.write_bytes(answer.read())
    except (urllib.error.URLError, OSError) as error:
        return f"{wanted.url}: {getattr(error, 'reason', error)}"
    return ""


def fetch(version: str, steps: Steps) -> Path:
    """Gets the release tarball from the cache, the distribution's source package or upstream, and checks its hash."""
    wanted = release(version)
    if _is(wanted.tarball, wanted.sha256):
        return wanted.tarball
    part = wanted.tarball.with_suffix(".part")
    wanted.tarball.parent.mkdir(parents=True, exist_ok=True)
    try:
        from_mirror = Mirror(paths.cache_dir() / "apt", steps).tarball("spice", version, wanted.suites, part)
        if not (from_mirror and _is(part, wanted.sha256)):
            failure = _download(wanted, part)
            if failure:
                raise BenchError(f"spice {version}: no such source package on the mirror, and {failure}; put "
                                 f"{wanted.tarball.name} into {wanted.tarball.parent} by hand")
            if not _is(part, wanted.sha256):
                raise BenchError(f"spice {version}: {wanted.url} is not the known release (sha256 differs): try again, or from "
                                 "another network")
        part.replace(wanted.tarball)
    finally:
        part.unlink(missing_ok=True)
    return wanted.tarball


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
        if not Mirror(paths.cache_dir() / "apt", steps).package("libspice-protocol-dev", wanted.suites, deb):
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


def bases() -> dict[str, str]:
    """Each series -> what it is based on: another series, or the release. In the order in which all are applied."""
    return {line.split()[0]: line.split()[1] for line in _lines(paths.ROOT / "patches/series")}


def built() -> list[str]:
    """The series of the default build and the packages: all that are not optional."""
    optional = overlay.optional(paths.ROOT)
    return [name for name in bases() if name not in optional]


def below(name: str) -> list[str]:
    """The series that this one needs, in order, and itself."""
    if name not in bases():
        raise BenchError(f"unknown series {name}: choose one of {', '.join(bases())}", 2)
    return [name] if bases()[name] == RELEASE else [*below(bases()[name]), name]


def series(version: str = DEFAULT, names: Iterable[str] | None = None) -> list[Path]:
    """The patches, in order, of all series or some. The folder VERSION of a series has those that differ for another release than
    the default."""
    found = []
    for name in bases() if names is None else names:
        folder = paths.ROOT / "patches" / name
        found += [variant if (variant := folder / version / line).is_file() else folder / line
                  for line in _lines(folder / "series")]
    return found


def changes_files(patch: Path) -> bool:
    """Whether the patch changes upstream's files; it may only add new ones."""
    return "\ndiff --git " in patch.read_text(encoding="utf-8")


def wrap() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(paths.ROOT / "subprojects" / "spice.wrap")
    return parser["wrap-file"]


def wrapped_series() -> list[Path]:
    """The patches that spice.wrap names."""
    listed = (name.strip() for name in wrap()["diff_files"].split(","))
    return [paths.ROOT / name for name in listed if name]


def sync_wrap() -> bool:
    """Makes spice.wrap name the patches of the series; returns whether it did not before."""
    wanted = [patch for patch in series(names=built()) if changes_files(patch)]
    if wrapped_series() == wanted:
        return False
    file = paths.ROOT / "subprojects" / "spice.wrap"
    names = ",\n  ".join(str(patch.relative_to(paths.ROOT)) for patch in wanted)
    text, changed = re.subn(r"^diff_files *=.*(?:\n[ \t]+.*)*$", f"diff_files =\n  {names}", file.read_text(),
                            flags=re.MULTILINE)
    assert changed == 1
    file.write_text(text)
    return True


def fingerprint(version: str, patched: bool) -> str:
    """A hash of all that a release's tree is made from."""
    digest = hashlib.sha256(release(version).sha256.encode())
    if patched:
        names = {**{patch.relative_to(paths.ROOT): patch for patch in series(version, built())},
                 **{place: paths.ROOT / kept for place, kept in overlay.sources(paths.ROOT, built()).items()}}
        for name, file in names.items():
            digest.update(f"{name}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def make_tree(version: str, target: Path, patched: bool) -> bool:
    """Makes a release's source tree, patched or not, unless it is up to date; returns whether it was made."""
    def make() -> None:
        unpack(version, target)
        if patched:
            copy_overlay(target, built())
            for patch in filter(changes_files, series(version, built())):
                apply_patch(patch, target)

    return refresh(target, fingerprint(version, patched), make)


def unpack(version: str, target: Path) -> None:
    """Unpacks the release, unpatched."""
    target.mkdir(parents=True)
    done = subprocess.run(["tar", "-xf", release(version).tarball, "--strip-components=1", "-C", target],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"cannot unpack spice {version}: {done.stderr.strip()}; remove {release(version).tarball} and try again")


def copy_overlay(target: Path, names: Collection[str] | None = None) -> None:
    """Copies the new files of all series or some."""
    for place, kept in overlay.sources(paths.ROOT, names).items():
        copy_new(kept, target / place)


def copy_new(kept: Path, target: Path) -> None:
    """Copies one of our new files into a tree of upstream's."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(paths.ROOT / kept, target)


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


def refresh(target: Path, made_from: str, make: Callable[[], None]) -> bool:
    """Has make() make the tree `target` anew unless it was made from the same; True when it did.

    Files that come out as they were keep their times, so that ninja builds again what changed and nothing else: the
    times inside a tarball are years old, and a patch taken back would go unnoticed."""
    if _read(target / _STAMP) == made_from:
        return False
    previous = target.with_name(f".{target.name}.previous")
    if (target / _STAMP).is_file():
        shutil.rmtree(previous, ignore_errors=True)
        target.rename(previous)
    shutil.rmtree(target, ignore_errors=True)       # left by an interrupted run
    try:
        make()
    except BaseException:
        # ninja must not compile half a tree: its objects would be newer than the files of the whole one
        shutil.rmtree(target, ignore_errors=True)
        raise
    for file in target.rglob("*"):
        if file.is_file() and not file.is_symlink():
            before = previous / file.relative_to(target)
            if before.is_file() and before.read_bytes() == file.read_bytes():
                shutil.copystat(before, file)
            else:
                os.utime(file)
    (target / _STAMP).write_text(made_from)
    shutil.rmtree(previous, ignore_errors=True)
    return True


def _read(file: Path) -> str:
    return file.read_text() if file.is_file() else ""
