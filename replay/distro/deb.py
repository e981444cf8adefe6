# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run deb: the distribution's package of the library with our series."""

from __future__ import annotations

import argparse
import email.utils
import filecmp
import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.common.steps import StepFailed, Steps
from bench.source import debsource, upstream
from bench.source.builder import Builder, RootBuilder
from bench.source.debsource import Mirror, SourcePackage
from distro import changes

_STAMP = ".made-from"
_LIBRARY = "libspice-server1"
_SUITE = re.compile(r"[a-z][a-z0-9-]*")
_TEST = re.compile(r"^ *\d+/\d+ (?:\S+ / )?(\S+) +OK\b")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Builds libspice-server1, -dev and -dbgsym from the distribution's source package with our series in "
                          "debian/patches, runs the tests, and compares the library's ABI with the distribution's. Result: "
                          "build/deb/SUITE. Another suite than this machine's is built in a chroot (needs root and some 1.5 GB "
                          "in .cache). Resumes at the step at which it was interrupted.")
    parser.add_argument("--suite", default=debsource.codename(), help="release of Debian or Ubuntu, by name (default: this machine's)")


def execute(args: argparse.Namespace) -> int:
    if not _SUITE.fullmatch(args.suite):
        raise BenchError(f"'{args.suite}' is not a suite: give bookworm or trixie, for example", 2)
    began = time.monotonic()
    output = paths.build_dir() / "deb" / args.suite
    steps = Steps(paths.build_dir() / "deb" / f"{args.suite}.log")
    home = paths.cache_dir() / "deb" / args.suite
    native = args.suite == debsource.codename()
    builder = (Builder if native else RootBuilder)(args.suite, home, steps)
    source = Mirror(paths.cache_dir() / "apt", steps).source("spice", args.suite, home / "source")
    if source is None:
        raise BenchError(f"the mirror has no source package of spice for {args.suite}: check --suite (log: {steps.log})")
    release = source.version.rsplit("-", 1)[0]
    if release not in upstream.RELEASES:
        raise BenchError(f"{args.suite} has spice {source.version}; the series is for {', '.join(upstream.RELEASES)}")
    steps.say(f"{args.suite} has spice {source.version}"
              + (f"; not there to be asked: {', '.join(source.silent)}" if source.silent else ""))
    upstream.fetch(release, steps)      # the patches are exported in its tree
    patches = changes.patches(release)
    made_from = _fingerprint(source, patches)
    if not _is_made(output, made_from):
        builder.prepare(source.places)
        stock = _Build(builder, source, "stock", hashlib.sha256(source.dsc.read_bytes()).hexdigest())
        if not stock.is_made():
            stock.unpack()
            builder.require_for(stock.tree)
            stock.build("nocheck")
            stock.done()
        batch = _Build(builder, source, "batch", made_from)
        if not batch.is_made():
            batch.unpack()
            made = changes.moment()
            version = changes.suffixed(_archive_version(builder, source.version), made)
            ours = batch.tree / "debian/patches"
            changes.write(patches, ours, (ours / "series").read_text() if (ours / "series").is_file() else "")
            add_change(batch.tree, version, args.suite, email.utils.format_datetime(made))
            steps.say(f"tests run in the build: {count_tests(batch.build(), changes.tests())}")
            batch.done()
        _compare(builder, stock, batch)
        _lint(builder, stock, batch)
        _hand_over(batch, output, made_from)
    _tell(output, builder, native, time.monotonic() - began)
    return 0


def _fingerprint(source: SourcePackage, patches: Sequence[changes.Patch]) -> str:
    digest = hashlib.sha256(source.dsc.read_bytes())
    for patch in patches:
        digest.update(f"{patch.name}\0{patch.text}\0".encode())
    return digest.hexdigest()


def _is_made(folder: Path, made_from: str) -> bool:
    stamp = folder / _STAMP
    return stamp.is_file() and stamp.read_text() == made_from


