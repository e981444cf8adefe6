# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exports: git am applies them on pristine releases, and nothing of this repository is left in them."""

from __future__ import annotations

import argparse
import email
import errno
import os
import re
import subprocess
from pathlib import Path

import pytest

from bench.commands import compare, request
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.series import buildlists, export
from bench.source import brings, newfiles, upstream

_WHO = export.Author("Some One", "some@one.example")
_PLAIN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a",
          "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a"}


def git(tree: Path, *arguments: str | Path) -> str:
    done = subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **_PLAIN})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pristine(folder: Path) -> Path:
    """A git tree of the default release."""
    upstream.fetch(upstream.DEFAULT, Steps(folder / "log"))
    return export.Mails(upstream.DEFAULT, folder / "tree", _WHO).folder


@pytest.mark.parametrize("version", upstream.RELEASES)
def test_git_am_takes_each_series_on_a_pristine_release(version: str, tmp_path: Path) -> None:
    upstream.fetch(version, Steps(tmp_path / "log"))
    made = export.Mails(version, tmp_path / "made", _WHO)
    tree = tmp_path / "tree"
    git(tmp_path, "clone", "-q", made.folder, tree)
    for name in upstream.exported():
        base = made.at(upstream.below(name)[:-1])
        made.at(upstream.below(name))
        files = upstream.series(version, [name])
        if not files:
            continue
        export.mails(made, [name], base, tmp_path / name)
        mails = sorted((tmp_path / name).glob("*.patch"))
        start = git(tree, "rev-parse", "HEAD").strip()
        git(tree, "am", "-q", *mails)
        assert git(tree, "rev-parse", "HEAD^{tree}") == made.git("rev-parse", "HEAD^{tree}")
        assert len(mails) == len(files)
        for commit in git(tree, "rev-list", f"{start}..HEAD").split():
            assert unlisted(tree, commit) == []
        for mail in mails:
            check_mail(mail)
        check_cover(name, (tmp_path / name / "0000-cover-letter.txt").read_text(encoding="utf-8"), len(mails))
    assert [str(place) for place, kept in newfiles.sources(upstream.exported()).items()
            if (tree / place).read_bytes() != (paths.ROOT / kept).read_bytes()] == [], "what is kept is what is sent"


def test_one_patch_alone_and_a_series_on_what_it_needs(tmp_path: Path) -> None:
    """What an export of the whole series would not apply to."""
    tree = pristine(tmp_path)
    [alone] = export.export(upstream.DEFAULT, ["fixes/0009"], tmp_path / "alone", _WHO)
    assert [file.name for file in (tmp_path / "alone").iterdir()] == [alone.name]
    git(tree, "am", "-q", alone)
    git(tree, "reset", "-q", "--hard", "HEAD~")
    for name in ("fixes", "tls"):
        git(tree, "am", "-q", *export.export(upstream.DEFAULT, [name], tmp_path / name, _WHO))
    assert "\nFor spice 0.15.2 with fixes.\n" in (tmp_path / "tls/0000-cover-letter.txt").read_text()


def test_what_a_security_update_needs_is_the_top_of_the_table(tmp_path: Path) -> None:
    """The command of FAULTS.md. An export fails if a patch would change another function than with all others."""
    text = (paths.ROOT / "patches/FAULTS.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^    \./run export ((?:.+\\\n)+.+) DIR --release (?:\S+)$", text, re.MULTILINE)
    wanted = [f"fixes/{number}" for number in re.findall(r"\d{4}", command)]
    rows = re.findall(r"^\| (\d{4}) \|.* \| (security.*?) \| .*?\| \*{0,2}(critical|high)\*{0,2} \|", text, re.MULTILINE)
    assert sorted(wanted) == sorted(f"fixes/{number}" for number, *_ in rows) and f"the first {len(rows)} rows" in text
    assert len(export.export(upstream.DEFAULT, wanted, tmp_path / "mails", _WHO)) == len(wanted)


