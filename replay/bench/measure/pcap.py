# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads a capture file (classic pcap, Ethernet or raw IP, IPv4) and counts packets, bytes and TLS records.

Figures are per direction. The capture is at the server's end: the server's packets before the link, the client's
after it.
"""

from __future__ import annotations

import operator
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


@dataclass
class Direction:
    packets: int = 0
    data_packets: int = 0
    tcp_payload_bytes: int = 0      # as sent, retransmissions included
    wire_bytes: int = 0             # Ethernet frames
    retransmissions: int = 0        # packets with data whose sequence numbers were seen before
    retransmitted_bytes: int = 0
    tls_records: int = 0            # application data only
    tls_record_bytes: int = 0       # with their headers

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


@dataclass
class _Stream:
    """One direction of one connection."""

    first: int                      # sequence number of the first byte
    tls: bool
    end: int = 0                    # of the bytes that were seen, from the first on
    segments: list[tuple[int, memoryview]] = field(default_factory=list)    # with their place in the stream, as they came; of TLS only

    def add(self, sequence: int, payload: memoryview) -> int:
        """Takes a segment; returns how many of its bytes had been counted or skipped before."""
        at = self.end + ((sequence - self.first - self.end + _HALF) & _ALL) - _HALF
        again = min(max(self.end - at, 0), len(payload))
        self.end = max(self.end, at + len(payload))
        if self.tls:
            self.segments.append((at, payload))
        return again

    def joined(self) -> bytearray:
        """Up to the first gap."""
        found = bytearray()
        for at, payload in sorted(self.segments, key=operator.itemgetter(0)):
            if at > len(found):
                break
            found += payload[len(found) - at:]
        return found


def _count_records(stream: bytearray, counted: Direction) -> bool:
    """Of application data, also one that is cut; False if the stream is not TLS."""
    at = 0
    while at + 5 <= len(stream):
        kind, _, length = struct.unpack_from("!BHH", stream, at)
        if kind not in _TLS_TYPES:
            return False
        at += 5 + length
        if kind == _TLS_APPLICATION_DATA:
            counted.tls_records += 1
            counted.tls_record_bytes += 5 + length
    return True


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
        summary.largest_frame = max(summary.largest_frame, length)
        key = (source, source_port, target, target_port)
        syn = flags & 2
        if syn:
            streams[key] = _Stream(sequence + 1, tls)
        if not size or syn:
            continue
        stream = streams.get(key)
        if stream is None:
            stream = streams[key] = _Stream(sequence, tls)
        direction.data_packets += 1
        direction.tcp_payload_bytes += size
        again = stream.add(sequence, payload)
        if again:
            direction.retransmissions += 1
            direction.retransmitted_bytes += again
    for (_, source_port, _, _), stream in streams.items():
        summary.tls_broken |= not _count_records(stream.joined(), summary.server if source_port in server_ports else summary.client)
    return summary
