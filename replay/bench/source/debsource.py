# SPDX-License-Identifier: LGPL-2.1-or-later
"""Downloads release tarballs and packages of any suite from the distribution's mirror, with an apt configuration of
our own.

The machine's mirror, keys and proxies are used; its sources, lists and caches are not touched, as apt gets a private
directory per suite. Signatures are checked. Expired release files are accepted, as old releases are wanted.
"""

from __future__ import annotations

import contextlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps

_ONE_LINE = re.compile(r"^(?:deb|deb-src)\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<parts>.+)$")
_APT_HELPER = "/usr/lib/apt/apt-helper"     # downloads by the machine's configuration of apt
_Apt = Callable[..., list[str]]     # a title, and the words of a command
_NOT_COPIED = frozenset({"types", "uris", "suites", "components", "enabled", "architectures", "languages", "targets"})


@dataclass(frozen=True)
class Source:
    """A package source of the machine's apt configuration."""
    suites: tuple[str, ...]
    components: tuple[str, ...]
    text: str           # apt configuration of component main with {kind} (deb, deb-src) and {suite} open
    suffix: str         # of the file it must stand in: .list or .sources

    def render(self, kind: str, suite: str) -> str:
        return self.text.replace("{kind}", kind).replace("{suite}", suite)

    @property
    def uri(self) -> str:
        """Its address; the first one if there are several."""
        return next(word for word in self.text.split() if ":/" in word)


@dataclass(frozen=True)
class Place:
    """A suite and its sources."""
    source: Source
    suite: str


@dataclass(frozen=True)
class SourcePackage:
    dsc: Path
    version: str
    places: tuple[Place, ...]       # the suites that answered: the suite itself, perhaps updates and security
    silent: tuple[str, ...]         # the suites that did not answer


def parse_list(text: str) -> list[Source]:
    """The one-line format of sources.list."""
    found = []
    for line in text.splitlines():
        entry = _ONE_LINE.match(line.split("#")[0].strip())
        if entry:
            options = f"[{entry['options'].strip()}] " if entry["options"] else ""
            found.append(Source((entry["suite"],), tuple(entry["parts"].split()),
                                f"{{kind}} {options}{entry['uri']} {{suite}} main\n", ".list"))
    return found


