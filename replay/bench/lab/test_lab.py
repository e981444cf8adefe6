# SPDX-License-Identifier: LGPL-2.1-or-later
"""Labs and links: a link has the rate and delay asked for, and one that does not is detected."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.common import privileges, proc
from bench.common.errors import BenchError
from bench.conftest import needs_emulator
from bench.lab import capture, lab, links, linktest, netns
from bench.lab.links import LINKS, Change, Link
from bench.measure import pcap

GOOD = linktest.Measured(ping=0.041, fastest=0.0402, rate=20e6, loss=None)


def test_a_lan_has_no_offloads_and_is_gone_afterwards() -> None:
    with lab.connect(LINKS["lan"]) as where:
        assert where.emulator == "none"
        for end in (where.server, where.client):
            assert lab.offloads_on(proc.call(["ethtool", "-k", where.device], end)) == []
        assert linktest.check(where) is None
        held = where.server
    assert not held.exists()


def test_two_labs_at_once() -> None:
    with lab.connect(LINKS["lan"]) as one, lab.connect(LINKS["lan"]) as other:
        assert linktest.check(one) is None
        assert linktest.check(other) is None


@needs_emulator
def test_a_second_client_reaches_the_same_server_over_its_own_link() -> None:
    with lab.connect(LINKS["lan"]) as one, lab.second_client(one, links.find("20M40ms")) as other:
        assert other.server_address == one.server_address and other.client != one.client
        assert linktest.check(one) is None
        assert linktest.check(other) is None


@pytest.mark.parametrize("name", [lab.CONGESTION, "reno"])
def test_both_ends_control_congestion_as_asked(name: str) -> None:
    with lab.connect(LINKS["lan"], congestion=name) as where, \
            netns.inside(where.server, lambda: socket.create_server((where.server_address, 0))) as listener, \
            netns.inside(where.client, lambda: socket.create_connection(listener.getsockname())) as client, \
            listener.accept()[0] as server:
        for end in (server, client):
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == name.encode()


def test_an_unknown_congestion_control() -> None:
    with pytest.raises(BenchError, match="no congestion control 'psychic'"), lab.connect(LINKS["lan"], congestion="psychic"):
        pass


@needs_emulator
@pytest.mark.parametrize("name", ["20M40ms", "wifi-lossy", "20M:4M/40ms", "20M/40ms/mtu1280/ipv6"])
def test_an_emulated_link_is_as_described(name: str) -> None:
    with lab.connect(links.find(name)) as where:
        assert linktest.check(where) is None
    assert where.counters and where.counters["a_to_b"]["packets_in"] > 100 and where.counters["a_to_b"]["missed"] == 0


def _lost(seed: int) -> list[int]:
    """Which of a stream of datagrams, slow enough for no queue to fill, do not arrive."""
    with lab.connect(Link("lossy", rate=50_000_000, delay=0.002, loss=0.1, burst=2), seed=seed) as where:
        receiver = netns.inside(where.client, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with receiver, netns.inside(where.server, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            receiver.bind((where.client_address, 0))
            receiver.settimeout(1)
            for number in range(300):
                sender.sendto(number.to_bytes(2, "big"), receiver.getsockname())
            came = set()
            with contextlib.suppress(TimeoutError):
                while True:
                    came.add(int.from_bytes(receiver.recv(16), "big"))
    assert where.counters and where.counters["a_to_b"]["dropped_queue"] == 0
    return [number for number in range(300) if number not in came]


@needs_emulator
def test_a_seed_loses_the_same_packets_and_another_loses_others() -> None:
    first = _lost(1)
    assert first and _lost(1) == first and _lost(2) != first


@needs_emulator
def test_a_link_that_is_not_as_described_is_found_out() -> None:
    with lab.connect(Link("really", rate=5_000_000, delay=0.01)) as where:
        said = lab.Lab(where.server, where.client, Link("said", rate=5_000_000, delay=0.03), "spice-link")
        assert "less than the link has" in (linktest.check(said) or "")


def test_it_is_known_how_often_a_link_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    where = lab.Lab(Path(), Path(), LINKS["20M40ms"], lab.SPICE_LINK)
    slow = linktest.Measured(ping=0.06, fastest=0.0402, rate=20e6, loss=None)
    for measured, tests in (([GOOD], 1), ([slow, GOOD], 2), ([slow, slow, slow], 3)):
        left = list(measured)
        monkeypatch.setattr(linktest, "measure", lambda _, left=left: left.pop(0))
        assert (linktest.check(where) is None) is (measured[-1] is GOOD)
        assert (where.link_tests, left) == (tests, [])


@pytest.mark.parametrize(("changes", "reason"), [
    ({"ping": None}, "no ping"),
    ({"fastest": 0.039}, "less than the link has"),
    ({"ping": 0.046}, "the median ping took 46.00 ms"),
    ({"rate": None}, "did not arrive"),
    ({"rate": 17e6}, "carries 17.00 Mbit/s"),
    ({"rate": 21e6}, "carries 21.00 Mbit/s"),
])
def test_bounds_of_a_link(changes: dict[str, float | None], reason: str) -> None:
    assert linktest.judge(LINKS["20M40ms"], GOOD) is None
    found = linktest.Measured(**{**GOOD.__dict__, **changes})
    assert reason in (linktest.judge(LINKS["20M40ms"], found) or "")


def test_bounds_of_the_way_up() -> None:
    link = links.find("20M:4M/40ms")
    for up, reason in ((4e6, None), (20e6, "carries up 20.00 Mbit/s"), (None, "carries up 0.00")):
        said = linktest.judge(link, linktest.Measured(**{**GOOD.__dict__, "up": up}))
        assert said is None if reason is None else reason in (said or "")


def test_bounds_of_loss() -> None:
    link = LINKS["wifi-lossy"]
    found = linktest.Measured(ping=0.02, fastest=0.016, rate=29.8e6, loss=0.011)
    assert linktest.judge(link, found) is None
    for loss in (0.0, 0.06, None):
        found.loss = loss
        assert "loses" in (linktest.judge(link, found) or "")


def test_links_by_name_and_as_written() -> None:
    assert links.find("20M40ms").queue_bytes == 100_000
    assert links.find("20M40ms").full_round_trip == pytest.approx(0.08)
    assert links.find("lan").full_round_trip == 0
    written = links.find("2.5M/15ms")
    assert (written.rate, written.delay) == (2_500_000, 0.015)
    changing = links.find("20M/40ms/1%@2.5s:1M@5s:out@10s:20M")
    assert changing.loss == 0.01
    assert changing.changes == (Change(2.5, 1_000_000), Change(5, None), Change(10, 20_000_000))
    assert changing.says == "20 Mbit/s, then 1 Mbit/s at 2.5 s, then out at 5 s, then 20 Mbit/s at 10 s, 40 ms round trip, 1 % loss"
    edge = links.find("20M:4M/40ms/1%/mtu1280/queue2s/ipv6")
    assert (edge.up, edge.loss, edge.mtu, edge.queue, edge.ipv6, edge.queue_bytes) == (4_000_000, 0.01, 1280, 2, True, 5_000_000)
    assert edge.says == "20 Mbit/s (4 Mbit/s up), 40 ms round trip, 1 % loss, MTU 1280, queue of 2 s, IPv6"
    assert edge.full_round_trip == pytest.approx(2.04)
    unix = links.find("2M100ms+unix")
    assert unix.relay and unix.unix and unix.rate == 2_000_000 and links.direct(unix.name) == "2M100ms"
    assert links.rank("2M100ms+unix")[0] == links.rank("2M100ms")[0]
    assert links.find("20M-1M-20M+relay").relay and links.find("20M-1M-20M+relay").changes
    for wrong in ("moon", "20M", "0M/5ms", "20M/40", "20M/40ms/60%", "20M/40ms@2s", "20M/40ms@2s:0M", "20M/40ms@0s:1M", "2.0.1M/5ms",
                  "20M/40ms@2s:1M@2s:out", "20M/40ms@3s:1M@2s:out", "20M:0M/5ms", "20M:4M/5ms@2s:1M", "20M/5ms/mtu1279", "20M/5ms/mtu1501", "20M/5ms/queue0s",
                  "20M/5ms/queue61s", "20M/5ms/ipv6+relay"):
        with pytest.raises(BenchError):
            links.find(wrong)


@pytest.mark.parametrize("name, options", [
    ("20M40ms", "--rate=20000000 --queue=100000 --mtu=1500 --delay=40000"),
    ("wifi-lossy", "--rate=30000000 --queue=75000 --mtu=1500 --delay=20000 --jitter=5000 --loss=10000 --burst=2"),
    ("10G/1500ms", "--rate=10000000000 --queue=1073741824 --mtu=1500 --delay=1500000"),
    ("20M:4M/40ms/0.5%/mtu1280/queue0.5s", "--rate=20000000 --queue=1250000 --rate-up=4000000 --queue-up=250000 --mtu=1280 --delay=40000 "
                                           "--loss=5000 --burst=1"),
    ("20M:512k/40ms", "--rate=20000000 --queue=100000 --rate-up=512000 --queue-up=65536 --mtu=1500 --delay=40000"),
    ("2M/1ms@2.5s:1M@5s:out", "--rate=2000000 --queue=65536 --mtu=1500 --delay=1000 --then=2500000:1000000 --then=5000000:0"),
])
def test_what_the_emulator_is_told(name: str, options: str) -> None:
    assert lab.emulator_options(links.find(name)) == options.split()


@needs_emulator
def test_a_link_changes_when_told_to() -> None:
    """Out after 1 ms: what is sent 50 ms later is lost."""
    with lab.connect(links.find("8M/2ms@0.001s:out")) as where:
        assert linktest.check(where) is None        # nothing has changed yet
        where.begin_changes()
        time.sleep(0.05)
        with netns.inside(where.server, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            sender.sendto(b"lost", (where.client_address, 5000))
            time.sleep(0.05)
    assert where.counters and where.counters["begun_ns"] and where.counters["a_to_b"]["dropped_loss"] == 1


def test_offloads_are_read() -> None:
    features = "Features for x:\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n" \
               "generic-segmentation-offload: off [requested on]\ngeneric-receive-offload: on [fixed]\n"
    assert lab.offloads_on(features) == ["tso", "gro"]


def test_everything_sent_is_captured(tmp_path: Path) -> None:
    with lab.connect(LINKS["lan"]) as where, \
            capture.capturing(where.server, where.device, tmp_path / "x.pcap", [5900]) as captured:
        listener = netns.inside(where.server, lambda: socket.create_server((where.server_address, 5900)))
        sender = netns.inside(where.client, socket.socket)
        sender.connect(listener.getsockname())
        for _ in range(500):
            sender.sendall(bytes(50))
        sender.close()
        receiver = listener.accept()[0]
        while receiver.recv(4096):      # closed with bytes unread it would cut the sender short
            pass
        receiver.close()
        listener.close()
        seen = captured.stop()
    found = pcap.analyse(tmp_path / "x.pcap", {5900})
    assert seen.error == "" and seen.dropped == 0
    assert seen.captured == seen.received == found.packets
    assert found.client.tcp_payload_bytes - found.client.retransmitted_bytes == 25_000
    assert found.largest_frame <= lab.LARGEST_FRAME


@pytest.mark.parametrize(("lines", "expected"), [
    (["tcpdump: listening on spice0", "1 packet captured", "2 packets received by filter",
      "3 packets dropped by kernel", "4 packets dropped by interface"], capture.Statistics(1, 2, 7)),
    (["tcpdump: x.pcap: No space left on device"], capture.Statistics(error="tcpdump: x.pcap: No space left on device")),
    ([], capture.Statistics()),
])
def test_closing_statistics(lines: list[str], expected: capture.Statistics) -> None:
    assert capture.closing_statistics(lines) == expected


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with netns.create() as where, pytest.raises(BenchError, match="tcpdump cannot capture: tcpdump: nothing0: .*"), \
            capture.capturing(where, "nothing0", tmp_path / "x.pcap", [5900]):
        pass


_AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
_LAB_AND_CAPTURE = """
import pathlib, tempfile
from bench.lab import capture, lab, links, linktest
with tempfile.TemporaryDirectory() as folder, lab.connect(links.LINKS["lan"]) as where:
    with capture.capturing(where.server, where.device, pathlib.Path(folder, "x.pcap"), [5900]) as captured:
        print(linktest.check(where), captured.stop().error == "")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become nobody")
