# SPDX-License-Identifier: LGPL-2.1-or-later
"""Certificates are reused by many runs, and renewed before they expire."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bench.common import paths, proc
from bench.lab import certs


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPICE_BENCH_CACHE", str(tmp_path))


def home() -> list[str]:
    return sorted(path.name for path in (paths.cache_dir() / "certificates").iterdir())


def test_the_server_is_who_it_says() -> None:
    made = certs.kept("192.0.2.1")
    proc.call(["openssl", "verify", "-CAfile", str(made.ca), "-verify_ip", "192.0.2.1", str(made.certificate)])
    assert "TLSv1.3" in made.openssl_conf.read_text()


def test_made_once_for_an_address_and_a_version() -> None:
    first = certs.kept("192.0.2.1")
    when = first.key.stat().st_mtime_ns
    assert certs.kept("192.0.2.1") == first and first.key.stat().st_mtime_ns == when
    assert certs.kept("192.0.2.2") != first and certs.kept("192.0.2.1", "1.2") != first
    assert len(home()) == 3


def test_asked_for_at_once() -> None:
    found: list[certs.Certificates] = []
    threads = [threading.Thread(target=lambda: found.append(certs.kept("192.0.2.1"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1 and len(home()) == 1
    proc.call(["openssl", "verify", "-CAfile", str(found[0].ca), str(found[0].certificate)])


def test_old_ones_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    first = certs.kept("192.0.2.1")
    now = certs.time.time()
    monkeypatch.setattr(certs.time, "time", lambda: now + 12 * 3600)
    second = certs.kept("192.0.2.1")
    assert second.ca.read_bytes() != first.ca.read_bytes()      # still there for a run that uses it
    monkeypatch.setattr(certs.time, "time", lambda: now + 24 * 3600)
    certs.kept("192.0.2.1")
    assert len(home()) == 2 and not first.ca.exists()


def test_no_half_of_one_is_left_where_openssl_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(certs, "make", fail)
    with pytest.raises(RuntimeError):
        certs.kept("192.0.2.1")
    assert home() == []
