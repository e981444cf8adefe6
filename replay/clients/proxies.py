# SPDX-License-Identifier: LGPL-2.1-or-later
"""Common relays between client and server, from Debian's packages with their default configuration: unpacked, not
installed. Each has its own port on loopback."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.common import paths, proc
from bench.common.steps import StepFailed, Steps
from bench.lab.lab import free_port
from clients import target
from guest.errors import Failed, NotRun
from guest.initrd import once

_PACKAGES = ("haproxy", "nginx", "openssh-client", "openssh-server", "squid")
_HOME = paths.cache_dir() / "clients" / "proxies"
# another user without privileges
_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
_USER = "nobody"
_STARTS = 10    # seconds


def install(steps: Steps) -> None:
    """Raises NotRun if they are not available."""

    def make(made: Path) -> None:
        archives = made.parent / "archives"
        (archives / "partial").mkdir(parents=True)
        steps.run("getting relays", ["apt-get", "-q", "-y", "-o", "Debug::NoLocking=1", "-o", f"Dir::Cache::archives={archives}/",
                                     "--no-install-recommends", "--download-only", "--reinstall", "install", *_PACKAGES])
        for package in archives.glob("*.deb"):
            steps.run(f"unpacking {package.name}", ["dpkg-deb", "-x", package, made], quiet=True)

    try:
        _HOME.parent.mkdir(parents=True, exist_ok=True)
        once(_HOME, make)
    except StepFailed as error:
        raise NotRun(f"the relays cannot be had from Debian's mirror: {error}") from None


def _libraries() -> str:
    return ":".join(str(folder) for folder in _HOME.glob("*/lib/*-linux-gnu*"))


def _program(name: str) -> str:
    found = next(_HOME.glob(f"usr/*bin/{name}"), None)
    if found is None:
        raise NotRun(f"{name} is not here: ./run clients gets it from Debian's mirror")
    return str(found)


def versions() -> dict[str, str]:
    """The version that each reports, of those that are installed."""
    asked = {target.NGINX: ("nginx", "-v"), target.HAPROXY: ("haproxy", "-v"), target.SQUID: ("squid", "-v"), "ssh": ("ssh", "-V"),
             target.SOCAT: ("socat", "-V")}
    found = {}
    for name, (program, option) in asked.items():
        with contextlib.suppress(NotRun, OSError):
            argv = [program if name == target.SOCAT else _program(program), option]
            told = subprocess.run(argv, env={**os.environ, "LD_LIBRARY_PATH": _libraries()}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False).stdout
            if version := re.search(r"\d+\.\d[\w.+~-]*", told):
                found[name] = version[0].rstrip(",")
    return found


class Proxy:
    """A relay, until close(). `server` is a port, or the path of a Unix socket; clients connect to `port`."""

    def __init__(self, name: str, server: int | Path, folder: Path) -> None:
        self.name, self.port = name, free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="proxy-", dir=folder))
        self._children: list[subprocess.Popen[bytes]] = []
        try:
            _START[name](self, server)
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        return self._folder

    def run(self, argv: Sequence[str], port: int) -> None:
        """Starts a program, and waits until it listens on the port."""
        with (self._folder / "log").open("ab") as log:
            child = subprocess.Popen([*_NOBODY, *proc.inside(None, argv)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True, env={**os.environ, "LD_LIBRARY_PATH": _libraries()})
        self._children.append(child)
        deadline = time.monotonic() + _STARTS
        while child.poll() is None and not _listens(port) and time.monotonic() < deadline:
            time.sleep(0.1)
        if child.poll() is not None or not _listens(port):
            told = (self._folder / "log").read_text(errors="replace").strip().splitlines()
            raise Failed(f"{self.name} does not start: {told[-1] if told else 'no reason told'}")

    def close(self) -> None:
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        self._children = []


def _listens(port: int) -> bool:
    """Checks without connecting, as some relays would pass the connection on."""
    return bool(subprocess.run(["ss", "-tlnH", f"sport = :{port}"], capture_output=True, check=False).stdout)


def _websockify(proxy: Proxy, server: int | Path) -> None:
    proxy.run([proc.require("websockify", "websockify"), f"{target.HOST}:{proxy.port}", f"{target.HOST}:{server}"], proxy.port)


def _nginx(proxy: Proxy, server: int | Path) -> None:
    """The configuration for WebSocket of nginx's documentation; timeouts are 60 s."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {proxy.folder}/{kind};\n" for kind in kinds)
    file = proxy.folder / "nginx.conf"
    file.write_text(f"""daemon off;
master_process off;
pid {proxy.folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    {temporary}
    server {{
        listen {target.HOST}:{proxy.port};
        location / {{
            proxy_pass http://{target.HOST}:{server};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
        }}
    }}
}}
""")
    proxy.run([_program("nginx"), "-p", str(proxy.folder), "-e", "stderr", "-c", str(file)], proxy.port)