def test_the_smallest_useful_set_needs_no_other_fix(tmp_path: Path) -> None:
    """The command of patches/README.md; a header that a new test includes comes with it, whichever patch has it otherwise."""
    [which] = re.findall(r"`\./run export (fixes/[^`]+ tls) DIR`", (paths.ROOT / "patches/README.md").read_text(encoding="utf-8"))
    tree = pristine(tmp_path)
    mails = export.export(upstream.DEFAULT, which.split(), tmp_path / "mails", _WHO)
    assert len(mails) == 3 + len(upstream.series(of=["tls"]))
    git(tree, "am", "-q", *mails)
    new = [Path(line) for line in git(tree, "diff", "--name-only", "--diff-filter=A", f"HEAD~{len(mails)}", "HEAD").split()]
    ours = newfiles.sources()
    missing = [f"{file}: {name}" for file in new if file.suffix in (".cpp", ".h")
               for name in re.findall(r'^#include "([\w.-]+)"', (tree / file).read_text(encoding="utf-8"), re.MULTILINE)
               for header in [folder / name for folder in (Path("server"), Path("server/tests")) if folder / name in ours]
               if not (tree / header).is_file()]
    assert missing == []
    assert {file.name for file in new} >= {
        "test-tls-errors.cpp", "test-read-blocked.cpp", "test-link-full.cpp", "test-sasl-tls.cpp", "test-sasl.h"}
    assert "\nFor spice 0.15.2.\n" in (tmp_path / "mails/0000-cover-letter.txt").read_text(encoding="utf-8")


def check_cover(name: str, text: str, mails: int) -> None:
    """It has a row for each patch, the figures, and no link that leads nowhere in a mail."""
    assert f"\nSubject: [PATCH 0/{mails}] {name}: " in text and "../" not in text and "](" not in text
    assert len(re.findall(r"^\| \d{4} \|", text, re.MULTILINE)) == mails
    figures = {"tls": [r"\| vga-text-boot +\| lan +\|", r"^\| session \| stock, no TLS \|", "2017", r"^    \./run compare "],
               "fixes": [r"\*\*critical\*\* \| all \|"]}
    assert all(re.search(row, text, re.MULTILINE) for row in figures.get(name, []))


@pytest.mark.parametrize("name", export.COMPARED)
def test_the_figures_of_a_cover_letter_are_of_modes_that_it_measures(name: str) -> None:
    text = export._figures(name)
    [head] = re.findall(r"^\| recording .*", text, re.MULTILINE)
    modes = [cell.strip() for cell in head.split("|")[4:-3]]
    assert modes == ["stock", "normal", "gather", "cork", "more", "window", "batch"] and "measured with all series" in text.replace("\n", " ")
    parser = argparse.ArgumentParser()
    compare.configure(parser)
    [command] = re.findall(r"^    \./run compare ((?:.+\\\n)*.+)$", text, re.MULTILINE)
    asked = request.read(parser.parse_intermixed_args(command.replace("\\\n", " ").split()))
    assert asked.modes == modes


def unlisted(tree: Path, commit: str) -> list[str]:
    """The files that a commit brings and one of upstream's build systems does not know by then. make dist takes what
    Makefile.am names, so data and headers count there; 0.16.0 has none."""
    wrong = []
    for line in git(tree, "diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=A", commit, "server").split():
        tests = line.startswith("server/tests/")
        folder = "server/tests" if tests else "server"
        name = line.removeprefix(f"{folder}/")
        program = Path(name).stem if tests and name.endswith(".cpp") else ""
        known = {f"{folder}/meson.build": [program or ("" if tests else name)],
                 f"{folder}/Makefile.am": [program, f"{program.replace('-', '_')}_SOURCES = {name}"] if program else [name]}
        for file in git(tree, "ls-tree", "--name-only", commit, "--", *known).split():
            text = git(tree, "show", f"{commit}:{file}")
            wrong += [f"{file}: {entry}" for entry in known[file]
                      if not re.search(rf"(?<![\w.-]){re.escape(entry)}(?![\w.-])", text)]
    return wrong


