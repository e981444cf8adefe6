# SPDX-License-Identifier: LGPL-2.1-or-later
"""The root file system of the desktop guest as a read-only disk image: Debian's packages (root/packages.txt), and what its programs show,
made of licence texts and videos of ffmpeg. book.pdf is the GPL.

Needs root; no loop device, as mke2fs fills the image from the folder. Mounts are in the mount namespace of the one command that
needs them, and end with it.
"""

from __future__ import annotations

import hashlib
import html
import os
import shutil
from pathlib import Path

from bench.common import proc
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.source import debroot, debsource
from guest import initrd

SUITE = "bookworm"
_SIZE = "3G"
_FILES = Path(__file__).with_name("disk")
_LICENCES = Path("usr/share/common-licenses")
_PICTURES = ("mandelbrot=s=320x240:r=20", "video.avi", "-t 4 -c:v mjpeg -q:v 3"), ("mandelbrot=s=320x200:start_scale=0.01", "web.jpg", "-frames:v 1")
_DPKG = (*(f"path-exclude=/usr/share/{name}/*" for name in ("man", "locale", "info", "doc")), "path-include=/usr/share/doc/*/copyright")
_COLOURS = ("#204a87", "#4e9a06", "#a40000", "#ce5c00", "#5c3566", "#8f5902")
_STYLE = ("body{font-family:sans-serif;margin:0;background:#eeeeec}h1{background:#204a87;color:#fff;padding:16px;margin:0}"
          ".story{background:#fff;margin:12px;padding:12px;border:1px solid #bbb}h2{margin:0 0 8px 0}"
          "img{float:left;margin:0 12px 8px 0}td{border:1px solid #999;padding:3px;color:#fff}.end{clear:both}")
_STORIES = 60


def packages() -> list[str]:
    lines = (line.split("#")[0].strip() for line in (_FILES / "packages.txt").read_text().splitlines())
    return [line for line in lines if line]


def fingerprint() -> str:
    """Changes whenever what is put into the guest does."""
    files = (*sorted(_FILES.iterdir()), Path(__file__))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def web_page(picture: str, text: str) -> str:
    """Like a newspaper's: stories, every second with a photograph, every fifth with a coloured table."""
    paragraphs = [part.strip() for part in text.split("\n\n") if len(part.strip()) > 200][:_STORIES]
    parts = [f"<html><head><title>Daily page</title><style>{_STYLE}</style></head><body><h1>The Daily Page</h1>"]
    for at, paragraph in enumerate(paragraphs):
        parts.append(f'<div class="story"><h2 style="color:{_COLOURS[at % 6]}">Story {at + 1}</h2>')
        if at % 2 == 0:
            parts.append(f'<img src="{picture}" width="320">')
        parts += [f"<p>{html.escape(each)}</p>" for each in (paragraph, paragraphs[(at * 7 + 3) % len(paragraphs)])]
        if at % 5 == 4:
            rows = ("".join(f'<td style="background:{_COLOURS[(row + column) % 6]}">{row * column * 37 % 101}</td>'
                            for column in range(10)) for row in range(5))
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
        parts.append('<div class="end"></div></div>')
    return "\n".join([*parts, "</body></html>"])


def _show(root: Path, steps: Steps) -> None:
    """What the programs show."""
    here = root / "opt" / "live"
    here.mkdir(parents=True)
    for name in ("start", "book.pdf"):
        shutil.copy(_FILES / name, here)
    (here / "start").chmod(0o755)
    short, *others = ((root / _LICENCES / name).read_text() for name in ("GPL-3", "LGPL-3", "Apache-2.0", "MPL-2.0"))
    text = "\n".join([short, *others])
    (here / "gpl3.txt").write_text(short)
    (here / "licences.txt").write_text(text)
    (here / "essay.txt").write_text(short[:1500])
    (here / "index.html").write_text(web_page("web.jpg", text))
    for source, name, how in _PICTURES:
        steps.run(f"making {name}", proc.inside(None, [
            "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
            'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "cd /opt/live && ffmpeg -v error -y -f lavfi -i $1 $2 $3"',
            str(root), source, how, name]))


def _make(folder: Path, steps: Steps) -> None:
    root = folder.with_name("root")
    debroot.make(SUITE, root, debsource.places(debsource.machine_sources(), debsource.codename(), SUITE), steps, packages=packages(), dpkg=_DPKG)
    _show(root, steps)
    steps.run("making the disk image", ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-d", root,
                                        folder / "guest.img", _SIZE])


def image(steps: Steps) -> Path:
    """Made once; another one when one of the files here has changed: what has booted from the old one knows only that."""
    home = initrd.HOME / f"desktop-{fingerprint()[:12]}"
    if os.geteuid() != 0 and not home.is_dir():
        raise BenchError("building the guest needs root (mmdebstrap)")
    home.parent.mkdir(parents=True, exist_ok=True)
    return initrd.once(home, lambda folder: _make(folder, steps)) / "guest.img"