def parse_deb822(text: str) -> list[Source]:
    """The format of *.sources: stanzas of fields; a line that starts with a blank continues the field above."""
    found = []
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", lines):
        fields = {name.lower(): value.strip() for name, value in
                  re.findall(r"^([^\s:]+):(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)}
        if not {"types", "uris", "suites", "components"} <= fields.keys() or fields.get("enabled", "").lower() == "no":
            continue
        kept = "".join(f"{name}: {value}\n" for name, value in fields.items() if name not in _NOT_COPIED)
        found.append(Source(tuple(fields["suites"].split()), tuple(fields["components"].split()),
                            f"Types: {{kind}}\nURIs: {fields['uris']}\nSuites: {{suite}}\nComponents: main\n{kept}",
                            ".sources"))
    return found


def machine_sources(etc: Path = Path("/etc/apt")) -> list[Source]:
    found = []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if file.is_file() and file.suffix in (".list", ".sources"):
            parse = parse_deb822 if file.suffix == ".sources" else parse_list
            found += parse(file.read_text(encoding="utf-8", errors="replace"))
    return found


def distribution(sources: list[Source], codename: str) -> Source | None:
    """The source of the distribution itself, not of updates or third parties."""
    whole = [source for source in sources if "main" in source.components
             and any("-" not in suite and "/" not in suite for suite in source.suites)]
    named = [source for source in whole if codename in source.suites]
    return next(iter(named + whole), None)


def places(sources: list[Source], machine: str, suite: str) -> list[Place]:
    """The sources that may have a suite and its updates. `machine` is the machine's own suite."""
    whole = distribution(sources, machine)
    if whole is None:
        return []
    security = next((source for source in sources if "main" in source.components
                     and any(name.endswith("-security") for name in source.suites)), None)
    return [Place(whole, suite), Place(whole, f"{suite}-updates"),
            *([Place(security, f"{suite}-security")] if security else [])]


def newer(version: str, than: str) -> bool:
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", than], check=False).returncode == 0


def codename() -> str:
    """The suite of this machine; empty if unknown."""
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""


def machine_acquire() -> str:
    """The machine's apt settings for reaching its mirror (proxies, timeouts), without hooks and choice of indexes."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    return "".join(f"{line}\n" for line in dump.splitlines()
                   if line.startswith("Acquire::") and not line.startswith(("Acquire::IndexTargets", "Acquire::Languages")))


class Mirror:
    """The distribution's mirror; `cache` may be deleted at any time."""

    def __init__(self, cache: Path, steps: Steps) -> None:
        self._cache = cache
        self._steps = steps
        self._source = distribution(machine_sources(), codename()) if shutil.which("apt-get") else None

    def tarball(self, package: str, version: str, ending: str, target: Path) -> bool:
        """Writes a source package's release tarball to target, which is not checked. Returns False if the mirror has it not, or if this
        machine has no apt."""
        if self._source is None:
            return False
        name = f"pool/main/{package[0]}/{package}/{package}_{version}.orig.{ending}"
        with contextlib.suppress(BenchError):
            self._steps.run(f"downloading {package} {version}",
                            [_APT_HELPER, "download-file", f"{self._source.uri.rstrip('/')}/{name}", target], quiet=True)
            if target.is_symlink():     # into a mirror that is a folder
                content = target.read_bytes()
                target.unlink()
                target.write_bytes(content)
            return True
        return False

    def package(self, package: str, suites: tuple[str, ...], target: Path) -> bool:
        """Writes the newest .deb of a package to target, from the first suite that has it. Returns False if none has."""
        for suite in suites:
            with contextlib.suppress(StepFailed), self._asked("deb", suite, self._source) as (base, apt):
                apt(f"downloading {package}", "apt-get", "-q", "download", package)
                shutil.copyfile(next(base.glob(f"{package}_*.deb")), target)
                return True
        return False

    def source(self, package: str, suite: str, target: Path) -> SourcePackage | None:
        """Fetches the newest source package of a suite, updates and security fixes included, into the folder target. None if the
        suite has none, or if this machine has no apt."""
        best, found, silent = "", [], []
        for place in places(machine_sources(), codename(), suite) if self._source else []:
            try:
                with self._asked("deb-src", place.suite, place.source) as (base, apt):
                    found.append(place)
                    known = apt(f"looking for {package}", "apt-cache", "showsrc", "--only-source", package)
                    for version in [line.split(":", 1)[1].strip() for line in known if line.startswith("Version:")]:
                        if not best or newer(version, best):
                            apt(f"downloading {package} {version}", "apt-get", "-q", "source", "--download-only", f"{package}={version}")
                            best = version
                            shutil.rmtree(target, ignore_errors=True)
                            target.mkdir(parents=True)
                            for file in base.glob(f"{package}_*"):
                                shutil.copyfile(file, target / file.name)
            except StepFailed:
                if place not in found:
                    silent.append(place.suite)
        dsc = next(target.glob("*.dsc"), None) if best else None
        return SourcePackage(dsc, best, tuple(found), tuple(silent)) if dsc else None

    @contextlib.contextmanager
    def _asked(self, kind: str, suite: str, source: Source | None) -> Iterator[tuple[Path, _Apt]]:
        """A private directory of apt with a suite's lists, and what runs a command there. Removed at the end: lists are large, and
        soon outdated."""
        if source is None:
            raise StepFailed("no apt sources of the distribution found: add them to /etc/apt/sources.list.d", [])
        self._cache.mkdir(parents=True, exist_ok=True)
        base = Path(tempfile.mkdtemp(prefix=f"{suite}-{kind}-", dir=self._cache))      # another process may ask at the same time

        def apt(title: str, *argv: str) -> list[str]:
            return self._steps.run(title, argv, quiet=True, cwd=base, env={"APT_CONFIG": str(base / "apt.conf")})

        try:
            for folder in ("sources.list.d", "lists/partial", "cache/archives/partial", "empty"):
                (base / folder).mkdir(parents=True, exist_ok=True)
            (base / "sources.list.d" / f"suite{source.suffix}").write_text(source.render(kind, suite))
            (base / "apt.conf").write_text(machine_acquire() + f'''
Acquire::Check-Date "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT::Sandbox::User "root";
Debug::NoLocking "true";
Dir::Cache "{base}/cache";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "{base}/empty";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "{base}/empty";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{base}/sources.list.d";
Dir::State "{base}";
Dir::State::lists "{base}/lists";
''')
            apt(f"asking the mirror ({suite})", "apt-get", "-q", "update")
            yield base, apt
        finally:
            shutil.rmtree(base, ignore_errors=True)
