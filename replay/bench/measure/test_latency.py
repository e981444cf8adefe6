# SPDX-License-Identifier: LGPL-2.1-or-later
from __future__ import annotations

import random

import pytest

from bench.measure import latency
from bench.measure.latency import Probe

MS = 1_000_000


def on_time(sent: int, received: int | None) -> Probe:
    return Probe(sent, sent, received)


def test_every_probe_arrives() -> None:
    sent = [[n % 3600, n * 50 * MS, n * 50 * MS] for n in range(4000)]
    received = [[n, when + 3 * MS] for n, when, _ in sent]
    found = latency.report(sent, received)
    assert found and (found["sent"], found["dropped"]) == (4000, 0)
    assert found["p50"] == found["max"] == 3.0


def test_dropped_probes_do_not_shift_the_others() -> None:
    source = random.Random(3)
    sent = [[n % 3600, n * 10 * MS, n * 10 * MS] for n in range(9000)]
    received = [[n, when + 7 * MS] for n, when, _ in sent if source.random() > 0.4]
    found = latency.report(sent, received)
    assert found and found["dropped"] == 9000 - len(received)
    assert found["p50"] == found["max"] == 7.0


@pytest.mark.parametrize("received", [
    [[1, 5]],                   # before it was sent
    [[1, 30], [0, 40]],         # out of order
])
def test_what_does_not_fit_is_no_figure(received: list[list[int]]) -> None:
    assert latency.match([[0, 0, 0], [1, 10, 10]], received) is None


def test_one_that_was_skipped_may_be_shown_after_a_later_one() -> None:
    sent = [[n % 3600, n * 10 * MS, n * 10 * MS] for n in range(7210)]
    received = [[n, when + 7 * MS] for n, when, _ in sent]
    for early in (5, 3599, 7204):       # its number and the one before it, which begins a cycle in the second case
        received[early], received[early + 1] = received[early + 1], [received[early][0], received[early + 1][1] + MS]
    assert latency.match(sent, received) is None
    found = latency.report(sent, received)
    assert found and (found["dropped"], found["p50"], found["max"]) == (0, 7.0, 18.0)
    found = latency.report(sent, [*received[:20], received[9], *received[20:]])
    assert found and (found["received"], found["max"]) == (7210, 18.0)
    assert latency.report(sent, [[1, 30 * MS], [0, -MS]]) is None
    assert latency.report(sent, [*received[:100], received[0], *received[100:]]) is None


def test_a_drawing_that_looks_like_a_probe_is_none() -> None:
    """Its number is not sent; around it, others overtake."""
    sent = [[n, n * 10 * MS, n * 10 * MS] for n in range(100) if n not in (7, 30, 31)]
    received = [[n, when + 7 * MS] for n, when, _ in sent]
    received[40], received[41] = received[41], [received[40][0], received[41][1] + MS]
    with_drawings = [*received[:5], [30, 50 * MS], *received[5:50], [7, 500 * MS], [31, 501 * MS], *received[50:]]
    assert latency.match(sent, with_drawings, overtaking=True) == latency.match(sent, received, overtaking=True)
    found = latency.report(sent, with_drawings)
    assert found and (found["received"], found["p50"], found["max"]) == (97, 7.0, 18.0)


def test_no_probes_no_figures() -> None:
    assert latency.report([], []) is None
    assert latency.report(None, None) is None
    found = latency.report([[0, 0, 0]], [])
    assert found and found["p50"] is None and found["dropped"] == 1


def test_quantiles_are_of_the_received() -> None:
    sent = [[n, n * 100 * MS, n * 100 * MS] for n in range(101)]
    received = [[n, when + n * MS] for n, when, _ in sent]
    found = latency.report(sent, received)
    assert found and (found["p50"], found["p95"], found["p99"], found["max"]) == (50, 95, 99, 100)


def test_a_probe_reported_twice_came_the_first_time() -> None:
    sent = [(0, 100, 100), (1, 200, 200), (2, 300, 300)]
    assert latency.match(sent, latency.first_reports([(0, 110), (1, 220), (1, 225), (2, 330)])) == \
        [on_time(100, 110), on_time(200, 220), on_time(300, 330)]
    assert latency.match(sent, [(1, 220), (0, 225)]) is None


def test_a_client_counts_probes_modulo_3600() -> None:
    sent = [[number, number * 10, number * 10] for number in range(5000)]
    found = latency.match(sent, [[number % 3600, number * 10 + 1] for number in range(0, 5000, 7)])
    assert found is not None
    assert [probe.sent for probe in found if probe.received is not None] == list(range(0, 50000, 70))


def _shown(*times: int) -> list[dict[str, int]]:
    return [{"time_ns": time, "missed": 0} for time in times]


def test_a_response_is_from_when_the_last_drawing_was_due() -> None:
    bursts = [[3, 0, 10 * MS], [5, 100 * MS, 150 * MS], [9, 400 * MS, 460 * MS]]
    shown = _shown(9 * MS, 140 * MS, 420 * MS)
    shown[2]["missed"] = 1
    found = latency.response(bursts, shown)
    assert found == {"bursts": 2, "missed": 1, "p50": 30.0, "p95": 39.0, "max": 40.0, "values": [40.0, 20.0]}
    assert latency.waited(bursts, shown) == 51 * MS


@pytest.mark.parametrize(("bursts", "shown"), [
    (None, []), ([], []), ([[1, 5, 9]], []), ([[1, 5, 9]], [4]), ([[1, 0, 9]], [8])])
def test_what_does_not_fit_is_not_known(bursts: list[list[int]] | None, shown: list[int]) -> None:
    assert latency.response(bursts, _shown(*shown)) is None
