# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-html5 and noVNC in Chromium on an X server. websockify beside the server serves the page, terminates TLS,
and connects to the server over loopback, as in products."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.common import proc
from bench.common.errors import BenchError
from bench.lab import certs
from bench.lab.lab import LOOPBACK, Lab
from clients.drivers import chromium
from guest.errors import Failed
from live.viewers import Viewer

if TYPE_CHECKING:
    from live import xviewer

PORT = 6080
_MARGIN = 1         # pixels: Chromium needs a window one pixel larger than the screen
_CONNECT = 90.0     # timeout in seconds, for a browser on a busy machine
_HEAD = ('<!doctype html><meta charset="utf-8"><title>session</title>'
         '<style>body {{ margin: 0; overflow: hidden; background: #000; }} canvas {{ display: block; outline: none; }}</style>'
         '<body><div id="message" hidden></div><div id="dump" hidden></div><div id="screen"></div>\n<script type="module">')
_SPICE = _HEAD + """
import {{ SpiceMainConn }} from './main.js';
new SpiceMainConn({{uri: 'wss://{at}/', screen_id: 'screen', dump_id: 'dump', message_id: 'message', password: ''}});
setInterval(() => {{ const canvas = document.querySelector('#screen canvas'); if (canvas) canvas.focus(); }}, 200);
</script>"""
_VNC = _HEAD + """
import RFB from './core/rfb.js';
const screen = document.getElementById('screen');
screen.style.cssText = 'width: 100vw; height: 100vh';
const session = new RFB(screen, 'wss://{at}/websockify');
session.addEventListener('connect', () => session.focus());
</script>"""
SOURCES = {"spice-html5": (Path("/usr/share/spice-html5"), _SPICE), "novnc": (Path("/usr/share/novnc"), _VNC)}


def site(package: str, folder: Path, at: str) -> Path:
    source, text = SOURCES[package]
    if not source.is_dir():
        raise BenchError(f"{source} is missing: install the package {package}")
    site = folder / "site"
    shutil.copytree(source, site)
    (site / "session.html").write_text(text.format(at=at))
    return site


@contextlib.contextmanager
def browser(package: str, lab: Lab, folder: Path, width: int, height: int) -> Iterator[Viewer]:
    from live import xviewer    # Xlib is installed only for measurements
    made = certs.kept(lab.server_address)
    at = f"[{lab.server_address}]:{PORT}" if ":" in lab.server_address else f"{lab.server_address}:{PORT}"
    argv = [proc.require("websockify", "websockify"), "--cert", str(made.certificate), "--key", str(made.key), "--ssl-only",
            "--web", str(site(package, folder, at)), at, f"{LOOPBACK}:{lab.ports[0]}"]

    def begin(start: xviewer.Start) -> proc.Process:
        browser = start("Chromium", [
            proc.require("chromium", "chromium"), "--kiosk", *chromium.OPTIONS, "--force-device-scale-factor=1", f"--window-size={width},{height}", "--window-position=0,0",
            f"--user-data-dir={folder / 'profile'}", f"https://{at}/session.html"])
        if not relay.wait_complaint("connecting to", time.monotonic() + _CONNECT):
            raise Failed(f"{package} does not connect: {relay.last_complaint()}")
        time.sleep(3 + 8 * lab.link.full_round_trip)
        return browser

    with proc.Process("websockify", argv, lab.server) as relay, xviewer.shown(lab, folder, (width, height), _MARGIN, begin) as viewer:
        yield viewer
