# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
from pathlib import Path

import pytest

from bench.common.steps import StepFailed, Steps
from bench.source import debsource

ONE_LINE = """\
# a comment
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb [ arch=amd64 signed-by=/usr/share/keyrings/d.gpg ] http://mirror.example/debian bookworm main contrib # here
deb-src http://mirror.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
#deb http://old.example/debian bullseye main
deb http://flat.example/ ./
"""

DEB822 = """\
Types: deb
# http://snapshot.example/
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://tools.example/apt
Suites: tools-bookworm
Components: main
Enabled: no
"""


def test_one_line_sources_keep_their_options() -> None:
    found = debsource.parse_list(ONE_LINE)
    wanted = debsource.distribution(found[1:], "bookworm")
    assert wanted is not None
    assert wanted.render("deb-src", "trixie") == (
        "deb-src [arch=amd64 signed-by=/usr/share/keyrings/d.gpg] http://mirror.example/debian trixie main\n")


def test_deb822_sources_keep_their_key() -> None:
    found = debsource.parse_deb822(DEB822)
    assert [source.suites for source in found] == [("bookworm", "bookworm-updates")]
    assert found[0].render("deb", "sid") == (
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\n"
        "signed-by: -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n")


def test_both_formats_are_found_where_apt_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "b.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "c.list.disabled").write_text("deb http://c.example/debian bookworm main\n")
    assert [source.suffix for source in debsource.machine_sources(tmp_path)] == [".list", ".sources"]


def test_the_distribution_is_not_its_updates_nor_a_stranger() -> None:
    text = ("deb http://security.example/debian-security bookworm-security main\n"
            "deb http://node.example/ nodistro main\n"
            "deb http://flat.example/ ./ main\n"
            "deb http://mirror.example/debian bookworm main\n")
    wanted = debsource.distribution(debsource.parse_list(text), "bookworm")
    assert wanted is not None and "mirror.example" in wanted.text
    assert debsource.distribution(debsource.parse_list(text.splitlines()[0]), "bookworm") is None


def test_a_mirror_that_is_not_there_is_no_tarball_and_leaves_nothing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = debsource.parse_list("deb [trusted=yes] file:/nowhere/debian bookworm main\n")
    monkeypatch.setattr(debsource, "machine_sources", lambda: nowhere)
    mirror = debsource.Mirror(tmp_path / "apt", Steps(tmp_path / "log"))
    assert not mirror.tarball("spice", "0.15.2", "tar.bz2", tmp_path / "target")
    assert not mirror.package("spice", ("trixie", "sid"), tmp_path / "target")
    assert not (tmp_path / "target").exists()
    assert list((tmp_path / "apt").iterdir()) == []


def test_without_apt_there_is_no_tarball(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not debsource.Mirror(tmp_path / "apt", Steps(tmp_path / "log")).tarball(
        "spice", "0.15.2", "tar.bz2", tmp_path / "target")


def test_the_tarball_is_in_the_mirrors_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = tmp_path / "mirror/pool/main/t/thing"
    pool.mkdir(parents=True)
    (pool / "thing_1.0.orig.tar.xz").write_text("1.0")
    monkeypatch.setattr(debsource, "machine_sources", lambda: debsource.parse_list(f"deb [trusted=yes] file:{tmp_path}/mirror here main\n"))
    assert debsource.Mirror(tmp_path / "apt", Steps(tmp_path / "log")).tarball("thing", "1.0", "tar.xz", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "1.0"
    assert not (tmp_path / "target").is_symlink()       # what is written there must not change the mirror


def test_a_failed_step_names_reason_and_log(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log")
    with pytest.raises(StepFailed, match=r"counting failed: E: no such number \(log: .*/log\)"):
        steps.run("counting", ["sh", "-c", "echo one; echo 'E: no such number'; exit 3"])
    assert "one\n" in (tmp_path / "log").read_text()


def test_a_suite_is_looked_for_with_its_updates_and_security_fixes() -> None:
    text = ("deb http://mirror.example/debian bookworm main\n"
            "deb http://security.example/debian-security bookworm-security main\n")
    found = debsource.places(debsource.parse_list(text), "bookworm", "trixie")
    assert [place.source.render("deb-src", place.suite) for place in found] == [
        "deb-src http://mirror.example/debian trixie main\n",
        "deb-src http://mirror.example/debian trixie-updates main\n",
        "deb-src http://security.example/debian-security trixie-security main\n"]
    assert found[2].source.uri == "http://security.example/debian-security"
    assert debsource.places([], "bookworm", "trixie") == []


def _source_suite(mirror: Path, suite: str, version: str) -> None:
    """A suite of a repository of files, with one source package."""
    folder = mirror / "dists" / suite / "main/source"
    folder.mkdir(parents=True)
    content = f"{version}\n".encode()
    names = [f"thing_{version}.{ending}" for ending in ("dsc", "tar.xz")]
    for name in names:
        (mirror / name).write_bytes(content)
    listed = "".join(f"\n {hashlib.sha256(content).hexdigest()} {len(content)} {name}" for name in names)
    sources = (f"Package: thing\nFormat: 3.0 (native)\nBinary: thing\nArchitecture: all\nVersion: {version}\n"
               f"Directory: .\nChecksums-Sha256:{listed}\n").encode()
    (folder / "Sources").write_bytes(sources)
    (folder.parents[1] / "Release").write_text(
        f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: all\nSHA256:\n"
        f" {hashlib.sha256(sources).hexdigest()} {len(sources)} main/source/Sources\n")


def test_the_newest_source_package_of_a_suite_is_fetched_whole(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _source_suite(tmp_path / "mirror", "here", "1.0-1")
    _source_suite(tmp_path / "mirror", "here-updates", "1.0-2")
    sources = debsource.parse_list(f"deb [trusted=yes] file:{tmp_path}/mirror here main\n"
                                   f"deb [trusted=yes] file:{tmp_path}/nowhere here-security main\n")
    monkeypatch.setattr(debsource, "machine_sources", lambda: sources)
    found = debsource.Mirror(tmp_path / "apt", Steps(tmp_path / "log")).source("thing", "here", tmp_path / "target")
    assert found is not None
    assert (found.version, found.silent) == ("1.0-2", ("here-security",))
    assert sorted(file.name for file in (tmp_path / "target").iterdir()) == ["thing_1.0-2.dsc", "thing_1.0-2.tar.xz"]
