# SPDX-License-Identifier: LGPL-2.1-or-later
"""A certificate authority, a server certificate, and the TLS version of both ends."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.common import paths, proc

VERSIONS = ("1.3", "1.2")

_DAYS = 2
_KEPT_SECONDS = 12 * 3600       # a quarter of their validity


@dataclass(frozen=True)
class Certificates:
    ca: Path
    certificate: Path
    key: Path
    openssl_conf: Path

    def of_player(self, port: int | str) -> list[str]:
        """Options of spice-player: it listens with them."""
        return ["--tls-port", str(port), "--tls-cert", str(self.certificate), "--tls-key", str(self.key), "--tls-ca", str(self.ca)]

    def of_client(self, port: int | str) -> list[str]:
        """Options of spice-drain: it accepts no other server."""
        return ["--tls-port", str(port), "--ca", str(self.ca)]


def _configuration(version: str) -> str:
    protocol = f"TLSv{version}"
    return ("openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = limits\n"
            f"[limits]\nMinProtocol = {protocol}\nMaxProtocol = {protocol}\n"
            "[req]\ndistinguished_name = none\n[none]\n")


def _within(folder: Path) -> Certificates:
    return Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key", folder / "openssl.cnf")


def kept(address: str, version: str = "1.3") -> Certificates:
    """What make() makes, made once for the runs of a while: it takes a second of processor time. Runs under way at once may
    ask for the same; whoever is first has made it for all."""
    now = int(time.time() // _KEPT_SECONDS)
    home = paths.cache_dir() / "certificates"
    folder = home / f"{now}-{address}-{version}"
    if folder.is_dir():
        return _within(folder)
    home.mkdir(parents=True, exist_ok=True)
    _forget(home, now - 1)      # a run that has just begun may still use the last one
    with tempfile.TemporaryDirectory(prefix="new-", dir=home, ignore_cleanup_errors=True) as name:
        make(Path(name), address, version)
        with contextlib.suppress(OSError):      # another run has made it meanwhile
            Path(name).rename(folder)
    return _within(folder)


def _forget(home: Path, oldest: int) -> None:
    for left in home.iterdir():
        number = left.name.partition("-")[0]
        if number.isdecimal() and int(number) < oldest:
            shutil.rmtree(left, ignore_errors=True)


def make(folder: Path, address: str, version: str = "1.3") -> Certificates:
    """Writes everything into folder. Both processes get OPENSSL_CONF, so both refuse any other version."""
    openssl = proc.require("openssl", "openssl")
    made = _within(folder)
    made.openssl_conf.write_text(_configuration(version))
    ca_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
    extensions.write_text(f"subjectAltName = IP:{address}\nbasicConstraints = CA:FALSE\n")
    config = ["-config", str(made.openssl_conf)]
    proc.call([openssl, "req", "-x509", *config, "-newkey", "rsa:2048", "-nodes", "-days", str(_DAYS), "-subj", "/CN=bench CA",
               "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", str(ca_key), "-out", str(made.ca)])
    proc.call([openssl, "req", *config, "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={address}",
               "-keyout", str(made.key), "-out", str(request)])
    proc.call([openssl, "x509", "-req", "-in", str(request), "-CA", str(made.ca), "-CAkey", str(ca_key),
               "-CAcreateserial", "-days", str(_DAYS), "-extfile", str(extensions), "-out", str(made.certificate)])
    ca_key.unlink()
    return made
