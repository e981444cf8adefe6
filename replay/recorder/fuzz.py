# SPDX-License-Identifier: LGPL-2.1-or-later
"""Damaged recordings through spice-recording and spice-player: neither may crash, hang, take much memory or lie.

  python3 -m recorder.fuzz --count 10000 --seed 1 --play 10000 [--keep DIR]

Each damaged file is verified. One called good must hold the commands the reader in Python counts. The first --play of the files go
to the player, too: one called damaged must be refused at once with offset and reason; one called good must play to the end, twice,
without and with image compression, and the client must show the same picture both times. What breaks a rule is a finding; it is
told, and kept in DIR if one is named. Exit status 1 if there are any.

A bit flipped in a pixel makes another good recording, which only a hash can tell from the first: the table, in Markdown, counts
how many good ones show another picture than before the damage.
"""
from __future__ import annotations

import argparse
import io
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.runs import environment
from recorder import all_commands, torture
from recorder.mutate import Base, mutate
from recorder.play import Played, play
from recorder.reader import Reader, RecordingError

BATCH = 200                  # files a verifying process gets
MEMORY = 1 << 30
SECONDS_A_BATCH = 120
SECONDS_A_PLAY = 40
EXPERIMENTS_A_BASE = 6
_REASON = re.compile(r": byte \d+: .")


@dataclass(frozen=True)
class Case:
    change: str
    path: Path
    good: bool
    base: int = 0            # which recording was damaged


@dataclass(frozen=True)
class Finding:
    case: str
    what: str


def bases(seed: int) -> list[Base]:
    """Small recordings that together hold every command; no compressed images: only a decoder could check those, and the
    server aborts on damaged ones."""
    names = [name for name in all_commands.EXPERIMENTS if name != "copy of a compressed image"]
    random.Random(seed).shuffle(names)
    outs = [io.BytesIO() for _ in range(0, len(names), EXPERIMENTS_A_BASE)]
    for at, out in enumerate(outs):
        all_commands.write(out, at, False, names[at * EXPERIMENTS_A_BASE:(at + 1) * EXPERIMENTS_A_BASE])
    outs.append(io.BytesIO())
    torture.write_tiny(outs[-1], seed, paint=False)
    return [Base(out.getvalue()) for out in outs]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _verify(files: list[Path]) -> list[dict[str, Any]] | str:
    """A verdict a file, or what became of the process."""
    try:
        done = subprocess.run([paths.recording_tool(), "verify", "--json", *files], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_A_BATCH, preexec_fn=_limit, check=False)
    except subprocess.TimeoutExpired:
        return f"verify took more than {SECONDS_A_BATCH} s"
    if done.returncode not in (0, 2):
        return f"verify ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:].strip()}"
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    if len(verdicts) != len(files):
        return f"verify said {len(verdicts)} of {len(files)} verdicts"
    return verdicts


def _counted(path: Path) -> int | str:
    """The commands in a file, as the reader in Python sees it."""
    try:
        with path.open("rb") as file:
            return sum(event.what == 0 for event in Reader(file))
    except RecordingError as error:
        return str(error)


def damaged(sound: list[Base], count: int, seed: int, folder: Path, findings: list[Finding]) -> Iterator[Case]:
    """Damages and verifies; cases whose verdict is known and which broke no rule."""
    dice = random.Random(seed)
    for start in range(0, count, BATCH):
        batch: list[tuple[str, Path, int]] = []
        for number in range(start, min(start + BATCH, count)):
            base = dice.randrange(len(sound))
            change, data = mutate(sound[base], dice)
            path = folder / f"{number}-{change}.rec"
            path.write_bytes(data)
            batch.append((change, path, base))
        verdicts = _verify([path for _, path, _ in batch])
        if isinstance(verdicts, str):
            verdicts = []
            for _, path, _ in batch:
                alone = _verify([path])
                if isinstance(alone, str):
                    findings.append(Finding(path.name, alone))
                    verdicts.append({})
                else:
                    verdicts += alone
        for (change, path, base), verdict in zip(batch, verdicts):
            if not verdict:
                continue
            if not verdict["valid"] and not _REASON.search(verdict.get("error", "")):
                findings.append(Finding(path.name, "refused without offset and reason"))
            elif verdict["valid"] and _counted(path) != verdict["commands"]:
                findings.append(Finding(path.name, f"called good with {verdict['commands']} commands: {_counted(path)}"))
            else:
                yield Case(change, path, verdict["valid"], base)


