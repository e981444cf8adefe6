# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m ci [STEP ...]: a commit in a minimal root, on the road of documents.py, or on some steps of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import cli
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from bench.common.steps import GB, Steps, alone, require_space
from bench.source import debroot, outcome
from bench.source.outcome import Outcome
from ci import reader, root
from ci.documents import ROAD

_KEPT = ("build/setup.log", "build/test.log", "build/test-ahead.log", "build/pytest.xml", "build/pytest-builds.xml",
         "build/tests.json", "build/documents.json", "build/documents.log", "build/deb/bookworm.log", "build/installed.jsonl", "build/meson-logs/testlog.txt", "build/sanitize/meson-logs/testlog.txt")
ALLOWED = Path(__file__).with_name("skips.txt")      # reasons for which a test may be skipped
_SPACE = 14 * GB       # bytes: the root, unpacked and as a tarball, the packages, and what the two commands leave


@dataclass(frozen=True)
class Went:
    """How a step went; without a status it was not tried."""
    status: int | None
    seconds: float

    def __str__(self) -> str:
        if self.status is None:
            return "NOT TRIED, as a step before it failed"
        return f"{'green' if self.status == 0 else f'RED (status {self.status})'} after {duration(self.seconds)}"


def cache() -> Path:
    """Outside the clone, as the next run has another clone."""
    return Path(os.environ.get("SPICE_CI_CACHE", "/var/cache/spice-batch-ci"))