def test_without_root_a_user_namespace_does() -> None:
    tree = str(Path(__file__).parents[2])
    if subprocess.run([*_AS_NOBODY, "test", "-r", tree, "-a", "-x", sys.executable], check=False).returncode:
        pytest.skip("nobody may not read this tree, or run this Python")
    if subprocess.run([*_AS_NOBODY, *privileges.unshare(), "true"], capture_output=True, check=False).returncode:
        pytest.skip("no unprivileged user namespaces here")
    done = subprocess.run([*_AS_NOBODY, *privileges.unshare(), sys.executable, "-c", _LAB_AND_CAPTURE],
                          env={"PYTHONPATH": tree, "PATH": os.environ["PATH"]}, capture_output=True, text=True,
                          check=False, cwd="/")
    assert (done.stdout, done.returncode) == ("None True\n", 0), done.stderr


def test_without_root_and_user_namespaces_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(privileges, "unshare", lambda: ["sh", "-c", "echo unshare: not here >&2; exit 1", "--"])
    with pytest.raises(BenchError, match=r"measuring needs root or .* \(unshare: not here\)"):
        privileges.acquire([])


def test_a_slow_link_needs_no_large_buffer() -> None:
    assert [capture.buffer_kib(rate) for rate in (None, 2_000_000, 20_000_000, 100_000_000, 10**9)] == [
        65536, 4096, 6664, 33332, 65536]