class _Build:
    """The source package, unpacked and built in a folder of the builder."""

    def __init__(self, builder: Builder, source: SourcePackage, name: str, made_from: str) -> None:
        self._builder = builder
        self._source = source
        self.name = name
        self.folder = builder.work / name
        self.tree = self.folder / "spice"
        self._made_from = made_from

    def is_made(self) -> bool:
        return _is_made(self.folder, self._made_from)

    def done(self) -> None:
        (self.folder / _STAMP).write_text(self._made_from)

    def unpack(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for file in self._source.dsc.parent.iterdir():
            shutil.copyfile(file, self.folder / file.name)
        self._builder.run("unpacking", ["dpkg-source", "--no-check", "-x", self._source.dsc.name, self.tree.name],
                       self.folder)

    def build(self, *options: str) -> list[str]:
        """Builds the packages and unpacks them; returns the output of the build."""
        already = self._builder.steps.log.stat().st_size
        self._builder.run(f"building {self.name}", ["dpkg-buildpackage", "-us", "-uc"], self.tree, env={
            "DEB_BUILD_OPTIONS": " ".join([*options, f"parallel={os.cpu_count() or 1}"])})
        for deb in self.packages():
            self._builder.run(f"unpacking {deb.name}", ["dpkg-deb", "-x", self._builder.inside(deb), "content"], self.folder)
        with self._builder.steps.log.open("rb") as log:
            log.seek(already)
            return log.read().decode("utf-8", errors="replace").splitlines()

    def packages(self) -> list[Path]:
        return sorted(self.folder.glob("*.deb"))

    def one(self, pattern: str) -> Path:
        found = sorted((self.folder / "content").glob(pattern))
        if len(found) != 1:
            raise BenchError(f"{len(found)} files {pattern} in the packages of {self.name}")
        return found[0]


def _archive_version(builder: Builder, version: str) -> str:
    """The version to exceed: of the package that users have, which a rebuild may have made newer than its source."""
    try:
        known = builder.run("asking for the version people have", ["apt-cache", "madison", _LIBRARY])
    except StepFailed:
        known = []
    for line in known:
        found = line.split("|")
        if len(found) == 3 and debsource.newer(found[1].strip(), version) and "batch" not in found[1]:
            version = found[1].strip()
    return version


def add_change(tree: Path, version: str, suite: str, date: str) -> None:
    who = f"{os.environ.get('DEBFULLNAME', 'spice-batch')} <{os.environ.get('DEBEMAIL', 'spice-batch@localhost')}>"
    changelog = tree / "debian/changelog"
    changelog.write_text(f"spice ({version}) {suite}; urgency=medium\n\n"
                         "  * Local build with the series of spice-batch: see debian/patches/batch.\n\n"
                         f" -- {who}  {date}\n\n" + changelog.read_text(encoding="utf-8"), encoding="utf-8")


def count_tests(said: Sequence[str], ours: set[str]) -> int:
    """How many tests passed; ours must be among them."""
    passed = {found[1] for found in map(_TEST.match, said) if found}
    left_out = sorted(ours - passed)
    if left_out:
        raise BenchError(f"the build did not run {', '.join(left_out)}")
    return len(passed)


def _compare(builder: Builder, stock: _Build, batch: _Build) -> None:
    """Programs built with the distribution's library must work: no symbol or type is gone or changed, and the headers are
    equal."""
    pattern = "usr/lib/*/libspice-server.so.1.*"
    sides = []
    for side, build in (("1", stock), ("2", batch)):
        build.one("usr/lib/debug/.build-id/*/*.debug")      # without it abidiff has no types
        sides += [f"--debug-info-dir{side}", builder.inside(build.folder / "content/usr/lib/debug"),
                  f"--headers-dir{side}", builder.inside(build.folder / "content/usr/include")]
    libraries = [builder.inside(stock.one(pattern)), builder.inside(batch.one(pattern))]
    try:
        builder.run("comparing the interface", ["abidiff", "--no-added-syms", *sides, *libraries])
    except StepFailed as failure:
        said = failure.output[0] if failure.output else ""
        raise BenchError(f"the library's interface is not the distribution's: {said} (log: {builder.steps.log})") from None
    headers = "usr/include/spice-server"
    different = filecmp.dircmp(stock.one(headers), batch.one(headers))
    if different.left_only or different.right_only or different.diff_files:
        raise BenchError("headers differ from the distribution's: "
                         + ", ".join(different.left_only + different.right_only + different.diff_files))
    builder.steps.say("interface: as the distribution's (abidiff, headers)")


def _lint(builder: Builder, stock: _Build, batch: _Build) -> None:
    """No error of lintian that the distribution's package does not have."""
    before, after = (_errors(builder, build) for build in (stock, batch))
    if after - before:
        raise BenchError(f"lintian: {sorted(after - before)[0]} ({len(after - before)} in all; log: {builder.steps.log})")
    builder.steps.say("lintian: no error that the distribution's package has not")


def _errors(builder: Builder, build: _Build) -> set[str]:
    [changes_file] = build.folder.glob("*.changes")
    # a local build needs no valid e-mail address
    said = builder.run(f"lintian on {build.name}", ["lintian", "--allow-root", "--fail-on", "none", "--suppress-tags",
                                                "bogus-mail-host,bogus-mail-host-in-debian-changelog",
                                                changes_file.name], build.folder)
    return {line for line in said if line.startswith("E: ")}


def _hand_over(build: _Build, output: Path, made_from: str) -> None:
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for file in build.folder.iterdir():
        if file.is_file() and file.name != _STAMP:
            shutil.copy2(file, output / file.name)
    (output / _STAMP).write_text(made_from)


def _tell(output: Path, builder: Builder, native: bool, seconds: float) -> None:
    [library] = output.glob(f"{_LIBRARY}_*.deb")
    shown = library.relative_to(paths.ROOT) if library.is_relative_to(paths.ROOT) else library
    print(f"packages for {builder.suite} after {duration(seconds)}: {shown.parent}")
    print(f"install:  apt-get install ./{shown}" if native else f"install:  copy {library.name} to a machine that runs "
          f"{builder.suite}, and there: apt-get install ./{library.name}")
    print(f"go back:  apt-get install --allow-downgrades {_LIBRARY}/{builder.suite}")
