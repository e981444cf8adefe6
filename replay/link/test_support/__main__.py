# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the accuracy of spice-link on this machine and prints README.md's table. As root, in the tree:
PYTHONPATH=replay python3 -m link.test_support [OPTION of spice-link...]
"""

import statistics
import sys

from link.test_support.lab import (ADDRESS_B, DEEP_QUEUE, FULL_FRAME, LINKS, MSS, PING_FRAME, Link, Namespaces, flooded, link_options,
                                   ping, slope, tcp_transfer, wire_rate)

SECONDS = 10    # of a transfer that is measured


def measure(name: str, options: list[str]) -> list[str]:
    rate, round_trip = LINKS[name]
    floor = round_trip + 2 * PING_FRAME * 8 / rate
    with Namespaces() as namespaces, Link(namespaces, *link_options(name), *options) as link:
        pings = ping(namespaces.a, ADDRESS_B, 200, 0.01)
        link.finish()
    with Namespaces() as namespaces, Link(namespaces, *link_options(name + DEEP_QUEUE), *options) as link:
        achieved = wire_rate(flooded(namespaces, rate)[0])
        link.finish()
    with Namespaces() as namespaces, Link(namespaces, *link_options(name), *options) as link:
        points = tcp_transfer(namespaces, SECONDS)
        report = link.finish()
    goodput = slope([point for point in points if point[0] > 0.4 * SECONDS])
    late = report["a_to_b"]["late_us"]
    cpu = (report["cpu_user"] + report["cpu_system"]) / report["seconds"]
    return [name,
            f"{(achieved / rate - 1) * 100:+.3f} %",
            f"{(statistics.median(pings) - floor) * 1e3:+.3f} ms",
            f"{(max(pings) - floor) * 1e3:+.3f} ms",
            f"{goodput / (rate * MSS / FULL_FRAME) * 100:.1f} %",
            f"{late['max']:.0f} us",
            f"{cpu * 100:.0f} %"]


def main() -> None:
    header = ["link", "rate error", "ping error, median", "ping error, max", "TCP uses",
              "late, max", "CPU"]
    print("|", " | ".join(header), "|")
    print("|", " | ".join("---" for _ in header), "|")
    for name in LINKS:
        print("|", " | ".join(measure(name, sys.argv[1:])), "|", flush=True)


if __name__ == "__main__":
    main()
