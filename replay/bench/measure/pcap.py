# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads a capture file (classic pcap, Ethernet or raw IP, IPv4) and counts packets, bytes and TLS records.

Figures are per direction. The capture is at the server's end: the server's packets before the link, the client's
after it.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.common.errors import BenchError

LINK_ETHERNET = 1
LINK_RAW = 101
ETHERNET_HEADER = 14

_MAGIC = {b"\xd4\xc3\xb2\xa1": ("<", 1e-6), b"\xa1\xb2\xc3\xd4": (">", 1e-6),
          b"\x4d\x3c\xb2\xa1": ("<", 1e-9), b"\xa1\xb2\x3c\x4d": (">", 1e-9)}
_TCP_PROTOCOL = 6
_TLS_APPLICATION_DATA = 23
_TLS_TYPES = range(20, 25)
_HALF = 1 << 31
_ALL = 0xffffffff


class TlsRecords:
    """Counts the records of one direction of one TLS connection from its byte stream, which comes in any pieces."""

    def __init__(self) -> None:
        self.records = 0            # application data only
        self.record_bytes = 0       # with their headers
        self.broken = False         # the stream is not TLS
        self._header = b""
        self._body_left = 0

    def feed(self, data: memoryview | bytes) -> None:
        at, end = 0, len(data)
        while at < end and not self.broken:
            if self._body_left:
                step = min(self._body_left, end - at)
                self._body_left -= step
                at += step
                continue
            take = min(5 - len(self._header), end - at)
            self._header += bytes(data[at:at + take])
            at += take
            if len(self._header) == 5:
                kind, _, length = struct.unpack("!BHH", self._header)
                self._header = b""
                self._body_left = length
                self.broken = kind not in _TLS_TYPES
                if kind == _TLS_APPLICATION_DATA:
                    self.records += 1
                    self.record_bytes += 5 + length


@dataclass
class Direction:
    packets: int = 0
    data_packets: int = 0
    tcp_payload_bytes: int = 0      # as sent, retransmissions included
    wire_bytes: int = 0             # Ethernet frames
    retransmissions: int = 0        # packets with data whose sequence numbers were seen before
    retransmitted_bytes: int = 0
    tls_records: int = 0
    tls_record_bytes: int = 0

    @property
    def stream_bytes(self) -> int:
        """Payload without retransmissions: the bytes of the streams."""
        return self.tcp_payload_bytes - self.retransmitted_bytes


@dataclass
class Summary:
    packets: int = 0                # all packets in the file
    largest_frame: int = 0
    tls_broken: bool = False        # a stream on a TLS port is not TLS
    server: Direction = field(default_factory=Direction)
    client: Direction = field(default_factory=Direction)


class _Stream:
    """One direction of one connection. Reorders segments as far as counting needs it."""

    def __init__(self, first: int, tls: TlsRecords | None) -> None:
        self.next = first           # the sequence number after the last byte in order
        self.tls = tls
        self._early: dict[int, bytes] = {}
        self._highest = first

    def add(self, sequence: int, payload: memoryview) -> int:
        """Takes a segment; returns how many of its bytes had been counted or skipped before."""
        end = (sequence + len(payload)) & _ALL
        behind = (self._highest - sequence) & _ALL
        again = min(behind, len(payload)) if behind < _HALF else 0
        if (end - self._highest) & _ALL < _HALF:
            self._highest = end
        if self.tls is not None:
            self._order(sequence, payload)
        return again

    def _order(self, sequence: int, payload: memoryview) -> None:
        assert self.tls is not None
        if sequence != self.next:
            skip = (self.next - sequence) & _ALL
            if skip >= _HALF:
                self._early[sequence] = bytes(payload)
                return
            if skip >= len(payload):
                return
            payload = payload[skip:]
        self.tls.feed(payload)
        self.next = (self.next + len(payload)) & _ALL
        while self._early:
            ready = [at for at in self._early if (self.next - at) & _ALL < _HALF]
            if not ready:
                return
            for at in ready:
                held = self._early.pop(at)
                skip = (self.next - at) & _ALL
                if skip < len(held):
                    self.tls.feed(held[skip:])
                    self.next = (self.next + len(held) - skip) & _ALL


def read(path: Path) -> Iterator[tuple[float, int, memoryview, int]]:
    """Yields time, frame length on the wire, captured bytes and link type of each packet; a cut last packet is left out."""
    data = memoryview(path.read_bytes())
    if len(data) < 24 or bytes(data[:4]) not in _MAGIC:
        raise BenchError(f"{path}: not a capture file")
    order, unit = _MAGIC[bytes(data[:4])]
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xffff
    if link not in (LINK_ETHERNET, LINK_RAW):
        raise BenchError(f"{path}: link type {link} is not Ethernet or raw IP")
    header = struct.Struct(order + "IIII")
    at, end = 24, len(data)
    while at + 16 <= end:
        seconds, fraction, captured, length = header.unpack_from(data, at)
        at += 16
        if at + captured > end:
            return
        yield seconds + fraction * unit, length, data[at:at + captured], link
        at += captured


_IP = struct.Struct("!BBHHHBBHII")
_TCP = struct.Struct("!HHIIBB")


def analyse(path: Path, server_ports: Collection[int], tls_ports: Collection[int] = ()) -> Summary:
    """Counts the TCP packets to and from the server's ports; frames of a raw IP capture count as if on Ethernet."""
    summary = Summary()
    streams: dict[tuple[int, int, int, int], _Stream] = {}
    for _, length, frame, link in read(path):
        summary.packets += 1
        if link == LINK_ETHERNET:
            if bytes(frame[12:14]) != b"\x08\x00":
                continue
            packet = frame[ETHERNET_HEADER:]
        else:
            packet = frame
            length += ETHERNET_HEADER
        first, _, total, _, _, _, protocol, _, source, target = _IP.unpack_from(packet)
        if first >> 4 != 4 or protocol != _TCP_PROTOCOL:
            continue
        at = (first & 15) * 4
        source_port, target_port, sequence, _, offset, flags = _TCP.unpack_from(packet, at)
        if source_port in server_ports:
            direction, tls = summary.server, source_port in tls_ports
        elif target_port in server_ports:
            direction, tls = summary.client, target_port in tls_ports
        else:
            continue
        payload = packet[at + (offset >> 4) * 4:total]
        size = len(payload)
        direction.packets += 1
        direction.wire_bytes += length
        if length > summary.largest_frame:
            summary.largest_frame = length
        key = (source, source_port, target, target_port)
        syn = flags & 2
        if syn:
            streams[key] = _Stream((sequence + 1) & _ALL, TlsRecords() if tls else None)
        if not size or syn:
            continue
        stream = streams.get(key)
        if stream is None:
            stream = streams[key] = _Stream(sequence, TlsRecords() if tls else None)
        direction.data_packets += 1
        direction.tcp_payload_bytes += size
        again = stream.add(sequence, payload)
        if again:
            direction.retransmissions += 1
            direction.retransmitted_bytes += again
    for (_, source_port, _, _), stream in streams.items():
        if stream.tls is not None:
            direction = summary.server if source_port in server_ports else summary.client
            direction.tls_records += stream.tls.records
            direction.tls_record_bytes += stream.tls.record_bytes
            summary.tls_broken |= stream.tls.broken
    return summary
