# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds a recording by name or path. The cache keeps its unpacked copy, and the part cut out for NAME@FROM-TO."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.common import atomic, packed, paths
from bench.common.errors import BenchError
from recordings import cutting

_CHUNK = 1 << 20
_KEEP_FREE = 256 << 20      # disk space that must stay free when a recording is unpacked
_PART = re.compile(r"(.+)@(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")      # NAME@FROM-TO, in seconds
_PACKED = (".rec.xz", ".rec.gz", ".rec")


@dataclass(frozen=True)
class Recording:
    name: str
    path: Path
    sha256: str                         # sha256 of the file as it is, compressed or not
    commands: int | None = None         # from the manifest
    picture_sha256: str | None = None   # the final picture, as the library itself drew it
    pauses: tuple[tuple[int, str], ...] = ()    # pictures after some commands, where nothing is lossy
    parts: tuple[tuple[str, str], ...] = ()     # FROM-TO of parts -> their final picture
    seconds: float | None = None        # duration of the session
    part: tuple[float, float] | None = None     # the wanted part in seconds, until it has been cut out


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The shipped recordings by name."""
    folder = folder or paths.RECORDINGS
    try:
        entries = json.loads((folder / "manifest.json").read_text())["recordings"]
        return {entry["name"]: entry for entry in entries}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{folder / 'manifest.json'} is damaged: {error}") from None


def _plain_name(path: Path) -> str:
    for ending in _PACKED:
        if path.name.endswith(ending):
            return path.name[:-len(ending)]
    return path.name


def _split(wanted: str) -> tuple[str, tuple[float, float] | None]:
    """Splits NAME@FROM-TO; a file with exactly this name takes precedence."""
    found = _PART.fullmatch(wanted)
    if not found or Path(wanted).is_file():
        return wanted, None
    begin, end = float(found[2]), float(found[3])
    if begin >= end:
        raise BenchError(f"recording {wanted}: a part must begin before it ends", 2)
    return found[1], (begin, end)


def find(wanted: str, folder: Path | None = None) -> Recording:
    """A shipped recording by name, or any file by path; or a part of either, as NAME@FROM-TO."""
    whole, part = _split(wanted)
    if part is not None:
        found, which = find(whole, folder), wanted.rpartition("@")[2]
        if found.seconds is not None:
            begins(wanted, part[0], found.seconds, "s")
        return replace(found, name=f"{found.name}@{which}", seconds=part[1] - part[0], part=part,
                       picture_sha256=dict(found.parts).get(which), pauses=())
    folder = folder or paths.RECORDINGS
    shipped = manifest(folder)
    entry = shipped.get(wanted)
    if entry is not None:
        path = folder / entry["file"]
    else:
        found = [folder / (wanted + ending) for ending in _PACKED if (folder / (wanted + ending)).is_file()]
        path = Path(wanted) if "/" in wanted or not found else found[0]
    if not path.is_file():
        if "/" in wanted:
            raise BenchError(f"recording {wanted}: no such file", 2)
        raise BenchError(f"no recording '{wanted}': it is neither a file nor one of {', '.join(sorted(shipped))}", 2)
    try:
        digest = sha256_of(path)
    except OSError as error:
        raise BenchError(f"recording {path}: {error.strerror}") from None
    if entry is None:       # a path may lead to a shipped recording
        entry = next((known for known in shipped.values() if known.get("sha256") == digest), {})
    elif entry.get("sha256") not in (None, digest):
        raise BenchError(f"recording {path} is not the one in the manifest: restore it with git checkout (sha256 {digest})")
    return Recording(_plain_name(path), path, digest, entry.get("commands"), entry.get("picture_sha256"),
                     tuple((command, shown) for command, shown in entry.get("pauses", ())),
                     tuple(entry.get("parts", {}).items()), entry.get("seconds"))


def begins(wanted: str, first: float, end: float, unit: str) -> None:
    """Raises BenchError if nothing is left of a part that begins there."""
    if first >= end:
        raise BenchError(f"recording {wanted}: the part begins at {first:g} {unit}, and the recording ends at {end:g}", 2)


def check(path: Path, damaged: bool = False) -> dict[str, Any]:
    """The duration of a recording, or an error where it is damaged, from the player, which reads it as for playing. damaged: what is to
    be known of the events before the damage."""
    unpacking = None
    with packed.opened(path) as source:
        argv = [str(paths.player()), "--check", "-" if packed.is_packed(source) else str(path)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as checker:
            assert checker.stdin
            try:
                while packed.is_packed(source) and (chunk := source.read1(_CHUNK)):     # type: ignore[attr-defined]
                    checker.stdin.write(chunk)
            except packed.DAMAGED as error:
                unpacking = str(error)
            except BrokenPipeError:     # it has found an error, which it prints
                pass
            out, said = checker.communicate()
    found: dict[str, Any] = json.loads(out or b"{}")
    reason = unpacking or found.get("error") or checker.returncode and (said.decode(errors="replace").strip() or "cannot be checked")
    if reason and not (damaged and found.get("commands")):
        raise BenchError(f"recording {path} is damaged: {reason}" + (
            f"; {found['seconds']:.1f} s and {found['commands']} commands before that can be saved: ./run record trim {path} -o whole.rec"
            if found.get("commands") else ""), 2)
    return {**found, "error": reason or None}


def _cut(whole: Recording, part: tuple[float, float]) -> Recording:
    """Cuts out a part, preceded by what it depends on, to be played at once."""
    made_from = hashlib.sha256(f"{whole.sha256} {sha256_of(Path(cutting.__file__))} {part}".encode()).hexdigest()
    kept = paths.cache_dir() / "recordings" / f"{made_from}.rec"
    if not kept.is_file():
        begins(whole.name, part[0], check(whole.path)["seconds"], "s")
        cutting.cut(whole.path, cutting.seconds(*part), kept)
    return replace(whole, path=kept, sha256=sha256_of(kept), commands=None, seconds=None, part=None)


def looked_into(recording: Recording) -> Recording:
    """The recording, cut if a part is wanted, with the figures that the manifest lacks."""
    if recording.part is not None:
        recording = _cut(recording, recording.part)
    if recording.commands is not None:
        return recording
    found = check(recording.path)
    return replace(recording, commands=found["commands"], seconds=found["seconds"])


def unpacked(recording: Recording) -> Path:
    """The uncompressed recording: the file itself, or a cached copy. Never fills the disk."""
    with packed.opened(recording.path) as source:
        if not packed.is_packed(source):
            return recording.path
        copy = paths.cache_dir() / "recordings" / f"{recording.sha256}.rec"
        if copy.is_file():
            return copy
        with atomic.replaced(copy) as part, part.open("wb") as target:
            try:
                while chunk := source.read(_CHUNK):
                    if shutil.disk_usage(copy.parent).free < _KEEP_FREE:
                        raise BenchError(f"no space left in {copy.parent} to unpack {recording.path.name}")
                    target.write(chunk)
            except packed.DAMAGED as error:
                raise BenchError(f"recording {recording.path} is damaged: {error}", 2) from None
        return copy
