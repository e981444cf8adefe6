# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manifest of the shipped recordings: what people wrote about each, and what is computed from its bytes.

  python3 -m recordings.manifest      compares the files with the manifest; exit status 1 and a line per difference

./run record add adds an entry. `checkpoint`, `pauses` and `parts` (pictures at some commands, at some parts' ends) are by hand.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench.common import atomic
from recordings.catalogue import sha256_of
from recordings.describe import describe
from recordings.reader import RecordingError

FOLDER = Path(__file__).resolve().parents[1] / "recordings"
SCHEMA = {"schema": "spice-recordings", "version": 1,
          "guests": "Linux only, on an emulated processor (QEMU's TCG, no KVM): no Windows guest was ever recorded. `made` says of each "
                    "which guest, device and emulation, `driver` what drew."}
MOST_BYTES = 27_000_000      # total size, compressed
WRITTEN = ("name", "file", "kind", "what", "driver", "made", "upstream", "licence")   # keys that are written by hand
KINDS = ("real", "synthetic")

Entry = dict[str, Any]


def load(folder: Path | None = None) -> list[Entry]:
    entries: list[Entry] = json.loads(((folder or FOLDER) / "manifest.json").read_text())["recordings"]
    return entries


def save(entries: list[Entry], folder: Path | None = None) -> None:
    text = json.dumps({**SCHEMA, "recordings": entries}, indent=2)
    atomic.write_text((folder or FOLDER) / "manifest.json", text + "\n")


def add(entry: Entry, folder: Path | None = None) -> None:
    """Adds an entry: what a person wrote, `picture_sha256`, and the facts computed from the file."""
    folder = folder or FOLDER
    save([*load(folder), {**{key: entry[key] for key in WRITTEN}, **describe(folder / entry["file"]),
                          "picture_sha256": entry["picture_sha256"]}], folder)


def _differences(entry: Entry, folder: Path, thorough: bool) -> list[str]:
    name = entry.get("name", "an entry without a name")
    missing = [key for key in (*WRITTEN, "picture_sha256") if key not in entry]
    if missing:
        return [f"{name}: no {', '.join(missing)}"]
    if entry["kind"] not in KINDS:
        return [f"{name}: kind '{entry['kind']}' is none of {', '.join(KINDS)}"]
    path = folder / entry["file"]
    if not path.is_file():
        return [f"{name}: no file {entry['file']}"]
    if sha256_of(path) != entry.get("sha256"):
        return [f"{name}: {entry['file']} is not the file described"]
    if not thorough:
        return []
    try:
        facts = describe(path)
    except RecordingError as error:
        return [f"{name}: {entry['file']}: {error}"]
    return [f"{name}: {key} is {facts[key]!r}, the manifest says {entry.get(key)!r}"
            for key in facts if facts[key] != entry.get(key)]


def check(folder: Path | None = None, thorough: bool = True) -> list[str]:
    """Errors, one line each. Thorough: unpacks and counts every file."""
    folder = folder or FOLDER
    try:
        entries = load(folder)
    except (OSError, ValueError, KeyError) as error:
        return [f"manifest.json: {error!r}"]
    found = [line for entry in entries for line in _differences(entry, folder, thorough)]
    listed = {entry.get("file") for entry in entries}
    found += [f"{path.name} is not in the manifest" for path in sorted(folder.glob("*.rec*")) if path.name not in listed]
    if len({entry.get("name") for entry in entries}) != len(entries):
        found.append("a name stands twice in the manifest")
    size = sum(path.stat().st_size for path in folder.glob("*.rec*"))
    if size > MOST_BYTES:
        found.append(f"the recordings take {size} bytes, more than {MOST_BYTES}")
    return found


if __name__ == "__main__":
    wrong = check()
    print("\n".join(wrong) if wrong else f"{len(load())} recordings as the manifest says")
    sys.exit(1 if wrong else 0)
