# SPDX-License-Identifier: LGPL-2.1-or-later
"""A certificate authority and a server certificate for one run, and the TLS version both ends may speak."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import proc

VERSIONS = ("1.3", "1.2")


@dataclass(frozen=True)
class Certificates:
    ca: Path
    certificate: Path
    key: Path
    openssl_conf: Path


def _configuration(version: str) -> str:
    protocol = f"TLSv{version}"
    return ("openssl_conf = init\n[init]\nssl_conf = ssl\n[ssl]\nsystem_default = limits\n"
            f"[limits]\nMinProtocol = {protocol}\nMaxProtocol = {protocol}\n"
            "[req]\ndistinguished_name = none\n[none]\n")


def make(folder: Path, address: str, version: str = "1.3") -> Certificates:
    """Writes everything into folder. Both processes get OPENSSL_CONF, so both refuse any other version."""
    openssl = proc.require("openssl", "openssl")
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key", folder / "openssl.cnf")
    made.openssl_conf.write_text(_configuration(version))
    ca_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
    extensions.write_text(f"subjectAltName = IP:{address}\nbasicConstraints = CA:FALSE\n")
    config = ["-config", str(made.openssl_conf)]
    proc.call([openssl, "req", "-x509", *config, "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bench CA",
               "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", str(ca_key), "-out", str(made.ca)])
    proc.call([openssl, "req", *config, "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={address}",
               "-keyout", str(made.key), "-out", str(request)])
    proc.call([openssl, "x509", "-req", "-in", str(request), "-CA", str(made.ca), "-CAkey", str(ca_key),
               "-CAcreateserial", "-days", "2", "-extfile", str(extensions), "-out", str(made.certificate)])
    ca_key.unlink()
    return made
