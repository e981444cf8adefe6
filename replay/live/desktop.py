# SPDX-License-Identifier: LGPL-2.1-or-later
"""The root file system of the desktop guest as a read-only disk image, from Debian's packages (root/packages.txt)
and what its programs show.

Needs root (debootstrap, chroot) and the distribution's mirror; no loop device, as mke2fs fills the image from the
folder. Mounts are in the mount namespace of the one command that needs them, and end with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import debsource
from guest import initrd
from live import documents

SUITE = "bookworm"
_SIZE = "3G"
_FILES = Path(__file__).with_name("root")
_LICENCES = Path("usr/share/common-licenses")
_PICTURES = ("mandelbrot=s=320x240:r=20", "video.avi", "-t 4 -c:v mjpeg -q:v 3"), ("mandelbrot=s=320x200:start_scale=0.01", "web.jpg", "-frames:v 1")
_UNWANTED = ("man", "locale", "info", "doc")
# Killed or interrupted, the bench takes the whole command with it: timeout hands a signal on to all the processes of its group.
_ALONE = ("setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=10", "3600", "unshare", "--mount", "--propagation", "private")


def packages() -> list[str]:
    lines = (line.split("#")[0].strip() for line in (_FILES / "packages.txt").read_text().splitlines())
    return [line for line in lines if line]


def fingerprint() -> str:
    """Changes whenever what is put into the guest does."""
    files = (_FILES / "packages.txt", _FILES / "start", Path(__file__), Path(documents.__file__))
    return hashlib.sha256("\0".join(file.read_text() for file in files).encode()).hexdigest()


def mirror() -> str:
    """Where this machine gets its Debian packages from."""
    source = debsource.distribution(debsource.machine_sources(), SUITE)
    found = re.search(r"https?://[^\s]+", source.text) if source else None
    if not found:
        raise BenchError("the desktop guest needs a Debian mirror: add one to this machine's apt sources")
    return found[0]


class Desktop:
    """A folder that holds the guest's files in root/ until the image is made of them."""

    def __init__(self, folder: Path, steps: Steps):
        self.image = folder / "guest.img"
        self._root = folder / "root"
        self._steps = steps

    def build(self, from_mirror: str) -> None:
        if os.geteuid() != 0:
            raise BenchError("building the guest needs root (debootstrap)")
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.parent.mkdir(parents=True, exist_ok=True)
        self._steps.run("debootstrap", [*_ALONE, "debootstrap", "--variant=minbase", SUITE, self._root, from_mirror])
        self._configure_apt()
        self._in_guest("updating the guest's lists", "apt-get -q update")
        self._in_guest("installing the guest's packages",
                       f"DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends {' '.join(packages())}")
        self._content()
        self._in_guest("tidying up", "rm -f /etc/apt/apt.conf.d/90machine; apt-get clean; rm -rf /var/lib/apt/lists/*")
        self._make_image()

    def _in_guest(self, title: str, command: str) -> None:
        """Runs a shell command in the guest's folder, which has a /proc meanwhile."""
        self._steps.run(title, [*_ALONE, "sh", "-c", 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "$2"', "sh",
                                self._root, command])

    def _configure_apt(self) -> None:
        configuration = self._root / "etc" / "apt" / "apt.conf.d"
        (configuration / "90small").write_text('APT::Sandbox::User "root";\nDpkg::Use-Pty "0";\n')
        machine = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
        (configuration / "90machine").write_text("".join(
            f"{line}\n" for line in machine.splitlines() if re.match(r"Acquire::(http|https|Retries|Check)", line)))
        (self._root / "etc" / "dpkg" / "dpkg.cfg.d" / "90small").write_text(
            "".join(f"path-exclude /usr/share/{name}/*\n" for name in _UNWANTED) + "path-include /usr/share/doc/*/copyright\n")
        policy = self._root / "usr" / "sbin" / "policy-rc.d"      # nothing is started while packages are installed
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def _content(self) -> None:
        here = self._root / "opt" / "live"
        here.mkdir(parents=True, exist_ok=True)
        shutil.copy(_FILES / "start", here)
        (here / "start").chmod(0o755)
        short, *others = ((self._root / _LICENCES / name).read_text() for name in ("GPL-3", "LGPL-3", "Apache-2.0", "MPL-2.0"))
        text = "\n".join([short, *others])
        (here / "gpl3.txt").write_text(short)
        (here / "licences.txt").write_text(text)
        (here / "essay.txt").write_text(short[:1500])
        (here / "book.pdf").write_bytes(documents.pdf(short))
        (here / "index.html").write_text(documents.web_page(["web.jpg"], text))
        for source, name, how in _PICTURES:
            self._in_guest(f"making {name}", f"cd /opt/live && ffmpeg -v error -y -f lavfi -i {source} {how} {name}")

    def _make_image(self) -> None:
        """The image is there when it is complete."""
        part = self.image.with_suffix(".part")
        part.unlink(missing_ok=True)
        self._steps.run("making the disk image", ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal",
                                                  "-E", "lazy_itable_init=1", "-d", self._root, part, _SIZE])
        part.rename(self.image)
        shutil.rmtree(self._root)


def image(steps: Steps) -> Path:
    """Made once; another one when one of the files here has changed: what has booted from the old one knows only that."""
    made = Desktop(initrd.HOME / f"desktop-{fingerprint()[:12]}", steps)
    if not made.image.exists():
        made.build(mirror())
    return made.image
