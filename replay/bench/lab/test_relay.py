# SPDX-License-Identifier: LGPL-2.1-or-later
"""The relay forwards everything and holds what its sockets hold; runs through it count."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import test_samples as samples
from bench.common.errors import BenchError
from bench.lab import beside, capture, lab, links, netns
from bench.measure import pcap
from bench.report import publish
from bench.runs import matrix
from bench.runs.runspec import RunSpec

_PORT = 5900
_LIMIT = 30.0       # seconds nothing here takes


@contextlib.contextmanager
def _listener(where: lab.Lab) -> Iterator[socket.socket]:
    with netns.inside(where.server, lambda: socket.create_server((where.listens_at, _PORT), backlog=200)) as listener:
        listener.settimeout(_LIMIT)
        yield listener


def _connect(where: lab.Lab) -> socket.socket:
    return netns.inside(where.client, lambda: socket.create_connection((where.server_address, _PORT), timeout=_LIMIT))


@contextlib.contextmanager
def _relayed() -> Iterator[tuple[lab.Lab, socket.socket]]:
    with lab.connect(links.find("lan+relay")) as where, _listener(where) as listener, beside.relay(where, _PORT):
        yield where, listener


def _read(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := end.recv(size - len(data))):
        data += piece
    return data


def test_many_connections_each_with_its_own_bytes_both_ways() -> None:
    with _relayed() as (where, listener), contextlib.ExitStack() as stack:
        clients = [stack.enter_context(_connect(where)) for _ in range(40)]
        for number, client in enumerate(clients):
            client.sendall(bytes([number]) * 5000)
        for _ in clients:
            end = stack.enter_context(listener.accept()[0])
            end.settimeout(_LIMIT)
            assert end.getpeername()[0] == lab.LOOPBACK     # all that the server's TCP knows of the path
            said = _read(end, 5000)
            assert len(set(said)) == 1
            end.sendall(said[:1] * 3000)
        for number, client in enumerate(clients):
            assert _read(client, 3000) == bytes([number]) * 3000


def test_what_the_client_does_not_read_fits_in_between() -> None:
    """A megabyte, of which the server's own socket learns nothing."""
    block = bytes(range(256)) * 4096
    with _relayed() as (where, listener), _connect(where) as client, listener.accept()[0] as server:
        server.settimeout(_LIMIT)
        server.sendall(block)
        server.shutdown(socket.SHUT_WR)
        assert _read(client, len(block) + 1) == block


def test_only_the_link_is_captured(tmp_path: Path) -> None:
    with _relayed() as (where, listener), \
            capture.capturing(where.server, where.device, tmp_path / "x.pcap", where.ports) as captured:
        with _connect(where) as client, listener.accept()[0] as server:
            for _ in range(100):
                server.sendall(bytes(100))
            server.shutdown(socket.SHUT_WR)
            assert len(_read(client, 10_001)) == 10_000
        assert captured.stop().error == ""
    found = pcap.analyse(tmp_path / "x.pcap", where.ports)
    assert found.server.stream_bytes == 10_000      # once: not over loopback as well
    assert 7 <= found.server.data_packets <= 100    # the relay's segments, not the server's


def test_it_is_gone_with_what_it_still_holds() -> None:
    with lab.connect(links.find("lan+relay")) as where, _listener(where) as listener:
        with beside.relay(where, _PORT):
            client, server = _connect(where), listener.accept()[0]
            server.settimeout(_LIMIT)
            sender = threading.Thread(target=_send_until_cut, args=(server,))
            sender.start()
            assert _read(client, 100_000)
        sender.join(_LIMIT)
        assert not sender.is_alive()        # nobody is left to take what it sends
        for end in (client, server):
            end.close()
        with pytest.raises(ConnectionRefusedError):
            _connect(where)


def _send_until_cut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            end.sendall(bytes(65536))


def test_a_port_that_is_taken_is_one_line() -> None:
    with lab.connect(links.find("lan+relay")) as where, beside.relay(where, _PORT), \
            pytest.raises(BenchError, match="the relay does not start: .*Address already in use"), beside.relay(where, _PORT):
        pass


@pytest.mark.parametrize("transport", ["plain", "tls"])
@pytest.mark.usefixtures("nothing_left")
def test_a_run_through_it_counts(spec: RunSpec, transport: str) -> None:
    record = matrix.perform(replace(spec, transport=transport, link=links.find("lan+relay")))
    assert record["valid"], record["invalid_reason"]
    assert (record["link"], record["message_bytes"]) == ("lan+relay", 301_000)
    if transport == "plain":
        server = record["server"]
        assert server["tcp_payload_bytes"] == 301_000 or server["retransmissions"]
    else:
        assert record["server"]["tls_records"] >= 301     # the server's: a relay passes them on as they are


@pytest.mark.usefixtures("nothing_left")
def test_bytes_that_do_not_come_through_are_found(spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CLIENT", "bytes")
    record = matrix.perform(replace(spec, link=links.find("lan+relay")))
    assert record["invalid_reason"] == "the client read 602000 bytes, on the wire were 301000"


def test_its_name() -> None:
    for name in ("20M40ms", "lan", "5M/20ms"):
        through = links.find(f"{name}+relay")
        assert through == links.via_relay(links.find(name)) == links.via_relay(through)
        assert (through.name, links.direct(through.name)) == (f"{name}+relay", name)
        assert replace(through, relay=False, name=name) == links.find(name)
        assert "through a relay" in through.says and "relay" not in links.find(name).says
    assert sorted(["5M/20ms", "20M40ms+relay", "lan+relay", "20M40ms", "lan"], key=links.rank) \
        == ["lan", "lan+relay", "20M40ms", "20M40ms+relay", "5M/20ms"]


def test_a_page_has_both_ways_side_by_side() -> None:
    result = samples.result(["stock", "flow"], repeats=5, links=("20M40ms", "20M40ms+relay"))
    for run in result["runs"]:
        run["wall_seconds"] = 4.0 if run["link"].endswith("+relay") and run["mode"] == "flow" else 2.0
    text = publish.markdown(result)
    rows = [re.split(r" *\| *", line)[1:] for line in text.partition("## Through a relay")[2].splitlines() if "→" in line and line.startswith("|")]
    assert [(row[3], row[4], row[6]) for row in rows] == [
        ("stock", "plain", "2 → 2 (+0 %)"), ("flow (catchup=off)", "plain", "2 → 4 (+100 %)"),
        ("stock", "tls", "2 → 2 (+0 %)"), ("flow (catchup=off)", "tls", "2 → 4 (+100 %)")]
    assert {row[5] for row in rows} == {"yes"}
    assert text.index("## tiny, 20M40ms (") < text.index("## tiny, 20M40ms+relay (")
    assert "Through a relay" not in publish.markdown(samples.result(["stock", "flow"], repeats=5, links=("lan", "20M40ms")))


def test_a_row_that_chose_jpeg_one_way_only_stands_beside_the_other() -> None:
    result = samples.result(["flow"], repeats=3, links=("2M100ms", "2M100ms+relay"))
    for run in result["runs"]:
        run["lossy"] = not run["link"].endswith("+relay")
    rows = [re.split(r" *\| *", line)[1:] for line in publish.markdown(result).splitlines()
            if "→" in line and line.startswith("|")]
    assert [row[5] for row in rows] == ["no", "no"]
