# SPDX-License-Identifier: LGPL-2.1-or-later
"""What mmdebstrap is told, by a program in its place: making a root takes minutes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import debroot
from bench.source.debsource import Place, parse_deb822, parse_list

_PLACES = [Place(parse_list("deb [trusted=yes] http://mirror.invalid/debian bookworm main")[0], "trixie"),
           Place(parse_deb822("Types: deb\nURIs: http://mirror.invalid/security\nSuites: bookworm-security\nComponents: main\n")[0], "trixie-security")]
# shows its arguments and the files among them, and makes the root's folder of network settings
_PROGRAM = """#!/bin/sh
for word; do
    echo "$word"
    [ ! -f "${word#--aptopt=}" ] || cat "${word#--aptopt=}"
done
mkdir -p ROOT/etc
"""


@pytest.fixture(name="steps")
def fixture_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    program = tmp_path / "mmdebstrap"
    program.write_text(_PROGRAM.replace("ROOT", str(tmp_path / "root")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(debroot, "machine_acquire", lambda: 'Acquire::http::Proxy "http://proxy.invalid";\n')
    return Steps(tmp_path / "log")


def test_a_root_has_its_packages_and_this_machines_sources_and_proxies(tmp_path: Path, steps: Steps) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "left").touch()
    debroot.make("trixie", tmp_path / "root", _PLACES, steps, packages=["less", "xterm"], architecture="i386", dpkg=["path-exclude=/x/*"])
    told = (tmp_path / "log").read_text().splitlines()
    for line in ("--include=ca-certificates,less,xterm", "--architectures=i386", "--dpkgopt=path-exclude=/x/*", "trixie", str(tmp_path / "root"),
                 'Acquire::http::Proxy "http://proxy.invalid";', "deb [trusted=yes] http://mirror.invalid/debian trixie main",
                 "Suites: trixie-security"):
        assert line in told
    assert [file.name for file in (tmp_path / "root").iterdir()] == ["etc"]     # what an interrupted run has left is gone
    assert (tmp_path / "root/etc/hosts").read_text() == Path("/etc/hosts").read_text()
    assert not list(tmp_path.glob("sources-*"))


def test_packages_are_taken_from_the_last_time_and_kept_for_the_next(tmp_path: Path) -> None:
    archives, root = tmp_path / "with space", tmp_path / "root"
    (archives / "partial").mkdir(parents=True)
    hooks = {name: hook for name, _, hook in (option.partition("=") for option in debroot._kept(archives))}

    def run(name: str) -> None:
        subprocess.run(["sh", "-ec", hooks[name], "sh", root], check=True)

    run("--setup-hook")     # the first time there are none
    (root / "var/cache/apt/archives/new_1.deb").write_text("new")
    run("--customize-hook")
    (root / "var/cache/apt/archives/new_1.deb").unlink()
    run("--setup-hook")
    assert (root / "var/cache/apt/archives/new_1.deb").read_text() == (archives / "new_1.deb").read_text() == "new"
    run("--customize-hook")     # those that are there already


def test_a_machine_without_sources_is_told_so(tmp_path: Path, steps: Steps) -> None:
    with pytest.raises(BenchError, match="no source of the distribution's packages"):
        debroot.make("trixie", tmp_path / "root", [], steps)
    assert not (tmp_path / "root").exists()
