# SPDX-License-Identifier: LGPL-2.1-or-later
"""The root of the desktop guest, made of Debian's packages (guest/packages.txt) with what its programs show, as a disk image. Nothing
writes to it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from bench.common import paths
from bench.common.steps import Steps
from recorder import documents
from recorder.guest import SUITE, Guest, mirror

_FILES = Path(__file__).with_name("guest")
_LICENCES = Path("usr/share/common-licenses")
_PICTURES = ("mandelbrot=s=320x240:r=20", "video.avi", "-t 4 -c:v mjpeg -q:v 3"), ("mandelbrot=s=320x200:start_scale=0.01", "web.jpg", "-frames:v 1")


def fingerprint() -> str:
    """Changes whenever what is put into the guest does."""
    files = (_FILES / "packages.txt", _FILES / "start", Path(__file__), Path(documents.__file__))
    return hashlib.sha256("\0".join([SUITE, *(file.read_text() for file in files)]).encode()).hexdigest()


class Desktop(Guest):
    def packages(self) -> list[str]:
        lines = (line.split("#")[0].strip() for line in (_FILES / "packages.txt").read_text().splitlines())
        return [line for line in lines if line]

    def fingerprint(self) -> str:
        return fingerprint()

    def _content(self) -> None:
        here = self.root / "opt" / "live"
        here.mkdir(parents=True, exist_ok=True)
        shutil.copy(_FILES / "start", here)
        (here / "start").chmod(0o755)
        short, *others = ((self.root / _LICENCES / name).read_text() for name in ("GPL-3", "LGPL-3", "Apache-2.0", "MPL-2.0"))
        text = "\n".join([short, *others])
        (here / "gpl3.txt").write_text(short)
        (here / "licences.txt").write_text(text)
        (here / "essay.txt").write_text(short[:1500])
        (here / "book.pdf").write_bytes(documents.pdf(short))
        (here / "index.html").write_text(documents.web_page(["web.jpg"], text))
        for source, name, how in _PICTURES:
            self._in_guest(f"making {name}", f"cd /opt/live && ffmpeg -v error -y -f lavfi -i {source} {how} {name}")

    def _configure_system(self) -> None:
        pass


def image(steps: Steps) -> Path:
    """Made once; another one when one of the files here has changed: what has booted from the old one knows only that."""
    home = paths.cache_dir() / "live"
    made = Desktop(home / f"desktop-{fingerprint()[:12]}", steps)
    if not made.built:
        made.build(mirror())
    return made.image