def check_mail(mail: Path) -> None:
    text = mail.read_text(encoding="utf-8")
    message = email.message_from_string(text)
    body = str(message.get_payload()).partition("\n---\n")[0]
    assert message["From"] == _WHO.signature
    assert body.endswith(f"\nSigned-off-by: {_WHO.signature}")
    assert "Brings" not in body and "Series-" not in body and "overlay" not in text and "Fixes-class" not in body


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Of a release without Makefile.am."""
    for file, text in (("server/meson.build", "spice_server_sources = [\n  headers,\n  'a.c',\n  'red-x.h',\n  'z.c',\n]\n"),
                       ("server/tests/meson.build", "tests = [\n  ['test-a', true],\n  ['test-z', true],\n]\n"
                                                    "if unix\n  tests += [\n    ['test-u', true],\n  ]\nendif\n"),
                       ("server/one/tests/test-new.cpp", '#include "test-h.h"\n#include <x.h>\n#include "not-ours.h"\n'),
                       ("server/two/tests/test-h.h", '#include "test-i.h"\n'), ("server/two/tests/test-i.h", "")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def test_a_new_file_that_a_build_does_not_know_is_found(tree: Path) -> None:
    (tree / "server/Makefile.am").write_text("libserver_la_SOURCES =\t\\\n\tred-a.c\t\\\n\tnew.h\n")
    (tree / "server/tests/Makefile.am").write_text("check_PROGRAMS = \\\n\ttest-new\nlibtest_a_SOURCES =\ttest-h.h\n")
    git(tree, "init", "-q")
    git(tree, "add", "*/Makefile.am", "*/meson.build")
    git(tree, "commit", "-qm", "before")
    new = ["a.c", "new.h", "tests/test-new.cpp", "tests/test-h.h", "tests/test-i.h"]
    for name in new:
        (tree / "server" / name).write_text("")
    git(tree, "add", *(f"server/{name}" for name in new))
    git(tree, "commit", "-qm", "new")
    assert sorted(unlisted(tree, "HEAD")) == [
        "server/Makefile.am: a.c", "server/meson.build: new.h", "server/tests/Makefile.am: test-i.h",
        "server/tests/Makefile.am: test_new_SOURCES = test-new.cpp", "server/tests/meson.build: test-new"]


def test_a_new_name_goes_behind_the_one_most_like_it(tree: Path) -> None:
    new = brings.said("Why.\n\nBrings: red-y.cpp tests/test-zz.cpp\nBrings-to-Unix: tests/test-unix.cpp tests/x.txt\n")
    buildlists.add(tree, new)
    assert (tree / "server/meson.build").read_text() == (
        "spice_server_sources = [\n  headers,\n  'a.c',\n  'red-x.h',\n  'red-y.cpp',\n  'z.c',\n]\n")
    assert (tree / "server/tests/meson.build").read_text() == (
        "tests = [\n  ['test-a', true],\n  ['test-z', true],\n  ['test-zz', true, 'cpp'],\n]\n"
        "if unix\n  tests += [\n    ['test-u', true],\n    ['test-unix', true, 'cpp'],\n  ]\nendif\n")
    (tree / "server/meson.build").write_text("")
    with pytest.raises(BenchError, match="server/meson.build: no list .* for red-y.cpp"):
        buildlists.add(tree, new)


def test_what_users_are_told_is_on_top_of_the_changes(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("Major Changes in 1:\n===\n\n* old\n")
    buildlists.tell(tree, "1", [])
    body = f"Why.\n\nChangelog: One\n {'w' * 72} and more.\nBrings: a.h"
    buildlists.tell(tree, "1", brings.changes(body))
    buildlists.tell(tree, "1", ["Two"])
    assert (tree / "CHANGELOG.md").read_text() == (
        f"Major Changes since 1:\n======================\n\n* One {'w' * 72}\n  and more.\n* Two\n\n\n"
        "Major Changes in 1:\n===\n\n* old\n")
    assert brings.without(body) == "Why."


def test_headers_of_a_test_come_with_the_first_to_include_them(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tree)
    body = "Why.\n\nBrings: tests/test-new.cpp"
    assert [entry.file.name for entry in brings.named(body, [])] == ["test-new.cpp", "test-h.h", "test-i.h"]
    assert [entry.file.name for entry in brings.named(body, [Path("server/tests/test-h.h")])] == ["test-new.cpp"]


def test_nothing_is_left_where_something_is_or_what_is_asked_for_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/file").write_text("")
    with pytest.raises(BenchError, match="exists and is not empty"):
        export.export(upstream.DEFAULT, ["fixes"], tmp_path / "there", _WHO)
    for name, complaint in (("nothing", "unknown series nothing: choose one of"), ("devel", "only for this repository"), ("modes/7", "modes has no patch 7")):
        with pytest.raises(BenchError, match=complaint):
            export.export(upstream.DEFAULT, [name], tmp_path / "out", _WHO)
    with pytest.raises(BenchError, match="fixes has no patch 9: they are 0001 to 00"):
        export.export(upstream.DEFAULT, ["fixes/9"], tmp_path / "out", _WHO)
    assert not (tmp_path / "out").exists()


def test_without_a_name_in_git_there_is_no_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_COUNT", raising=False)
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", os.devnull)
    with pytest.raises(BenchError, match="set user.name and user.email"):
        export.author()


def test_a_full_disk_leaves_no_part_of_a_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(part: Path, target: Path) -> None:
        assert part.is_file() and len(list(target.parent.glob("*.patch"))) == 1
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BenchError, match="mails/0000-cover-letter.txt: No space left"):
        export.export(upstream.DEFAULT, ["modes"], tmp_path / "mails", _WHO)
    assert list((tmp_path / "mails").iterdir()) == []
