# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counting, against packets made by hand and against tshark."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bench.common.errors import BenchError
from bench.lab import lab
from bench.measure import pcap
from bench.runs import matrix
from bench.runs.runspec import RunSpec

SERVER, CLIENT = 0x0A530001, 0x0A530002
PORT, OTHER = 5901, 40000


def frame(sequence: int, payload: bytes = b"", flags: int = 0x10, from_server: bool = True, ethernet: bool = True,
          padding: int = 0) -> bytes:
    source, target = (SERVER, CLIENT) if from_server else (CLIENT, SERVER)
    ports = (PORT, OTHER) if from_server else (OTHER, PORT)
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence & 0xffffffff, 0, 8 << 4, flags, 1000, 0, 0) + bytes(12)
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(tcp) + len(payload), 0, 0, 64, 6, 0, source, target)
    return (bytes(12) + b"\x08\x00" if ethernet else b"") + ip + tcp + payload + bytes(padding)


def capture_of(path: Path, frames: list[bytes], link: int = pcap.LINK_ETHERNET, order: str = "<") -> Path:
    data = struct.pack(order + "IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, link)
    for number, one in enumerate(frames):
        data += struct.pack(order + "IIII", 100, number * 1000, len(one), len(one)) + one
    path.write_bytes(data)
    return path


def record(size: int, kind: int = 23) -> bytes:
    return struct.pack("!BHH", kind, 0x0303, size) + bytes(size)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.pcap"


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_directions_are_counted(file: Path, order: str) -> None:
    capture_of(file, [frame(0, b"a" * 100), frame(100, b"b" * 50), frame(0, from_server=False), frame(150)], order=order)
    found = pcap.analyse(file, {PORT})
    assert (found.packets, found.largest_frame) == (4, 66 + 100)
    assert (found.server.packets, found.server.data_packets, found.server.tcp_payload_bytes) == (3, 2, 150)
    assert found.server.wire_bytes == 3 * 66 + 150
    assert (found.client.packets, found.client.data_packets) == (1, 0)


def test_padding_of_a_short_frame_is_no_payload(file: Path) -> None:
    capture_of(file, [frame(0, padding=6)])
    assert pcap.analyse(file, {PORT}).server.tcp_payload_bytes == 0


def test_raw_packets_count_as_if_on_ethernet(file: Path) -> None:
    capture_of(file, [frame(0, b"a" * 100, ethernet=False)], link=pcap.LINK_RAW)
    assert pcap.analyse(file, {PORT}).server.wire_bytes == 166


def test_what_is_sent_again_is_counted_apart(file: Path) -> None:
    capture_of(file, [frame(0, flags=2), frame(1, b"a" * 100), frame(101, b"b" * 100), frame(1, b"a" * 100),
                      frame(151, b"b" * 100)])
    found = pcap.analyse(file, {PORT}).server
    assert found.retransmissions == 2
    assert found.retransmitted_bytes == 150
    assert found.stream_bytes == 250


def test_sequence_numbers_wrap(file: Path) -> None:
    start = 0xffffffff - 49
    capture_of(file, [frame(start, flags=2), frame(start + 1, record(95)), frame(start + 101, record(95))])
    found = pcap.analyse(file, {PORT}, {PORT})
    assert (found.server.retransmissions, found.server.tls_records) == (0, 2)


@pytest.mark.parametrize("seed", range(8))
def test_records_are_found_however_the_stream_is_cut(file: Path, seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.randrange(1, 3000) for _ in range(40)]
    stream = record(60, 22) + record(1, 20) + b"".join(record(size) for size in sizes)
    frames, at = [], 0
    while at < len(stream):
        size = rng.choice((1, 2, 3, 4, 5, 700, 1448))
        frames.append(frame(1 + at, stream[at:at + size]))
        at += size
    for _ in range(10):     # some late, some twice
        i = rng.randrange(len(frames) - 1)
        frames[i], frames[i + 1] = frames[i + 1], frames[i]
        frames.insert(rng.randrange(len(frames)), frames[i])
    capture_of(file, [frame(0, flags=2), *frames])
    found = pcap.analyse(file, {PORT}, {PORT})
    assert found.server.tls_records == len(sizes)
    assert found.server.tls_record_bytes == sum(sizes) + 5 * len(sizes)
    assert not found.tls_broken


def test_a_stream_that_is_not_tls_is_noticed(file: Path) -> None:
    capture_of(file, [frame(0, b"REDQ" * 30)])
    assert pcap.analyse(file, {PORT}, {PORT}).tls_broken


def test_other_ports_and_a_cut_last_packet_are_left_out(file: Path) -> None:
    capture_of(file, [frame(0, b"a" * 10), frame(10, b"b" * 10)])
    assert pcap.analyse(file, {1}).server.packets == 0
    file.write_bytes(file.read_bytes()[:-1])
    assert pcap.analyse(file, {PORT}).server.packets == 1


@pytest.mark.parametrize("content", [b"", b"SPICE_REPLAY 1\n" * 4, bytes(24)])
def test_what_is_no_capture_is_said(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(BenchError, match="not a capture file"):
        pcap.analyse(file, {PORT})


def _tshark(path: Path, wanted: str, *fields: str) -> list[str]:
    argv = ["tshark", "-r", str(path), "-d", f"tcp.port=={lab.TLS_PORT},tls", "-Y", wanted, "-T", "fields"]
    for name in fields:
        argv += ["-e", name]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_tshark_counts_the_same(spec: RunSpec, fake_tree: Path) -> None:
    kept = matrix.perform(replace(spec, transport="tls", keep=fake_tree))["pcap"]
    ours = pcap.analyse(Path(kept), {lab.TLS_PORT}, {lab.TLS_PORT})
    for direction, wanted in ((ours.server, "tcp.srcport"), (ours.client, "tcp.dstport")):
        lines = [line.split("\t") for line in _tshark(Path(kept), f"{wanted}=={lab.TLS_PORT}", "frame.len", "tcp.len")]
        assert direction.packets == len(lines)
        assert direction.wire_bytes == sum(int(line[0]) for line in lines)
        assert direction.data_packets == sum(line[1] != "0" for line in lines)
        assert direction.tcp_payload_bytes == sum(int(line[1]) for line in lines)
        kinds = ",".join(_tshark(Path(kept), f"{wanted}=={lab.TLS_PORT} && tls.record.opaque_type", "tls.record.opaque_type"))
        assert direction.tls_records == kinds.split(",").count("23")
        again = _tshark(Path(kept), f"{wanted}=={lab.TLS_PORT} && tcp.analysis.retransmission", "frame.number")
        assert direction.retransmissions == len(again)
