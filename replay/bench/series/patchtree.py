# SPDX-License-Identifier: LGPL-2.1-or-later
"""The series as commits of a git tree of upstream, and back.

`plant` makes the tree: the release, the overlay, then one commit per patch. `harvest` writes the patches from it. A
line of each message names the patch file, while it is in the tree.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from bench.build import patchfile, upstream
from bench.build.patchfile import Patch
from bench.common import paths
from bench.common.errors import BenchError

_FROM = "Series-patch: "
_VARIANT = "Series-variant: "
_WAITING = "SERIES_MESSAGE"
# the same output from git, whatever its configuration
_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C.UTF-8",
                "GIT_AUTHOR_NAME": "series", "GIT_AUTHOR_EMAIL": "series", "GIT_AUTHOR_DATE": "@0 +0000",
                "GIT_COMMITTER_NAME": "series", "GIT_COMMITTER_EMAIL": "series", "GIT_COMMITTER_DATE": "@0 +0000"}


def git(tree: Path, *arguments: str, given: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["git", "-C", tree, *arguments], input=given, capture_output=True, text=True, check=False,
                          env={**os.environ, **_ENVIRONMENT})
    if check and done.returncode:
        raise BenchError(f"git {arguments[0]} in {tree} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return done


def _commit(tree: Path, message: str) -> None:
    git(tree, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", given=message)


def _begin(version: str, tree: Path) -> None:
    upstream.unpack(version, tree)
    git(tree, "init", "-q")
    (tree / ".git/info/exclude").write_text("*.rej\n*.orig\n")
    for what, tag in (("release", version), ("overlay", "overlay")):
        if what == "overlay":
            upstream.copy_overlay(tree)
        git(tree, "add", "-Af")
        _commit(tree, f"{what} {version}\n")
        git(tree, "tag", tag)


def version_of(tree: Path) -> str:
    """The release from which a tree was made."""
    found = git(tree, "log", "-1", "--format=%s", "overlay", check=False).stdout.split()
    if len(found) != 2 or found[0] != "overlay":
        raise BenchError(f"{tree} is not a tree made by ./run tree", 2)
    return found[1]


def _commits(tree: Path) -> list[str]:
    return git(tree, "rev-list", "--reverse", "overlay..HEAD").stdout.split()


def _message(tree: Path, commit: str) -> str:
    return git(tree, "log", "-1", "--format=%B", commit).stdout


def _origin(message: str, key: str) -> str:
    return next((line.removeprefix(key) for line in message.splitlines() if line.startswith(key)), "")


def plant(version: str, tree: Path) -> int:
    """Makes the tree, or continues one after a patch that did not apply was fixed. Returns the number of patches."""
    if not tree.exists() or not any(tree.iterdir()):
        if tree.exists():
            tree.rmdir()
        _begin(version, tree)
    elif version_of(tree) != version:
        raise BenchError(f"{tree} is a tree of spice {version_of(tree)}: choose another folder", 2)
    if git(tree, "status", "--porcelain").stdout:
        raise BenchError(f"{tree} has changes that are not committed: commit them first")
    there = {_origin(_message(tree, commit), _FROM) for commit in _commits(tree)}
    patches = upstream.series(version)
    for file in patches:
        if _key(file, version) in there:
            continue
        patch = patchfile.read(file)
        marks = f"\n\n{_FROM}{_key(file, version)}\n"
        if file.parent.name == version:
            marks += f"{_VARIANT}yes\n"
        if patch.diff:
            done = git(tree, "apply", "--index", "-C1", given=patch.diff, check=False)
            if done.returncode:
                _stop(tree, file, patch, version, marks, done.stderr)
        _commit(tree, patch.message + marks)
    return len(patches)


def _key(file: Path, version: str) -> str:
    """Identifies a patch and its variants: series and file name."""
    folder = file.parent.parent if file.parent.name == version else file.parent
    return f"{folder.name}/{file.name}"


def _stop(tree: Path, file: Path, patch: Patch, version: str, marks: str, said: str) -> None:
    """Leaves the hunks that apply in the tree, and says how to continue."""
    git(tree, "apply", "-C1", "--reject", given=patch.diff, check=False)
    if version != upstream.DEFAULT and _VARIANT not in marks:
        marks += f"{_VARIANT}yes\n"
    (tree / ".git" / _WAITING).write_text(patch.message + marks)
    why = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    raise BenchError(f"{file.relative_to(paths.ROOT)} does not apply to {version}: {(why or ['?'])[-1]}; in {tree}, "
                     f"apply the *.rej by hand, git add -A, git commit -F .git/{_WAITING}, then run this command again")


def _patch(tree: Path, commit: str) -> tuple[Patch, str]:
    message = _message(tree, commit)
    lines = [line for line in message.strip().splitlines() if not line.startswith((_FROM, _VARIANT))]
    shown = [git(tree, "show", "--format=", "--no-color", "--no-ext-diff", "--no-renames", what, commit).stdout
             for what in ("-U1", "--stat=78")]
    # blob hashes change with every earlier patch, and are not needed
    diff = re.sub(r"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", "", shown[0], flags=re.MULTILINE)
    return Patch(lines[0] if lines else "", "\n".join(lines[1:]).strip("\n"), diff), shown[1]


def harvest(tree: Path) -> list[Path]:
    """Writes the patches of a tree, numbered in their order, and the series files; for another release than the default, the
    variants. A new commit belongs to the series of the one before it. Returns the files that are new, gone or changed."""
    version = version_of(tree)
    folder = paths.ROOT / "patches"
    wanted: dict[Path, str] = {}
    names: dict[str, list[str]] = {name: [] for name in upstream.bases()}
    renamed: dict[str, str] = {}
    name = next(iter(names))
    for commit in _commits(tree):
        patch, stat = _patch(tree, commit)
        message = _message(tree, commit)
        origin = _origin(message, _FROM)
        if version != upstream.DEFAULT:
            if _origin(message, _VARIANT):
                wanted[folder / Path(origin).parent / version / Path(origin).name] = patchfile.text(patch, stat)
            continue
        name = Path(origin).parent.name or name
        names[name].append(patch.name(len(names[name]) + 1))
        renamed[origin] = f"{name}/{names[name][-1]}"
        wanted[folder / renamed[origin]] = patchfile.text(patch, stat)
    if version != upstream.DEFAULT:
        return _replace(list(folder.glob(f"*/{version}/*.patch")), wanted)
    changed = _replace(list(folder.glob("*/*.patch")), wanted)
    _move_variants(folder, renamed)
    for name, listed in names.items():
        (folder / name / "series").write_text("".join(f"{line}\n" for line in listed))
    return changed


def _replace(there: list[Path], wanted: dict[Path, str]) -> list[Path]:
    before = {file: file.read_text(encoding="utf-8") for file in there}
    changed = [file for file in before.keys() | wanted.keys() if before.get(file) != wanted.get(file)]
    for file in changed:
        if file in wanted:
            file.parent.mkdir(exist_ok=True)
            file.write_text(wanted[file], encoding="utf-8")
        else:
            file.unlink()
    return sorted(changed)


def _move_variants(folder: Path, renamed: dict[str, str]) -> None:
    """Renames variants along with their patches, all at once, as one may get the old name of another."""
    texts = {}
    for file in folder.glob("*/*/*.patch"):
        origin = f"{file.parents[1].name}/{file.name}"
        if renamed.get(origin) != origin:
            texts[file] = file.read_text(encoding="utf-8")
            file.unlink()
    for file, text in texts.items():
        origin = f"{file.parents[1].name}/{file.name}"
        if origin in renamed:
            target = folder / Path(renamed[origin]).parent / file.parent.name / Path(renamed[origin]).name
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
