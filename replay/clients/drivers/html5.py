# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-html5 in headless Chromium, over WebSockets that the server itself accepts."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import shutil
import threading
import time
from pathlib import Path

from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import StepFailed, Steps
from clients import target
from clients.drivers import chromium
from clients.drivers.base import BETWEEN, Driver, debian_version, first_line
from guest import picture
from guest.errors import Failed, NotRun
from guest.initrd import once
from guest.picture import Pixels

_SOURCE = Path("/usr/share/spice-html5")
_PACKAGE = "@spice-project/spice-html5"
_PAGE = """<!doctype html><meta charset="utf-8"><title>session</title><body>
<div id="message"></div><div id="dump"></div><div id="screen"></div>
<script type="module">
import {{ SpiceMainConn }} from './main.js';
import {{ SpiceConn }} from './spiceconn.js';
window.counted = 0;
const usual = SpiceConn.prototype.process_message;
SpiceConn.prototype.process_message = function (message) {{
    if (this.type === 2) window.counted++;
    return usual.call(this, message);
}};
window.connection = new SpiceMainConn({{uri: '{uri}', screen_id: 'screen', dump_id: 'dump', message_id: 'message', password: '',
                                       onerror: (error) => {{ window.failed = String(error); }}}});
</script>"""
_PICTURE = """(() => {
    const canvas = document.querySelector('#screen canvas');
    if (!canvas) return null;
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let text = '';
    for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode.apply(null, data.subarray(at, at + 32768));
    return [canvas.width, canvas.height, btoa(text)];
})()"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class Html5(Driver):
    name = "spice-html5"
    transports = frozenset({target.WS, target.WSS}) | target.WEB_PROXIES
    _page: chromium.Page | None = None
    _web: http.server.ThreadingHTTPServer | None = None

    @classmethod
    def version(cls) -> str:
        return f"{cls._page_version()}, {first_line(['chromium', '--version'], 'chromium is not installed')}"

    @classmethod
    def _page_version(cls) -> str:
        return debian_version("spice-html5")

    @classmethod
    def _source(cls) -> Path:
        return _SOURCE

    def start(self) -> None:
        site = self.folder / "site"
        if not site.exists():
            shutil.copytree(self._source(), site)
        scheme = "wss" if self.target.encrypted else "ws"
        (site / "session.html").write_text(_PAGE.format(uri=f"{scheme}://{target.HOST}:{self.target.port}/"))
        self._web = http.server.ThreadingHTTPServer((target.HOST, 0), functools.partial(_Quiet, directory=str(site)))
        threading.Thread(target=self._web.serve_forever, daemon=True).start()
        to_browser, from_browser = os.pipe(), os.pipe()
        url = f"http://{target.HOST}:{self._web.server_address[1]}/session.html"
        ends = (to_browser[0], from_browser[1])
        self._run(chromium.command(self.folder, url, *ends), {"HOME": str(self.folder)}, pass_fds=ends)
        for end in ends:
            os.close(end)
        self._page = chromium.Page(from_browser[0], to_browser[1])

    def _evaluate(self, expression: str) -> object:
        assert self._page
        failed = self._page.evaluate("window.failed || ''")
        if failed:
            raise Failed(f"{self.name}: {failed}")
        return self._page.evaluate(expression)

    def picture(self, display: int = 0) -> Pixels:
        told = self._evaluate(_PICTURE)
        if not isinstance(told, list):
            return picture.none()
        return picture.from_rgba(told[0], told[1], base64.b64decode(told[2]))

    def type(self, text: str) -> None:
        self._evaluate("document.querySelector('#screen canvas').focus()")
        assert self._page
        for letter in text:
            self._page.press(letter)
            time.sleep(BETWEEN)

    def messages(self) -> int:
        told = self._evaluate("window.counted")
        return told if isinstance(told, int) else 0

    def _end(self) -> None:
        if self._page:
            self._page.close()
            self._page = None
        if self._web:
            self._web.shutdown()
            self._web.server_close()
            self._web = None


class NpmHtml5(Html5):
    """The version that web applications get from npm, older than Debian's."""

    name = "spice-html5 (npm)"

    @classmethod
    def _home(cls) -> Path:
        return paths.cache_dir() / "clients" / "html5-npm"

    @classmethod
    def install(cls, steps: Steps) -> None:
        if cls._home().is_dir():
            return
        if not shutil.which("npm"):
            raise NotRun("npm is missing")

        def make(folder: Path) -> None:
            steps.run("getting spice-html5 from npm", ["npm", "pack", "--silent", _PACKAGE], cwd=folder)
            steps.run("unpacking it", ["tar", "-xzf", next(folder.glob("*.tgz"))], cwd=folder)

        try:
            once(cls._home(), make)
        except (StepFailed, BenchError) as error:
            raise NotRun(f"npm does not give it: {error}") from None

    @classmethod
    def _page_version(cls) -> str:
        try:
            told = json.loads((cls._home() / "package" / "package.json").read_text())
        except OSError:
            raise NotRun("it is not here: npm is missing") from None
        return f"{told['name']} {told['version']}"

    @classmethod
    def _source(cls) -> Path:
        return cls._home() / "package" / "src"
