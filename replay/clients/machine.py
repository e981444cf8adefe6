# SPDX-License-Identifier: LGPL-2.1-or-later
"""The guest of these tests in a QEMU with a chosen libspice-server, and the transports by which clients reach it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.common import proc
from bench.common.steps import Steps
from bench.lab import certs
from bench.lab.lab import Lab, free_port
from clients import target
from clients.counted_relay import Relay
from clients.proxies import Proxy
from clients.target import Target
from guest import initrd
from guest.qemu import TCG, Hardware, Listener, Qemu

_DENIED = ("obsolete", "elevateprivileges", "spawn", "resourcecontrol")     # in a sandbox, as libvirt has it
OPEN, SASL, UNIX, SANDBOX = "open", "sasl", "unix", "sandbox"  # ways a QEMU can be listening
# of a transport; the others are all served by an open one
WAY = {target.SASL: SASL, target.UNIX: UNIX, target.SOCAT: UNIX, target.SANDBOX: SANDBOX}


def hardware(steps: Steps, accel: str = TCG) -> Hardware:
    return Hardware(initrd.prepare(steps), "qxl-vga", sound=2, ports=True, accel=accel)


class Machine(Qemu):
    """Such a guest, which has booted somewhere else. `folder` is its own, for sockets and logs."""

    def __init__(self, of: Hardware, env: Mapping[str, str], folder: Path, incoming: Path | str, way: str = OPEN, lab: Lab | None = None,
                 options: tuple[str, ...] = ()) -> None:
        """With `lab` it listens there, else on loopback. `options`: more of -spice."""
        self.displays, self.way, self._lab = 2 if of.second else 1, way, lab
        self._address = lab.server_address if lab else target.HOST
        self.port, self.tls_port = lab.ports if lab else (free_port(), free_port())
        self.graphics = self.tone = False  # what the guest has been told to do, and cannot be told not to
        self._relay: Relay | None = None
        self._proxies: dict[str, Proxy] = {}
        self._spice = folder / "spice"
        folder.mkdir(exist_ok=True)
        at = Listener(lab.server if lab else None, self._address, (self.port, self.tls_port), self._spice if way == UNIX else None,
                      options=("sasl=on" if way == SASL else "disable-ticketing=on", *options))
        sandbox = ["-sandbox", ",".join(["on", *(f"{what}=deny" for what in _DENIED)])] if way == SANDBOX else []
        super().__init__(of, at, folder, {**env, "SASL_CONF_PATH": str(_sasl(folder))} if way == SASL else env, incoming, sandbox)

    def relayed(self, port: str) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(self.relay(port)))
        return made

    def target(self, transport: str) -> Target:
        if transport in target.PROXIES:
            return self._proxied(transport)
        if transport == target.UNIX:
            # nothing tells how much such a socket has sent, so it is counted on the way
            self._relay = self._relay or Relay(self._spice, self._folder / "relay")
            return Target(transport, path=self._folder / "relay")
        if transport == target.RELAY:
            self._relay = self._relay or Relay(self.port)
            return Target(transport, int(str(self._relay.address)))
        port, ca = (self.tls_port, certs.kept(self._address).ca) if transport in target.ENCRYPTED else (self.port, None)
        return Target(transport, port, ca=ca, host=self._address, netns=self._lab.client if self._lab else None)

    def _proxied(self, transport: str) -> Target:
        if transport not in self._proxies:
            self._proxies[transport] = Proxy(transport, self._spice if self.way == UNIX else self.port, self._folder)
        port = self._proxies[transport].port
        if transport == target.SQUID:
            return Target(transport, self.port, proxy=f"http://{target.HOST}:{port}")
        return Target(transport, port)

    def sent(self) -> int:
        """Bytes that QEMU's open connections of SPICE have sent and the other end has acknowledged, or taken."""
        if self.way == UNIX and not self._proxies:
            return self._relay.sent if self._relay else 0
        ports = [each.port for each in self._proxies.values()] if self.way == UNIX else [self.port, self.tls_port]
        argv = ["ss", "-tinH", "state", "established", f"( {' or '.join(f'sport = :{port}' for port in ports)} )"]
        told = subprocess.run(proc.inside(self._lab.server if self._lab else None, argv), capture_output=True, text=True, check=False).stdout
        return sum(int(word.partition(":")[2]) for word in told.split() if word.startswith("bytes_acked:"))

    def clients(self) -> list[dict[str, Any]]:
        """The channels that QEMU says are open."""
        return list(self.qmp("query-spice").get("channels", []))

    def close(self) -> None:
        for each in (*self._proxies.values(), self._relay):
            if each:
                each.close()
        super().close()


def _sasl(folder: Path) -> Path:
    """A user in a database of this machine's own."""
    home = folder / "sasl"
    home.mkdir()
    database = home / "users.db"
    # without a realm: it is the host's name then, which is what the server asks for
    subprocess.run([proc.require("saslpasswd2", "sasl2-bin"), "-p", "-c", "-f", database, "-a", "qemu", target.USER],
                   input=target.PASSWORD.encode(), check=True, capture_output=True)
    (home / "qemu.conf").write_text(
        # the one that encrypts, without which neither end goes on over a plain connection
        f"mech_list: digest-md5\npwcheck_method: auxprop\nauxprop_plugin: sasldb\n"
        f"sasldb_path: {database}\n"
    )
    shutil.copy(home / "qemu.conf", home / "spice.conf")
    return home
