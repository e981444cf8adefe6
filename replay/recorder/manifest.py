# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manifest of the shipped recordings: what people wrote about each, and what is computed from its bytes.

  python3 -m recorder.manifest check            compares the files with the manifest; exit status 1 and a line per difference
  python3 -m recorder.manifest update [NAME..]  computes again what can be computed, keeps what was written by hand

Hashes of pictures come from recorder.pictures, which plays the recordings; those of generated ones from
recorder.canvas.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.runs.recordings import sha256_of
from recorder.describe import describe
from recorder.reader import RecordingError

FOLDER = Path(__file__).resolve().parents[1] / "recordings"
SCHEMA = {"schema": "spice-recordings", "version": 1,
          "guests": "Linux only, on an emulated processor (QEMU's TCG, no KVM): no Windows guest was ever recorded. `made` says of each "
                    "which guest, device and emulation, `driver` what drew."}
MOST_BYTES = 25_000_000      # of the whole corpus, packed
WRITTEN = ("name", "file", "kind", "what", "driver", "made", "upstream", "licence")   # by hand
KINDS = ("real", "synthetic")

Entry = dict[str, Any]


def load(folder: Path | None = None) -> list[Entry]:
    entries: list[Entry] = json.loads(((folder or FOLDER) / "manifest.json").read_text())["recordings"]
    return entries


def save(entries: list[Entry], folder: Path | None = None) -> None:
    text = json.dumps({**SCHEMA, "recordings": entries}, indent=2)
    ((folder or FOLDER) / "manifest.json").write_text(text + "\n")


def refreshed(entry: Entry, folder: Path) -> Entry:
    """The entry with its facts computed anew. A picture belongs to the bytes it was seen with."""
    facts = describe(folder / entry["file"])
    same = facts["raw_sha256"] == entry.get("raw_sha256")
    pictures = {"picture_sha256": entry.get("picture_sha256") if same else None}
    if entry.get("checkpoint"):
        pictures["checkpoint"] = {**entry["checkpoint"], **({} if same else {"sha256": None})}
    if same and entry.get("pauses"):        # command and picture, as every mode and the unpatched library show them
        pictures["pauses"] = entry["pauses"]
    if same and entry.get("parts"):         # FROM-TO and the picture at its end, of those that results/ shows
        pictures["parts"] = entry["parts"]
    return {**{key: entry[key] for key in WRITTEN}, **facts, **pictures}


def put(entry: Entry, folder: Path | None = None) -> None:
    """Add a recording, or replace the one of that name."""
    folder = folder or FOLDER
    entries = load(folder)
    known = {old["name"]: at for at, old in enumerate(entries)}
    fresh = refreshed({**(entries[known[entry["name"]]] if entry["name"] in known else {}), **entry}, folder)
    if entry["name"] in known:
        entries[known[entry["name"]]] = fresh
    else:
        entries.append(fresh)
    save(entries, folder)


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
    """What is wrong, a line each. Thorough: unpacks every file and counts."""
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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recorder.manifest", description="The manifest of the shipped recordings.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("check")
    actions.add_parser("update").add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    if chosen.action == "check":
        wrong = check(chosen.folder)
        print("\n".join(wrong) if wrong else f"{len(load(chosen.folder))} recordings as the manifest says")
        return 1 if wrong else 0
    entries = load(chosen.folder)
    unknown = set(chosen.names) - {entry["name"] for entry in entries}
    if unknown:
        print(f"not in the manifest: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    for at, entry in enumerate(entries):
        if not chosen.names or entry["name"] in chosen.names:
            entries[at] = refreshed(entry, chosen.folder)
    save(entries, chosen.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
