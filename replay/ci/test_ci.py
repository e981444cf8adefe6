# SPDX-License-Identifier: LGPL-2.1-or-later
"""The root of .ci/run, here made of this machine's programs, as mmdebstrap takes minutes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.common import paths
from bench.common.errors import BenchError
from bench.source.debsource import Place, parse_list
from bench.source.outcome import Outcome
from ci import __main__ as ci
from ci import reader, root
from ci.documents import ROAD

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root to enter a root")
_SOURCES = [Place(parse_list("deb http://mirror.invalid/debian bookworm main")[0], "bookworm")]


def test_the_machine_needs_no_package_of_python() -> None:
    """.ci/run installs none there."""
    script = ("import sys; sys.modules.update(dict.fromkeys(('numpy', 'jinja2', 'dpkt', 'pytest', 'gi', 'cryptography', 'websocket'))); "
              "import ci.__main__")
    subprocess.run([sys.executable, "-S", "-c", script], cwd=paths.ROOT / "replay", check=True)


def test_a_reason_is_allowed_as_a_whole_or_has_failed() -> None:
    patterns = ci.allowed("# why\n\nno kernel\nused: .*\n")
    tests = Outcome(3, ["a"], {"no kernel": ["b"], "used: 0.3": ["c"], "no kernel today": ["d", "e"]})
    judged = ci.judged(tests, patterns)
    assert judged.summary == "3 passed, 3 failed, 2 skipped"
    assert judged.failed[1] == "d (skipped, which replay/ci/skips.txt does not allow: no kernel today)"


def test_every_allowed_reason_is_that_of_a_test() -> None:
    """None stays behind when its test goes."""
    sources = "".join(file.read_text() for pattern in ("replay/**/*.py", "server/**/*.cpp") for file in paths.ROOT.glob(pattern))
    for pattern in ci.allowed(ci.ALLOWED.read_text()):
        assert pattern.pattern.split(":")[0] in sources


_WENT = {step.name: ci.Went(0, 61.0) for step in ROAD}


def _written(folder: Path, name: str, what: object) -> None:
    (folder / "build").mkdir(exist_ok=True)
    (folder / "build" / name).write_text(json.dumps(what))


def test_the_last_line_is_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _written(tmp_path, "tests.json", {"passed": 7, "failed": ["a::b"], "flaky": ["e::f"],
                                      "skipped": {"no TCP_INFO": ["c"], "not installed": ["d"]}})
    assert ci.report(tmp_path, {**_WENT, "test": ci.Went(1, 600.0)}) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "7 passed, 2 failed, 1 skipped"
    assert [line for line in said if line.startswith("FAILED")][0] == "FAILED: a::b"
    assert "    1  no TCP_INFO" in said and "flaky, passed when run once more: e::f" in said
    assert "compare: ./run compare: green after 1:01" in said


def test_a_command_that_comes_to_no_tests_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = {name: ci.Went(1, 3.0) for name in ("compare", "test", "documents")}
    assert ci.report(tmp_path, {**_WENT, **failed, "go back": ci.Went(None, 0)}) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "0 passed, 4 failed, 0 skipped"
    assert "go back: apt-get install --allow-downgrades libspice-server1/bookworm: NOT TRIED, as a step before it failed" in said


def test_what_is_not_run_of_the_documents_is_told_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = [reader.Done(f"a.md:{line}: {text}", text, how, says, status, 1.0) for line, (text, how, says, status) in enumerate((
        ("./run setup", reader.RAN, "", 0), ("qm list", reader.NOT_RUN, "no host", 0), ("./run live", reader.ONLY, "--dry-run: long", 0),
        ("./run diff", reader.NAMED, "", 1)), 1)]
    _written(tmp_path, "documents.json", [asdict(one) for one in done])
    assert ci.report(tmp_path, {**_WENT, "documents": ci.Went(1, 3.0)}) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "2 passed, 1 failed, 0 skipped" and "FAILED: a.md:4: ./run diff (status 1)" in said
    assert said[said.index("  not run: no host") + 1] == "      a.md:2: qm list"
    assert said[said.index("  only run with --dry-run: long") + 1] == "      a.md:3: ./run live"


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                   capture_output=True)


def test_the_commit_is_cloned_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    _git(tree, "init", "-q")
    (tree / "file").write_text("committed")
    _git(tree, "add", "file")
    _git(tree, "commit", "-qm", "one")
    (tree / "file").write_text("not committed")
    (tree / "another").touch()
    monkeypatch.setattr(paths, "ROOT", tree)
    ci.clone(tmp_path / "clone")
    assert (tmp_path / "clone/file").read_text() == "committed"
    assert {file.name for file in (tmp_path / "clone").iterdir()} == {".git", "file"}
    assert "what is not committed is not tried" in capsys.readouterr().err


def test_no_git_tree_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    with pytest.raises(BenchError, match="^git HEAD: [^\n]*not a git repository[^\n]*$"):
        ci.clone(tmp_path / "clone")


def test_the_root_is_made_again_when_other_packages_are_wanted(tmp_path: Path) -> None:
    for name in root._LISTS:
        (tmp_path / name).write_text("one\n")
    before = root._key(tmp_path, _SOURCES)
    assert root._key(tmp_path, _SOURCES) == before
    (tmp_path / "packages-ci.txt").write_text("two\n")
    assert root._key(tmp_path, _SOURCES) != before


def test_little_of_the_environment_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPICE_STREAM", "cork")
    monkeypatch.setenv("https_proxy", "http://proxy.invalid")
    environment = root.environment()
    assert environment["https_proxy"] == "http://proxy.invalid"
    assert environment.keys() <= {"PATH", "HOME", "LANG", "CI", "DEBIAN_FRONTEND", *root._PROXIES, *map(str.upper, root._PROXIES)}


def test_a_full_disk_is_said_before_anything_is_done_but_for_what_a_killed_run_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPICE_CI_CACHE", str(tmp_path))
    (tmp_path / "run/root").mkdir(parents=True)
    (tmp_path / "root-1.tar").touch()
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3 * 10**9))
    with pytest.raises(BenchError, match="^[^\n]* has 3.0 GB free, and 14 are needed: [^\n]*SPICE_CI_CACHE$"):
        ci.main()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ci.lock", "root-1.tar"]


def test_logs_that_do_not_fit_leave_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("shutil.copyfile", full)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/setup.log").touch()
    ci.keep_logs(tmp_path, tmp_path / "kept")
    assert "ci: logs not kept: [Errno 28]" in capsys.readouterr().err


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    """This machine's programs, by links that lead into a folder mounted by nobody but the test's own command."""
    place = tmp_path / "root"
    for name in ("proc", "sys", "dev", "run", "var/cache/apt/archives", "srv"):
        (place / name).mkdir(parents=True)
    return place


@needs_root
def test_the_root_is_a_mount_point_and_has_processes_of_its_own(small_root: Path, tmp_path: Path) -> None:
    before = os.uname().nodename
    script = """
        set -e
        echo "$$ $(pwd) $(hostname)"
        awk '$5 == "/"' /proc/self/mountinfo | wc -l
        unshare --mount sh -c 'mount -o remount,bind,ro / && ! touch /new 2>/dev/null && echo read-only'
        ls -d /.host 2>/dev/null || echo nothing of the host
        sleep 600 &
        exit 3
    """
    # the programs of this machine, mounted into the root before it is entered, in a namespace that goes with the command
    host = "for name in usr bin sbin lib lib64 etc; do [ ! -e /$name ] || { mkdir -p $0/$name; mount --bind /$name $0/$name; }; done"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", f'mount --bind "$0" "$0"; {host}; exec "$@"', small_root,
                           *root.entered(small_root, tmp_path, "/srv", ["sh", "-c", script])],
                          env=root.environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[1:] == ["1", "read-only", "nothing of the host"]
    assert done.stdout.splitlines()[0].split()[1:] == ["/srv", "new-machine"]
    assert done.returncode == 3
    assert os.uname().nodename == before