def clone(target: Path) -> str:
    """Clones this tree's commit into the folder target; returns its hash."""
    def git(*arguments: str) -> str:
        trusted = target.with_name("gitconfig")     # the tree may belong to another user, which git accepts only from a configuration file
        trusted.write_text("[safe]\n\tdirectory = *\n")
        done = subprocess.run(["git", *arguments], env={**os.environ, "GIT_CONFIG_GLOBAL": str(trusted)}, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise BenchError(f"git {arguments[-1]}: {done.stderr.strip().splitlines()[-1]}")
        return done.stdout.strip()

    commit = git("-C", str(paths.ROOT), "rev-parse", "HEAD")
    if git("-C", str(paths.ROOT), "status", "--porcelain", "--untracked-files=no"):
        print(f"ci: what is not committed is not tried, only {commit[:12]} is", file=sys.stderr)
    git("clone", "-q", "--no-hardlinks", str(paths.ROOT), str(target))
    git("-C", str(target), "checkout", "-q", "-B", "main", commit)
    return commit


def run(place: Path, archives: Path, command: Sequence[str]) -> tuple[int, float]:
    """Returns status and duration in seconds; the output is this program's."""
    began = time.monotonic()
    done = subprocess.run(root.entered(place, archives, f"/{root.FOLDER}", command), stdin=subprocess.DEVNULL, env=root.environment(),
                          check=False)      # an interruption kills unshare, and so all processes in its namespace
    return done.returncode, time.monotonic() - began


def walk(place: Path, archives: Path, wanted: Sequence[str]) -> dict[str, Went]:
    """Takes the steps of the road, or some of them."""
    went: dict[str, Went] = {}
    for step in ROAD:
        if wanted and step.name not in wanted:
            continue
        if step.on in went and went[step.on].status:
            went[step.name] = Went(None, 0)
            continue
        print(f"ci: {step.name}: {step.command}", file=sys.stderr, flush=True)
        then = f" && {{ {step.then}; }}" if step.then else ""
        went[step.name] = Went(*run(place, archives, ["bash", "-o", "pipefail", "-c", f"{step.command}{then}"]))
    return went


def allowed(text: str) -> list[re.Pattern[str]]:
    """One regular expression per line; it must match the whole reason."""
    return [re.compile(line) for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]


def judged(tests: Outcome, patterns: list[re.Pattern[str]]) -> Outcome:
    """The same results, with tests skipped for other reasons as failed."""
    found = Outcome(tests.passed, list(tests.failed), flaky=list(tests.flaky))
    for reason, names in tests.skipped.items():
        if any(pattern.fullmatch(reason) for pattern in patterns):
            found.skipped[reason] = names
        else:
            found.failed += [f"{name} (skipped, which replay/ci/skips.txt does not allow: {reason})" for name in names]
    return found


def report(folder: Path, went: dict[str, Went]) -> int:
    """Prints the result; its last line has the format of test runners."""
    file = folder / "build" / outcome.file().name
    tests = judged(outcome.read(file) if file.is_file() else Outcome(), allowed(ALLOWED.read_text()))
    read = folder / "build" / reader.file().name
    done = [reader.Done(**one) for one in json.loads(read.read_text())] if read.is_file() else []
    tests.passed += sum(not one.status for one in done if one.how in (reader.RAN, reader.NAMED, reader.ONLY))
    wrong = [f"{one.command} (status {one.status})" for one in done if one.status]
    own = {"test": tests.failed, "documents": wrong}        # steps that name what failed
    tests.failed += [f"{step.name}: {step.command}" for step in ROAD
                     if step.name in went and went[step.name].status != 0 and not own.get(step.name)] + wrong
    for step in ROAD:
        print(f"{step.name}: {step.command}: {went[step.name] if step.name in went else 'not asked for'}")
    for line in _of_documents(done):
        print(line)
    for line in ["skipped, by reason:", *tests.reasons()] if tests.skipped else ["skipped: none"]:
        print(line)
    for name in tests.flaky:
        print(f"flaky, passed when run once more: {name}")
    for name in tests.failed:
        print(f"FAILED: {name}")
    print(tests.summary)
    return 1 if tests.failed else 0


def _of_documents(done: Sequence[reader.Done]) -> list[str]:
    """What was not run of the documents, or not as it stands there, by reason."""
    counts = ", ".join(f"{sum(one.how == how for one in done)} {what}" for how, what in (
        (reader.RAN, "run"), (reader.ROADS, "of the road"), (reader.NAMED, "only named, which exist"), (reader.ONLY, "run in a shorter form"),
        (reader.NOT_RUN, "not run")))
    lines = [f"commands of the documents: {counts}"] if done else []
    for how in (reader.ONLY, reader.NOT_RUN):
        for reason in dict.fromkeys(one.says for one in done if one.how == how):
            lines += [f"  {how}{' ' if how == reader.ONLY else ': '}{reason}",
                      *(f"      {one.command}" for one in done if (one.how, one.says) == (how, reason))]
    return lines


def keep_logs(folder: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    try:
        for name in _KEPT:
            if (folder / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, target / name)
        print(f"logs: {target}", file=sys.stderr)
    except OSError as error:        # the result does not depend on them
        print(f"ci: logs not kept: {error}", file=sys.stderr)


def main(wanted: Sequence[str] = ()) -> int:
    if unknown := [name for name in wanted if name not in {step.name for step in ROAD}]:
        raise BenchError(f"unknown step '{unknown[0]}': choose of {', '.join(step.name for step in ROAD)}", 2)
    if os.geteuid():
        raise BenchError("making a root and namespaces takes root")
    folder = cache()
    work = folder / "run"
    with alone("ci", folder):
        debroot.remove(work)        # left by a run that was killed
        require_space(folder, _SPACE, "remove something, or name another folder in SPICE_CI_CACHE")
        try:
            work.mkdir()
            commit = clone(work / "clone")
            root.unpack(work / "clone", work / "root", folder, Steps(folder / "ci.log"))
            print(f"ci: {commit} on a bare {root.SUITE}", file=sys.stderr, flush=True)
            status = report(work / "root" / root.FOLDER, walk(work / "root", root.archives(folder), wanted))
            if status:
                keep_logs(work / "root" / root.FOLDER, folder / "last-failed")
            return status
        finally:
            debroot.remove(work)


if __name__ == "__main__":
    sys.exit(cli.guarded("ci", lambda: main(sys.argv[1:])))