def fault_of(case: Case, played: Played) -> str | None:
    """Which rule this play of the case broke."""
    log = (played.player_log + played.client_log).strip()
    told = log.splitlines()[-1] if log else "nothing said"
    if not case.good:
        if played.player_status != 2 or not _REASON.search(told):
            return f"damaged, but the player ended with {played.player_status}: {told}"
        return None
    if played.player_status != 0:
        return f"good, but the player ended with {played.player_status}: {told}"
    drained = played.player.get("end") == "drained"          # no screen was left to draw the end marker on
    if played.client_status != 0 and not (drained and played.client_status == 3):
        return f"good, but the client ended with {played.client_status}: {told}"
    return None


def try_playing(case: Case) -> tuple[str | None, str | None]:
    """The rule that was broken, and the picture at the end; none for what was refused, or where no screen is left then."""
    options = [("--compression", kind, "--streaming", "off") for kind in ("off", "auto-glz")]
    pictures = set()
    for each in options if case.good else options[:1]:
        played = play(case.path, seconds=SECONDS_A_PLAY, memory=4 << 30, options=(*each, "--timeout", str(SECONDS_A_PLAY // 2)))
        fault = fault_of(case, played)
        if fault:
            return fault, None
        if played.player.get("end") == "marker":     # else the last screen is gone, and how much of it was seen is chance
            pictures.add(played.client.get("sha256"))
    return "played well twice, and showed two pictures" if len(pictures) > 1 else None, next(iter(pictures), None)


class Campaign:
    """Damages, verifies and plays in a folder of its own, and counts what came of it, by the kind of damage."""

    def __init__(self, folder: Path, seed: int):
        self.findings: list[Finding] = []
        self.tally: Counter[tuple[str, str]] = Counter()
        self._folder = folder
        self._seed = seed
        self._sound = bases(seed)
        self._pictures: dict[int, str | None] = {}

    def _picture(self, base: int) -> str | None:
        """What the recording shows before it is damaged."""
        if base not in self._pictures:
            path = self._folder / f"base-{base}.rec"
            path.write_bytes(self._sound[base].data)
            fault, self._pictures[base] = try_playing(Case("none", path, True))
            if fault:
                raise BenchError(f"the undamaged recording {base} of seed {self._seed}: {fault}")
        return self._pictures[base]

    def _count(self, case: Case, plays: bool) -> None:
        self.tally[case.change, "good" if case.good else "refused"] += 1
        if plays:
            self.tally[case.change, "played"] += 1
            fault, picture = try_playing(case)
            if fault:
                self.findings.append(Finding(case.path.name, fault))
                return
            self.tally[case.change, "changed"] += picture not in (None, self._picture(case.base))
        case.path.unlink()

    def run(self, count: int, plays: int) -> None:
        began = time.monotonic()
        for number, case in enumerate(damaged(self._sound, count, self._seed, self._folder, self.findings), 1):
            self._count(case, number <= plays)
            if number % BATCH == 0:
                left = (time.monotonic() - began) / number * (count - number)
                print(f"{number}/{count}, {len(self.findings)} findings, {duration(left)} left", file=sys.stderr, flush=True)

    @property
    def verified(self) -> int:
        return sum(count for (_, column), count in self.tally.items() if column in ("refused", "good"))

    def table(self) -> list[str]:
        columns = ("refused", "good", "played", "changed")
        changes = sorted({change for change, _ in self.tally})
        lines = ["| damage | refused | good | played | good, and shows another picture than before |", "|---|---|---|---|---|"]
        for name, members in (*((change, [change]) for change in changes), ("all", changes)):
            counts = (sum(self.tally[each, column] for each in members) for column in columns)
            lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
        return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="recorder.fuzz", description="Damaged recordings through verify and player.")
    parser.add_argument("--count", type=int, default=1000, help="how many recordings to damage")
    parser.add_argument("--play", type=int, default=0, help="how many of them to play")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for what broke a rule")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="spice-fuzz-") as name:
        folder = Path(name)
        campaign = Campaign(folder, chosen.seed)
        try:
            campaign.run(chosen.count, chosen.play)
        except BenchError as error:
            parser.error(str(error))
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        if chosen.keep:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            for finding in campaign.findings:
                (chosen.keep / finding.case).write_bytes((folder / finding.case).read_bytes())
    print("\n".join(campaign.table()))
    print(f"\n{campaign.verified} recordings, seed {chosen.seed}, tree {environment.git_state()['commit'] or 'unknown'}: "
          f"{len(campaign.findings)} findings")
    for finding in campaign.findings:
        print(f"{finding.case}: {finding.what}")
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
