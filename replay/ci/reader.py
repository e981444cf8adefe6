# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m ci.reader: does what the documents say, in the clone of .ci/run, whose files it puts back after each document."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.progress import duration
from ci import documents
from ci.documents import ROAD, Command, Rule
from guest.errors import Failed

_LONGEST = 3600         # seconds a command may take
_WORDS = 15             # lines of a failed command's output that are shown
_OF_A_GUEST = re.compile(r"\$(?:PID|STATS)\b")
_IN_THE_CLONE = re.compile(r"\./|\.ci/|build/|meson ")
_SOMEBODY = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Some One",
             "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "some@one.example", "GIT_SEQUENCE_EDITOR": ":", "GIT_EDITOR": ":"}
RAN, NAMED, ROADS, NOT_RUN, ONLY = "ran", "is a command", "is of the road", "not run", "only run with"


@dataclass(frozen=True)
class Done:
    command: str        # document:line: text
    text: str
    how: str            # one of the above
    says: str           # the reason why it was not, or not quite, run
    status: int
    seconds: float


def file() -> Path:
    return paths.build_dir() / "documents.json"


class Reader:
    """Reads one document after the other. The folder it is in, and what it made, last until the end of the document."""

    def __init__(self, rules: Sequence[Rule], log: Path) -> None:
        self._rules, self._log = rules, log
        self._open = ExitStack()
        self._guest: dict[str, str] | None = None
        self._cwd = self._work = paths.ROOT
        self._good: set[str] = set()        # what was run in the clone: to the next document that says so it is known

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self, commands: Sequence[Command], work: Path) -> list[Done]:
        """The commands of one document; work is a new folder."""
        self._cwd, self._work = paths.ROOT, work
        return [done for command in commands if (done := self._do(command))]

    def _do(self, command: Command) -> Done | None:
        def rule(kind: str) -> str:
            return documents.first(kind, command, self._rules)

        if rule("text"):
            return None
        if command.named and not rule("except"):
            return self._run(command, self._help(command), NAMED, "")
        if command.text in {step.command for step in ROAD if step.documented}:
            return self._said(Done(str(command), command.text, ROADS, "", 0, 0))
        if why := rule("except"):
            return Done(str(command), command.text, NOT_RUN, why, 0, 0)
        text = documents.filled(command, self._rules)
        added, _, why = rule("add").partition(": ")
        if added in text:
            added = why = ""
        before = rule("before")
        text = f"{text} {added}".rstrip()
        return self._run(command, f"({before}) && {text}" if before else text, ONLY if added else RAN, f"{added}: {why}" if added else "")

    def _help(self, command: Command) -> str:
        """Of a command that is only named; the option that is named with it must be among its own."""
        words = [word for word in command.text.split("[")[0].split() if not word.startswith("--")]
        option = command.text.split()[-1] if command.text.split()[-1].startswith("--") else ""
        return f"{' '.join(words)} --help{f' | grep -e {option}' if option else ''}"

    def _run(self, command: Command, text: str, how: str, says: str) -> Done:
        in_clone = bool(_IN_THE_CLONE.match(command.text))
        if in_clone and text in self._good:
            return self._said(Done(str(command), command.text, how, says, 0, 0))
        began = time.monotonic()
        try:
            status, said = self._shell(text, in_clone)
        except (Failed, BenchError, subprocess.TimeoutExpired) as error:
            status, said = 1, str(error)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"\n# {command}\n$ {text}\n{said}\n")
        done = Done(str(command), command.text, how, says, status, time.monotonic() - began)
        if in_clone and not status:
            self._good.add(text)
        if status:
            print("\n".join(said.splitlines()[-_WORDS:]), file=sys.stderr)
        return self._said(done)

    def _said(self, done: Done) -> Done:
        print(f"{done.command}: {done.how}{f' ({duration(done.seconds)})' if done.seconds > 1 else ''}"
              + (f": FAILED, status {done.status}" if done.status else ""), file=sys.stderr, flush=True)
        return done

    def _shell(self, text: str, in_clone: bool) -> tuple[int, str]:
        environment = {**os.environ, **_SOMEBODY, "WORK": str(self._work)}
        if _OF_A_GUEST.search(text):
            from ci import guest        # its packages are in the root, and this module is also used outside

            self._guest = self._guest or self._open.enter_context(guest.seen())
            environment |= self._guest
        where = self._work / ".cwd"
        with tempfile.TemporaryFile() as output:        # not a pipe, which a daemon would keep open
            done = subprocess.run(["bash", "-o", "pipefail", "-c", f'{text}\nstatus=$?\npwd >"{where}"\nexit $status'],
                                  cwd=paths.ROOT if in_clone else self._cwd, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=_LONGEST, check=False)
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        if not in_clone and where.is_file():
            self._cwd = Path(where.read_text().strip())
        return done.returncode, said


def read(commands: Sequence[Command], rules: Sequence[Rule], log: Path) -> list[Done]:
    found: list[Done] = []
    with Reader(rules, log) as reader:
        for _, of_one in groupby(commands, key=lambda command: command.document):
            with tempfile.TemporaryDirectory(prefix="document-", ignore_cleanup_errors=True) as work:
                found += reader.read(list(of_one), Path(work))
            put_back()
    return found


def put_back() -> None:
    """What a reader has changed of the clone's files."""
    for command in (["reset", "-q", "--hard"], ["clean", "-fdq"]):
        subprocess.run(["git", "-c", "safe.directory=*", "-C", paths.ROOT, *command], check=True)


def main() -> int:
    if not os.environ.get("CI"):
        raise BenchError("the reader puts all files back as they were committed: only .ci/run starts it, in a clone")
    log = paths.build_dir() / "documents.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("")
    rules = documents.rules(documents.RULES.read_text(encoding="utf-8"))
    done = read(documents.found(), rules, log)
    file().write_text(json.dumps([asdict(one) for one in done], indent=1))
    failed = [one for one in done if one.status]
    print(f"{len(done)} commands in the documents, {len(failed)} failed (log: {log})", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        code = main()
    except (BenchError, Failed) as error:
        print(f"ci: {error}", file=sys.stderr)
        code = 1
    sys.exit(code)
