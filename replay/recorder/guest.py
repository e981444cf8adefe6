# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the guest that is recorded: a small Debian with a desktop, as a disk image beside its kernel.

Needs root (debootstrap and chroot) and the distribution's mirror; no loop device: mke2fs fills the image from the folder. What is
mounted meanwhile is mounted in a mount namespace of the one command that needs it, and gone with it.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from bench.build import debsource
from bench.common.errors import BenchError
from bench.common.steps import Steps
from recorder.documents import write_documents

FILES = Path(__file__).resolve().parent / "guest"
SUITE = "bookworm"
IMAGE_SIZE = "3G"
_UNWANTED = ("man", "locale", "info", "doc")
# Killed or interrupted, the bench takes the whole command with it: timeout hands a signal on to all the processes of its group.
_ALONE = ("setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=10", "3600", "unshare", "--mount", "--propagation", "private")
_TIMERS = ("apt-daily", "apt-daily-upgrade", "dpkg-db-backup", "e2scrub_all", "fstrim")


def packages() -> list[str]:
    lines = (line.split("#")[0].strip() for line in (FILES / "packages.txt").read_text().splitlines())
    return [line for line in lines if line]


def fingerprint() -> str:
    """Changes whenever what is put into a guest does."""
    parts = [SUITE.encode(), *(path.read_bytes() for path in (*sorted(FILES.iterdir()), Path(__file__).with_name("documents.py")))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def mirror() -> str:
    """Where this machine gets its Debian packages from."""
    source = debsource.distribution(debsource.machine_sources(), SUITE)
    found = re.search(r"https?://[^\s]+", source.text) if source else None
    if not found:
        raise BenchError("no Debian mirror in this machine's apt sources; name one with --mirror")
    return found[0]


class Guest:
    """A folder that holds the guest's files in root/ and the image, kernel and initial disk made of them."""

    def __init__(self, folder: Path, steps: Steps):
        self.root = folder / "root"
        self.image, self.kernel, self.initrd = folder / "guest.img", folder / "vmlinuz", folder / "initrd.img"
        self._made_from = folder / "guest.made-from"
        self._steps = steps

    @property
    def built(self) -> bool:
        return self._made_from.exists() and self._made_from.read_text() == self.fingerprint()

    def packages(self) -> list[str]:
        return packages()

    def fingerprint(self) -> str:
        return fingerprint()

    def build(self, from_mirror: str) -> None:
        if os.geteuid() != 0:
            raise BenchError("building the guest needs root (debootstrap)")
        self._made_from.unlink(missing_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.parent.mkdir(parents=True, exist_ok=True)
        self._steps.run("debootstrap", [*_ALONE, "debootstrap", "--variant=minbase", SUITE, self.root, from_mirror])
        self._configure_apt()
        self._in_guest("updating the guest's lists", "apt-get -q update")
        self._in_guest("installing the guest's packages",
                       "DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends " + " ".join(self.packages()))
        self._content()
        self._configure_system()
        self._in_guest("tidying up", "rm -f /etc/apt/apt.conf.d/90machine; apt-get clean; rm -rf /var/lib/apt/lists/*")
        self._make_image()

    def _in_guest(self, title: str, command: str) -> None:
        """Runs a shell command in the guest's folder, which has a /proc meanwhile."""
        self._steps.run(title, [*_ALONE, "sh", "-c", 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "$2"', "sh",
                                self.root, command])

    def _configure_apt(self) -> None:
        configuration = self.root / "etc" / "apt" / "apt.conf.d"
        (configuration / "90small").write_text('APT::Install-Recommends "0";\nAPT::Install-Suggests "0";\n'
                                               'APT::Sandbox::User "root";\nDpkg::Use-Pty "0";\n')
        machine = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
        (configuration / "90machine").write_text("".join(
            f"{line}\n" for line in machine.splitlines() if re.match(r"Acquire::(http|https|Retries|Check)", line)))
        (self.root / "etc" / "dpkg" / "dpkg.cfg.d" / "90small").write_text(
            "".join(f"path-exclude /usr/share/{name}/*\n" for name in _UNWANTED) + "path-include /usr/share/doc/*/copyright\n")
        policy = self.root / "usr" / "sbin" / "policy-rc.d"      # nothing is started while packages are installed
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def _content(self) -> None:
        target = self.root / "opt" / "record"
        target.mkdir(parents=True, exist_ok=True)
        for file in FILES.glob("*.sh"):
            shutil.copy(file, target)
            (target / file.name).chmod(0o755)
        self._in_guest("making pictures and the video", "/opt/record/media.sh")
        write_documents(target)

    def _configure_system(self) -> None:
        system = self.root / "etc" / "systemd" / "system"
        wanted = system / "multi-user.target.wants"
        wanted.mkdir(parents=True, exist_ok=True)
        shutil.copy(FILES / "record.service", system)
        links = {wanted / "record.service": "../record.service",
                 system / "default.target": "/lib/systemd/system/multi-user.target"}
        for link, target in links.items():
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        for timer in _TIMERS:
            (system / "timers.target.wants" / f"{timer}.timer").unlink(missing_ok=True)
        etc = self.root / "etc"
        (etc / "hostname").write_text("guest\n")
        (etc / "hosts").write_text("127.0.0.1 localhost guest\n")
        (etc / "fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
        with (etc / "initramfs-tools" / "modules").open("a") as modules:
            modules.write("qxl\n")
        self._in_guest("no password", "passwd -d root")
        self._in_guest("making the initial disk", "update-initramfs -u")
        for pattern, copy in (("vmlinuz-*", self.kernel), ("initrd.img-*", self.initrd)):
            shutil.copy(max((self.root / "boot").glob(pattern)), copy)

    def _make_image(self) -> None:
        part = self.image.with_suffix(".part")
        part.unlink(missing_ok=True)
        self._steps.run("making the disk image", ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal",
                                                  "-E", "lazy_itable_init=1", "-d", self.root, part, IMAGE_SIZE])
        part.rename(self.image)
        shutil.rmtree(self.root)
        self._made_from.write_text(self.fingerprint())