def _haproxy(proxy: Proxy, server: int | Path) -> None:
    """With the timeouts of Debian's configuration: 50 s."""
    file = proxy.folder / "haproxy.cfg"
    file.write_text(f"""defaults
    mode tcp
    timeout connect 5000
    timeout client 50000
    timeout server 50000
listen spice
    bind {target.HOST}:{proxy.port}
    server qemu {target.HOST}:{server}
""")
    proxy.run([_program("haproxy"), "-db", "-f", str(file)], proxy.port)


def _squid(proxy: Proxy, server: int | Path) -> None:
    """Allows CONNECT to the server only; default timeouts."""
    share = _HOME / "usr/share"
    file = proxy.folder / "squid.conf"
    file.write_text(f"""http_port {target.HOST}:{proxy.port}
acl spice port {server}
acl tunnel method CONNECT
http_access allow tunnel spice
http_access deny all
cache deny all
access_log none
cache_log {proxy.folder}/cache.log
pid_filename none
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
visible_hostname localhost
coredump_dir {proxy.folder}
unlinkd_program {_HOME}/usr/lib/squid/unlinkd
mime_table {share}/squid/mime.conf
icon_directory {share}/squid/icons
error_directory {share}/squid-langpack/en
""")
    proxy.run([_program("squid"), "-N", "-f", str(file)], proxy.port)


def _ssh(proxy: Proxy) -> list[str]:
    """Starts sshd; returns the common part of the client's command."""
    home, port = proxy.folder, free_port()
    for key in ("host", "user"):
        proc.call([_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(home / key)])
    (home / "sshd_config").write_text(f"""ListenAddress {target.HOST}
Port {port}
HostKey {home}/host
AuthorizedKeysFile {home}/user.pub
StrictModes no
PidFile none
""")
    proxy.run([_program("sshd"), "-D", "-e", "-f", str(home / "sshd_config")], port)
    return [_program("ssh"), "-F", "none", "-i", str(home / "user"), "-p", str(port), "-l", _USER, "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes"]


def _ssh_forwards(proxy: Proxy, server: int | Path) -> None:
    proxy.run([*_ssh(proxy), "-N", "-L", f"{target.HOST}:{proxy.port}:{target.HOST}:{server}", target.HOST], proxy.port)


def _ssh_connects(proxy: Proxy, server: int | Path) -> None:
    """One ssh per connection, as virt-viewer does."""
    command = " ".join([*_ssh(proxy), "-W", f"{target.HOST}\\:{server}", target.HOST])
    proxy.run(["socat", _listen(proxy), f"EXEC:{command}"], proxy.port)


def _socat(proxy: Proxy, server: int | Path) -> None:
    proxy.run(["socat", _listen(proxy), f"UNIX-CONNECT:{server}"], proxy.port)


def _listen(proxy: Proxy) -> str:
    return f"TCP-LISTEN:{proxy.port},bind={target.HOST},fork,nodelay"


_START: dict[str, Callable[[Proxy, int | Path], None]] = {
    target.WEBSOCKIFY: _websockify,
    target.NGINX: _nginx,
    target.HAPROXY: _haproxy,
    target.SQUID: _squid,
    target.SSH_L: _ssh_forwards,
    target.SSH_W: _ssh_connects,
    target.SOCAT: _socat,
}
