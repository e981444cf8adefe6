# SPDX-License-Identifier: LGPL-2.1-or-later
"""spice-link between two namespaces: ping and bulk transfer must be within bounds. Run as root.

Asserted for every run: no packet is early, no queue is too long, no rate is exceeded. Lateness depends on the
machine: the rate may be off by what the emulator itself reports as late, medians have bounds, a transfer has three
tries and is skipped while other processes use the CPU.
"""

import math
import os
import signal
import socket
import statistics
import subprocess
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from link.test_support.lab import (ADDRESS_A, ADDRESS_B, DEEP_QUEUE, ETHERNET, FLOOD_SECONDS, FULL_FRAME, IP_UDP, LINKS, MSS,
                                   PING_FRAME, Link, Namespaces, binary, command, devices, flood, flooded, free_processors,
                                   link_options, numbers, off_by, ping, receive, send_numbered, slope, tcp_transfer, udp)

TRIES = 3
RATE_ERROR = 0.001  # beside lateness; forgetting the Ethernet header would make six times as much
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2     # not in the socket module
FREE = 0.3          # processors that nobody uses: with less, others take what TCP's two ends want

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                       reason="needs root and /dev/net/tun"),
    pytest.mark.skipif(not os.path.exists(binary()), reason=f"{binary()} is not built"),
]


