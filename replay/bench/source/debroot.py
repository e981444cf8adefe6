# SPDX-License-Identifier: LGPL-2.1-or-later
"""A minimal Debian root in a folder, made by mmdebstrap from this machine's mirror, with its keys and proxies; a way into it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import mesontest
from bench.source.debsource import Place, machine_acquire

QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
ENTER = Path(__file__).with_name("enter.sh")
_ETC = Path("/etc")
_SECRETS = 0o600
# its mounts and processes end with it, also if it is killed
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_ACCESS = ("apt/auth.conf", "apt/auth.conf.d", "apt/keyrings", "apt/trusted.gpg.d")


def make(suite: str, root: Path, places: Sequence[Place], steps: Steps, *, packages: Sequence[str] = (), archives: Path | None = None,
         architecture: str = "", dpkg: Sequence[str] = ()) -> None:
    """Replaces the folder root. `archives`, on the same file system, keeps .deb files for the next time; `architecture` is Debian's name
    of another one than this machine's; `dpkg` has options of its configuration. Needs root's rights. Raises StepFailed."""
    if not places:
        raise BenchError("this machine has no apt, or no source of the distribution's packages")
    program = proc.require("mmdebstrap", "mmdebstrap")
    remove(root)        # left by an interrupted run
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sources-", dir=root.parent) as name:
        (settings := Path(name, "acquire.conf")).write_text(machine_acquire())
        for place in places:
            Path(name, f"{place.suite}{place.source.suffix}").write_text(place.source.render("deb", place.suite))
        steps.run(f"making a root of {suite}", proc.inside(None, [
            *_ALONE, program, "--mode=root", "--variant=minbase", f"--include={','.join(['ca-certificates', *packages])}", f"--aptopt={settings}",
            *(f"--dpkgopt={option}" for option in dpkg), *([f"--architectures={architecture}"] if architecture else []),
            *(_kept(archives) if archives else []), suite, str(root), *(str(Path(name, f"{place.suite}{place.source.suffix}")) for place in places)]),
            quiet=True, env=QUIET)
    copy_network(root)


def remove(folder: Path) -> None:
    """Does not cross file systems, in case something is mounted below."""
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


def _kept(archives: Path) -> list[str]:
    """mmdebstrap's options that take packages from the folder, and put them there."""
    here, there = shlex.quote(str(archives)), '"$1/var/cache/apt/archives"'
    return [f"--setup-hook=mkdir -p {there} && find {here} -name '*.deb' -exec cp -l -t {there} {{}} +",
            "--skip=essential/unlink", f"--customize-hook=cp -l -u {there}/*.deb {here}"]


def entered(root: Path, folder: str, argv: Sequence[str], *, archives: Path | None = None, network: bool = True) -> list[str]:
    """The command line that runs argv in a folder of the root. All its processes end with it."""
    apart = () if network else mesontest.own_loopback()
    if not network and not apart:
        raise BenchError("building in a root needs a network namespace: install iproute2, and allow unshare --net")
    return [*apart, "unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child",
            "sh", str(ENTER), str(root), str(archives or ""), folder, *argv]


def copy_network(root: Path) -> None:
    """Copies this machine's name resolution; may be repeated for a kept root."""
    for name in ("resolv.conf", "hosts"):
        shutil.copyfile(_ETC / name, root / "etc" / name)


def copy_access(root: Path) -> None:
    """Copies what this machine's mirror requires: passwords, keys, and certificates that Debian lacks."""
    for name in _ACCESS:
        source, target = _ETC / name, root / "etc" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copyfile(source, target)
            target.chmod(_SECRETS)
    certificates = Path("/usr/local/share/ca-certificates")
    if certificates.is_dir():
        shutil.copytree(certificates, root / certificates.relative_to("/"), dirs_exist_ok=True)
