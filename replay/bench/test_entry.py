# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run itself, in a tree of its own, with fake dpkg, apt and id: missing packages, other systems, no root."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import cli
from bench.commands import testing
from bench.common import paths

_TOOLS = ("bash", "sed", "grep", "xargs", "dirname", "mkdir", "env", "echo")
_APT = """#!/bin/sh
echo "$@" >> {tree}/apt.calls
case "$*" in *" install "*) {install} ;; esac
"""


class Machine:
    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.bin = tree / "bin"
        self.bin.mkdir()
        for tool in _TOOLS:
            found = shutil.which(tool)
            assert found
            (self.bin / tool).symlink_to(found)
        shutil.copy(paths.ROOT / "run", tree)
        (tree / "packages.txt").write_text("# a list\none\n\ntwo   # and why\n")
        bench = tree / "replay" / "bench"
        bench.mkdir(parents=True)
        (bench / "__main__.py").write_text("import os, sys; print(sys.argv[1:], os.getcwd())")

    def program(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def debian(self, installed: str, user: int = 0, install: str = "exit 0") -> None:
        self.program("dpkg-query", "#!/bin/sh\n" + "".join(f"echo installed {name}\n" for name in installed.split())
                     + "echo not-installed gone\nexit 1\n")
        self.program("apt-get", _APT.format(tree=self.tree, install=install))
        self.program("id", f"#!/bin/sh\necho {user}\n")

    def run(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        elsewhere = self.tree / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return subprocess.run([self.tree / "run", *arguments], cwd=elsewhere, capture_output=True, text=True,
                              env={"PATH": str(self.bin), **extra}, check=False)

    def apt_calls(self) -> list[str]:
        calls = self.tree / "apt.calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line a failure is."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("run: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_with_everything_installed_apt_is_not_called(machine: Machine) -> None:
    machine.debian("one two")
    done = machine.run("compare", "a recording", "--repeat", "1")
    assert done.stdout == f"['compare', 'a recording', '--repeat', '1'] {machine.tree}/elsewhere\n"
    assert (done.returncode, done.stderr, machine.apt_calls()) == (0, "", [])


def test_what_is_missing_is_installed_without_recommends(machine: Machine) -> None:
    machine.debian("one")
    done = machine.run("setup")
    assert done.stdout.startswith("['setup']")
    update, install = machine.apt_calls()
    assert update.endswith(" update")
    assert install.endswith(" install --no-install-recommends two")


def test_without_root_one_line_says_what_to_install(machine: Machine) -> None:
    machine.debian("", user=1000)
    assert complaint(machine.run("setup")).endswith("apt-get install --no-install-recommends one two\n")
    assert machine.apt_calls() == []


def test_off_debian_one_line_lists_what_to_install(machine: Machine) -> None:
    assert complaint(machine.run("setup")).startswith("run: this is not Debian; install what these packages hold")
    assert machine.run("setup", RUN_NO_PACKAGES="1").stdout.startswith("['setup']")


def test_no_network_is_one_more_line_with_the_reason(machine: Machine) -> None:
    machine.debian("", install="echo 'E: Unable to fetch some archives'; exit 100")
    done = machine.run("setup")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        f"run: the packages could not be installed: E: Unable to fetch some archives (log: {machine.tree}/build/packages.log)"]


def test_asking_for_help_installs_nothing(machine: Machine) -> None:
    machine.debian("")
    for arguments in ((), ("--help",), ("help",), ("compare", "--help"), ("record", "info", "-h")):
        assert machine.run(*arguments).returncode == 0
    assert machine.apt_calls() == []


@pytest.mark.parametrize("command", ["results", "clients", "patches", "patches each", "compare --dry-run",
                                     "live main --dry-run", "no-such-command"])
def test_what_does_not_build_only_names_what_is_missing(machine: Machine, command: str) -> None:
    machine.debian("one")
    assert complaint(machine.run(*command.split())) == (
        "run: packages are missing; ./run setup installs them, or: apt-get install --no-install-recommends two\n")
    assert machine.apt_calls() == []
    assert machine.run(*command.split(), RUN_NO_PACKAGES="1").returncode == 0


@pytest.mark.parametrize("command", ["watch", "diff", "installed", "export", "patches export fixes DIR", "deb recipes --release 0.16.0"])
def test_what_reads_files_or_looks_itself_needs_no_package(machine: Machine, command: str) -> None:
    machine.debian("")
    assert machine.run(*command.split()).returncode == 0
    assert machine.apt_calls() == []


@pytest.mark.parametrize("command", ["compare", "test", "live", "deb"])
def test_what_builds_installs(machine: Machine, command: str) -> None:
    machine.debian("one")
    assert machine.run(command).returncode == 0
    assert len(machine.apt_calls()) == 2


def test_a_recordings_tool_that_is_not_built_yet_has_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                                          tmp_path: Path) -> None:
    monkeypatch.setenv("SPICE_BENCH_BUILD", str(tmp_path))
    with pytest.raises(SystemExit):
        cli.main(["record", "info", "--help"])
    assert "./run record info linux-desktop" in capsys.readouterr().out
    assert cli.main(["record", "info", "tiny"]) == 1
    assert "spice-player is not built" in capsys.readouterr().err


def test_help_that_needs_a_package_names_it() -> None:
    script = "import sys; sys.modules['numpy'] = None; from bench import cli; sys.exit(cli.main(['live', '--help']))"
    done = subprocess.run([sys.executable, "-c", script], cwd=paths.ROOT / "replay", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "bench: live needs Python's numpy, a package that ./run setup installs\n")


def test_every_file_of_tests_is_run(capfd: pytest.CaptureFixture[str]) -> None:
    """Also in a folder whose name pytest leaves out by itself, as build. (A file without tests is one that only tests use.)"""
    assert testing.run_pytest(["--collect-only", "-q"]) == 0
    collected = {line.split(": ")[0] for line in capfd.readouterr().out.splitlines() if ".py: " in line}
    folders = (paths.ROOT / "replay", paths.ROOT / "server")
    assert collected == {str(file.relative_to(paths.ROOT)) for folder in folders for file in folder.rglob("test_*.py")
                         if "def test_" in file.read_text()}


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say() -> None:
    scripts = ("run", ".ci/run", "replay/bench/source/enter.sh", "replay/guest/init", "replay/live/disk/start", "replay/bench/source/quick-compiler.sh",
               "server/link")
    done = subprocess.run(["shellcheck", *(paths.ROOT / script for script in scripts)], capture_output=True, text=True,
                          env=os.environ, check=False)
    assert done.stdout == ""


_PACKAGE_OF = {"PIL": "python3-pil", "Xlib": "python3-xlib", "cryptography": "python3-cryptography", "gi": "python3-gi", "jinja2": "python3-jinja2",
               "numpy": "python3-numpy", "pytest": "python3-pytest", "websocket": "python3-websocket"}


def test_what_is_imported_is_among_the_packages() -> None:
    """A machine that has more hides it: numpy came with matplotlib, and went with it."""
    ours = {place.stem for place in (paths.ROOT / "replay").rglob("*") if place.is_dir() or place.suffix == ".py"}
    imported = set()
    for file in (paths.ROOT / "replay").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            imported |= {name.split(".")[0] for name in names}
    listed = "\n".join(file.read_text() for file in paths.ROOT.glob("packages*.txt")).split()
    for module in imported - set(sys.stdlib_module_names) - ours:
        assert _PACKAGE_OF.get(module) in listed, f"{module}: which package, and is it in packages.txt?"