@pytest.fixture(autouse=True, scope="module")
def fixture_ahead_of_other_work() -> Iterator[None]:
    """What sends and receives here must keep up with the link as well as the emulator does."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    yield
    os.setpriority(os.PRIO_PROCESS, 0, before)


@pytest.fixture(name="namespaces")
def fixture_namespaces() -> Iterator[Namespaces]:
    with Namespaces() as namespaces:
        yield namespaces


@pytest.mark.parametrize("name", LINKS)
def test_ping(namespaces: Namespaces, name: str) -> None:
    rate, round_trip = LINKS[name]
    floor = round_trip + 2 * PING_FRAME * 8 / rate
    with Link(namespaces, *link_options(name)) as link:
        times = ping(namespaces.a, ADDRESS_B, 50, 0.005)
        report = link.finish()
    assert len(times) == 50
    assert min(times) >= floor
    assert statistics.median(times) <= floor + 0.001
    assert report["a_to_b"]["packets_in"] == report["b_to_a"]["packets_out"] == 50
    assert report["a_to_b"]["bytes_out"] == 50 * PING_FRAME


@pytest.mark.parametrize("name, seconds", [("100M/10ms", 2), ("20M/40ms", 2.5), ("2M/100ms", 4),
                                           ("50M/100ms", 4)])
def test_tcp_fills_the_link(namespaces: Namespaces, name: str, seconds: float) -> None:
    payload_rate = LINKS[name][0] * MSS / FULL_FRAME
    shares = []
    began, free = time.monotonic(), free_processors()
    for _ in range(TRIES):
        with Link(namespaces, *link_options(name)) as link:
            points = tcp_transfer(namespaces, seconds)
            report = link.finish()
        # without the slow start
        shares.append(slope([point for point in points if point[0] > 0.4 * seconds])
                      / payload_rate)
        assert shares[-1] <= 1.02
        assert report["a_to_b"]["max_queue_bytes"] <= link.ready["queue_bytes"]
        if shares[-1] >= 0.9:
            return
        warnings.warn(f"tried again: TCP used {shares[-1] * 100:.0f} % of the link", stacklevel=1)
    # whose processors others use sends too little, whatever the link is: then nothing is known, and a skip is counted
    if (free_processors() - free) / (time.monotonic() - began) < FREE:
        pytest.skip(f"the processors were not free: TCP used only these shares of the link: {shares}")
    pytest.fail(f"TCP used only these shares of the link: {shares}")


@pytest.mark.parametrize("name", LINKS)
def test_rate(namespaces: Namespaces, name: str) -> None:
    rate = LINKS[name][0]
    with Link(namespaces, *link_options(name + DEEP_QUEUE)) as link:
        packets, idle = flooded(namespaces, rate)
        report = link.finish()
    assert report["a_to_b"]["packets_out"] == len(packets)
    assert report["a_to_b"]["dropped_queue"] == 0
    assert numbers(packets) == list(range(len(packets)))
    assert_as_fast(packets, rate, report["a_to_b"], idle)


def assert_as_fast(packets: list[tuple[float, bytes]], rate: float, way: dict[str, Any], idle: float) -> None:
    """A packet came at most as much after it was due as the emulator says of any, and the link took no longer for all than
    they take and it had nothing to send."""
    off, length = off_by(packets, rate), len(packets) * FULL_FRAME * 8 / rate
    error = RATE_ERROR * length + way["late_us"]["max"] / 1e6
    assert -error <= off <= error + idle


def test_two_links_at_once(namespaces: Namespaces) -> None:
    def run(index: int, rate: float) -> None:
        addresses = (f"10.78.{index}.1", f"10.78.{index}.2")
        with Link(namespaces, *link_options(f"{rate / 1e6:g}M/0ms{DEEP_QUEUE}"),
                  address_a=addresses[0], address_b=addresses[1]) as link:
            packets, idle = flooded(namespaces, rate, *addresses)
            assert_as_fast(packets, rate, link.finish()["a_to_b"], idle)

    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(run, index, rate) for index, rate in enumerate((20e6, 5e6))]:
            one.result()


def test_directions_do_not_share_the_rate(namespaces: Namespaces) -> None:
    rate = 10e6
    with Link(namespaces, *link_options("10M/0ms" + DEEP_QUEUE)) as link, \
            udp(namespaces.a, ADDRESS_A) as a, udp(namespaces.b, ADDRESS_B) as b:
        idle = {"a_to_b": flood(a, b, rate), "b_to_a": flood(b, a, rate)}
        received = {"b_to_a": receive(a, 0.3), "a_to_b": receive(b, 0.3)}
        report = link.finish()
    for way, packets in received.items():
        assert len(packets) == int(rate * FLOOD_SECONDS / 8 / FULL_FRAME)
        assert_as_fast(packets, rate, report[way], idle[way])


def test_each_direction_has_its_own_rate_and_queue(namespaces: Namespaces) -> None:
    rates = {"a_to_b": 10e6, "b_to_a": 2e6}
    with Link(namespaces, *link_options("10M:2M/0ms" + DEEP_QUEUE)) as link, \
            udp(namespaces.a, ADDRESS_A) as a, udp(namespaces.b, ADDRESS_B) as b:
        idle = {"a_to_b": flood(a, b, rates["a_to_b"]), "b_to_a": flood(b, a, rates["b_to_a"])}
        received = {"b_to_a": receive(a, 0.5), "a_to_b": receive(b, 0.5)}
        report = link.finish()
    for way, packets in received.items():
        assert len(packets) == int(rates[way] * FLOOD_SECONDS / 8 / FULL_FRAME)
        assert_as_fast(packets, rates[way], report[way], idle[way])


def test_a_link_for_smaller_packets(namespaces: Namespaces) -> None:
    with Link(namespaces, "--mtu", "1280") as link, \
            udp(namespaces.a, ADDRESS_A) as a, udp(namespaces.b, ADDRESS_B) as b:
        a.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        a.sendto(bytes(1280 - IP_UDP), (ADDRESS_B, b.getsockname()[1]))
        with pytest.raises(OSError, match="too long"):
            a.sendto(bytes(1281 - IP_UDP), (ADDRESS_B, b.getsockname()[1]))
        assert [len(data) for _, data in receive(b, 0.3)] == [1280 - IP_UDP]
        assert link.finish()["a_to_b"]["packets_out"] == 1


def test_queue_overflow(namespaces: Namespaces) -> None:
    queue, size = 65536, 1000
    frame = size + IP_UDP + ETHERNET
    with Link(namespaces, "--rate", "2000000", "--queue", "65536") as link, \
            udp(namespaces.a, ADDRESS_A) as sender, \
            udp(namespaces.b, ADDRESS_B, 5000) as receiver:
        assert link.ready["queue_bytes"] == queue
        start = time.monotonic()
        for number in range(200):
            sender.sendto(number.to_bytes(4) + bytes(size - 4), (ADDRESS_B, 5000))
        sent_meanwhile = (time.monotonic() - start) * 2e6 / 8 / frame
        packets = receive(receiver, 0.3)
        way = link.finish()["a_to_b"]
    fit = queue // frame
    assert fit <= len(packets) <= fit + sent_meanwhile + 1
    # drop-tail: what came first got through
    assert numbers(packets)[:fit] == list(range(fit))
    assert way["dropped_queue"] == 200 - len(packets)
    assert queue - frame < way["max_queue_bytes"] <= queue


def survivors(namespaces: Namespaces, count: int, *options: str) -> list[int]:
    """Which of count datagrams came through a link with those options."""
    with Link(namespaces, *options) as link, udp(namespaces.a, ADDRESS_A) as sender, \
            udp(namespaces.b, ADDRESS_B, 5000) as receiver:
        send_numbered(sender, (ADDRESS_B, 5000), count, 32, 30e6)
        received = numbers(receive(receiver, 0.2))
        assert link.finish()["a_to_b"]["dropped_loss"] == count - len(received)
    return received


def test_a_line_that_goes_out_and_comes_back(namespaces: Namespaces) -> None:
    """Full packets wait at once for 0.6 s of the line, of which it is out for 0.2 s: those that leave then are lost."""
    count, lost = 400, 0.2 * 8e6 / 8 / FULL_FRAME
    with Link(namespaces, *link_options("8M/0ms/queue2s@0.2s:out@0.4s:8M")) as link, \
            udp(namespaces.a, ADDRESS_A) as sender, udp(namespaces.b, ADDRESS_B, 5000) as receiver:
        link.process.send_signal(signal.SIGUSR1)
        for number in range(count):
            sender.sendto(number.to_bytes(4) + bytes(FULL_FRAME - ETHERNET - IP_UDP - 4), (ADDRESS_B, 5000))
        came = numbers(receive(receiver, 0.4))
        report = link.finish()
    assert report["begun_ns"] > 0
    gaps = [later - earlier - 1 for earlier, later in zip(came, came[1:]) if later - earlier > 1]
    assert (came[0], came[-1], len(gaps)) == (0, count - 1, 1)
    assert gaps[0] == report["a_to_b"]["dropped_loss"] == pytest.approx(lost, abs=1)


def test_nothing_changes_before_it_is_told_to(namespaces: Namespaces) -> None:
    with Link(namespaces, *link_options("8M/0ms@0.001s:out")) as link, udp(namespaces.a, ADDRESS_A) as sender, \
            udp(namespaces.b, ADDRESS_B) as receiver:
        time.sleep(0.01)
        sender.sendto(b"comes", receiver.getsockname())
        assert len(receive(receiver, 0.2)) == 1
        assert "begun_ns" not in link.finish()


def test_loss(namespaces: Namespaces) -> None:
    count, share = 20000, 0.01
    received = survivors(namespaces, count, "--loss", "10000", "--seed", "7")
    deviation = math.sqrt(count * share * (1 - share))
    assert abs(count - len(received) - count * share) <= 4 * deviation


def test_loss_repeats_with_the_seed(namespaces: Namespaces) -> None:
    first, again, other = (survivors(namespaces, 2000, "--loss", "50000", "--seed", seed)
                           for seed in ("7", "7", "8"))
    assert first == again
    assert first != other


def test_loss_in_bursts(namespaces: Namespaces) -> None:
    received = survivors(namespaces, 20000, "--loss", "50000", "--burst", "5")
    gaps = [later - earlier - 1 for earlier, later in zip(received, received[1:])
            if later - earlier > 1]
    assert statistics.mean(gaps) == pytest.approx(5, rel=0.25)
    assert sum(gaps) == pytest.approx(1000, rel=0.35)


def jittered(namespaces: Namespaces) -> tuple[list[int], list[float]]:
    """Numbers as they came, and how long each packet took."""
    with Link(namespaces, "--delay", "20000", "--jitter", "10000", "--seed", "3") as link, \
            udp(namespaces.a, ADDRESS_A) as sender, \
            udp(namespaces.b, ADDRESS_B, 5000) as receiver:
        sent = []
        for number in range(200):
            sent.append(time.clock_gettime(time.CLOCK_REALTIME))
            sender.sendto(number.to_bytes(4), (ADDRESS_B, 5000))
            time.sleep(0.001)
        packets = receive(receiver, 0.2)
        link.finish()
    order = numbers(packets)
    return order, [when - sent[number] for (when, _), number in zip(packets, order)]


def test_jitter(namespaces: Namespaces) -> None:
    for last_try in (False, False, True):
        order, delays = jittered(namespaces)
        assert order == list(range(200))
        # 10 ms one way, 5 ms more or less
        assert min(delays) >= 0.005
        assert statistics.stdev(delays) > 0.0005
        latest = statistics.quantiles(delays, n=20)[-1]
        if latest <= 0.017:
            break
        assert not last_try, latest     # before that a packet may have waited for a processor
        warnings.warn(f"tried again: a packet of twenty took {latest * 1e3:.0f} ms", stacklevel=1)


def test_says_when_it_was_late(namespaces: Namespaces) -> None:
    with Link(namespaces, "--delay", "400000") as link, udp(namespaces.a, ADDRESS_A) as sender, \
            udp(namespaces.b, ADDRESS_B) as receiver:
        sender.sendto(b"due in 200 ms", receiver.getsockname())
        time.sleep(0.05)
        link.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        link.process.send_signal(signal.SIGCONT)
        assert len(receive(receiver, 0.2)) == 1
        late = link.finish()["a_to_b"]["late_us"]
    assert late["max"] >= 100000


def test_devices_vanish(namespaces: Namespaces) -> None:
    for end in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with Link(namespaces, "--dev-a", "wan", "--seed", "18446744073709551615") as link:
            assert link.ready["dev_a"] == "wan"
            assert devices(namespaces.a) == ["wan"]
            assert devices(namespaces.b) == [link.ready["dev_b"]]
            link.process.send_signal(end)
            link.process.wait(10)
        assert devices(namespaces.a) == devices(namespaces.b) == []


def test_only_what_is_sent_is_on_the_link(namespaces: Namespaces) -> None:
    """No router solicitations, no group reports."""
    with Link(namespaces) as link:
        time.sleep(1)
        report = link.finish()
    assert report["a_to_b"]["packets_in"] == report["b_to_a"]["packets_in"] == 0


def test_device_removed(namespaces: Namespaces) -> None:
    with Link(namespaces) as link:
        subprocess.run(["ip", "-netns", namespaces.b, "link", "del", link.ready["dev_b"]],
                       check=True)
        output, errors = link.process.communicate(timeout=10)
    assert (link.process.returncode, output) == (1, "")
    assert errors == f"spice-link: reading from {link.ready['dev_b']}: " \
                     "File descriptor in bad state\n"


def test_queue_is_by_default_the_product_of_rate_and_delay(namespaces: Namespaces) -> None:
    for name, queue in (("50M/100ms", 625000), ("2M/100ms", 65536), ("8M/0ms/queue0.05s", 50000)):
        with Link(namespaces, *link_options(name)) as link:
            assert link.ready["queue_bytes"] == queue


_RATE = ["--rate", "1000000", "--queue", "65536"]
_LATER = "microseconds, more than of the change before, and bits per second or 0 (nothing gets through), such as 10000000:1000000, expected"

MISTAKES = [
    (["--rate", "20M"], "--rate 20M: bits per second from 1 to 10000000000 expected"),
    (["--rate", "0"], "--rate 0: bits per second from 1 to 10000000000 expected"),
    (["--rate", "10000000001"], "--rate 10000000001: bits per second from 1 to 10000000000 expected"),
    (["--rate", "1000000"], "--rate needs --queue"),
    (["--rate-up", "4000000"], "--rate-up needs --rate: without a limit nothing waits"),
    ([*_RATE, "--rate-up", "4000000"], "--rate-up and --queue-up need each other"),
    ([*_RATE, "--queue-up", "65536"], "--rate-up and --queue-up need each other"),
    ([*_RATE, "--rate-up", "4000000", "--queue-up", "65536", "--then", "2000000:1"], "--rate-up and --then do not go together"),
    (["--mtu", "500"], "--mtu 500: bytes from 576 to 1500 expected"),
    (["--delay", "40ms"], "--delay 40ms: microseconds from 0 to 10000000 expected"),
    (["--delay", "10000001"], "--delay 10000001: microseconds from 0 to 10000000 expected"),
    (["--delay", "10000", "--jitter", "11000"], "--jitter must not be larger than --delay"),
    (["--loss", "1000001"], "--loss 1000001: packets per million from 0 to 1000000 expected"),
    (["--loss", "900000", "--burst", "2"], "--burst 2 is too short for that --loss"),
    (["--queue", "65536"], "--queue needs --rate: without a limit nothing waits"),
    (["--rate", "1000000", "--queue", "1000"], "--queue 1000: bytes from 1514 to 1073741824 expected"),
    (["--addr-a", "10.77.0.1"], "--addr-a 10.77.0.1: an address such as 10.77.0.1/24 expected"),
    (["--dev-a", "a/b"], "--dev-a a/b: a device name of up to 15 letters expected"),
    ([*_RATE, "--then", "2000000:1000000", "--then", "2000000:0"], f"--then 2000000:0: {_LATER}"),
    ([*_RATE, "--then", "2s:1M"], f"--then 2s:1M: {_LATER}"),
    ([*_RATE, "--then", "2000000"], f"--then 2000000: {_LATER}"),
    ([*_RATE, "--then", "2000000:10000000001"], f"--then 2000000:10000000001: {_LATER}"),
    (["--then", "2000000:1000000"], "--then needs --rate: without a limit nothing waits"),
    *((["--seed", seed], f"--seed {seed}: a number from 0 to 18446744073709551615 expected")
      for seed in ("", "M", "-1", "+1", " 1", "1 ", "1e3", "0x10", "inf", "nan", "1.0", ".", "1,5", "20Q", "18446744073709551616")),
    (["extra"], "unexpected argument extra"),
    (["--ns-b", "no-such-namespace"], "/run/netns/no-such-namespace: No such file or directory"),
    (["--ns-b", "/dev/null"], "/dev/null is not a network namespace"),
]


@pytest.mark.parametrize("options, message", MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_mistakes(namespaces: Namespaces, options: list[str], message: str) -> None:
    run = subprocess.run(command(namespaces, *options), capture_output=True, text=True, timeout=10, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"spice-link: {message}\n")


def test_what_is_missing_is_named() -> None:
    run = subprocess.run([binary(), "--rate", "1000000"], capture_output=True, text=True, timeout=10,
                         check=False)
    assert (run.returncode, run.stderr) == (
        1, "spice-link: --ns-a and --addr-a are needed (--help)\n")


def test_without_privileges(namespaces: Namespaces) -> None:
    run = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", *command(namespaces)],
                         capture_output=True, text=True, timeout=10, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (
        1, "", f"spice-link: cannot enter the network namespace /run/netns/{namespaces.a}: "
        "Operation not permitted\n")


def test_without_tun(namespaces: Namespaces) -> None:
    hide = 'mount -t tmpfs none /dev/net && exec "$@"'
    run = subprocess.run(["unshare", "--mount", "sh", "-c", hide, "sh", *command(namespaces)],
                         capture_output=True, text=True, timeout=10, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (
        1, "", "spice-link: /dev/net/tun: No such file or directory\n")
