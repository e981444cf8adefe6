# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the kernel's ways to send cost, counted in a machine of ./run vm.

  python3 -m vm.figures             writes results/kernel/README.md from results/kernel/figures.txt
  python3 -m vm.figures --measure   measures anew first; minutes

The verdicts are verdict.md, beside this file."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

from bench.common import paths
from bench.common.steps import Steps
from vm import kernels, machine

FOLDER = paths.RESULTS / "kernel"
_HERE = Path(__file__).parent
_NETWORKS = {"cards": "from one network card to the other (virtio-net)",
             "loopback": "over loopback, where all is copied"}

Figure = dict[str, Any]


def parse(text: str) -> dict[tuple[str, str, int], Figure]:
    """(network, way, size) -> what vm-bench-send said."""
    found = {}
    for line in text.splitlines():
        network, _, rest = line.partition(" ")
        if network in _NETWORKS and rest.startswith("{"):
            figure = json.loads(rest)
            found[network, figure["way"], figure["size"]] = figure
    return found


def _size(size: int) -> str:
    return next(f"{size // unit} {name}" for unit, name in ((1 << 20, "MiB"), (1024, "KiB"), (1, "B")) if size >= unit)


def _cell(figure: Figure | None, other: Figure | None) -> str:
    """Instructions for a payload, and how many times those of the way it is compared with."""
    if figure is None or other is None:
        return "–"
    each = figure["spent"] / figure["count"]
    return f"{each:,.0f}".replace(",", " ") + ("" if figure is other else f" ({figure['spent'] / other['spent']:.2f})")


def tables(found: dict[tuple[str, str, int], Figure]) -> str:
    sizes = sorted({size for _, _, size in found})
    ways = list(dict.fromkeys(way for _, way, _ in found))
    parts = []
    for network, says in _NETWORKS.items():
        lines = [f"Instructions of the sender for one payload, {says}; in brackets as a multiple of `sendmsg`, "
                 "for `ktls` of `user-tls`:\n",
                 "| way | " + " | ".join(map(_size, sizes)) + " | calls a payload |",
                 "|---|" + "--:|" * (len(sizes) + 1)]
        for way in ways:
            base = "user-tls" if way in ("ktls", "user-tls") else "sendmsg"
            cells = [_cell(found.get((network, way, size)), found.get((network, base, size))) for size in sizes]
            asked = [found[network, way, size] for size in sizes if (network, way, size) in found]
            calls = sum(one["calls"] for one in asked) / max(1, sum(one["count"] for one in asked))
            lines.append(f"| {way} | " + " | ".join(cells) + f" | {calls:.2f} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def deliveries(text: str) -> str:
    """What delivery.py said, a table."""
    lines = ["| round trip | the reader takes it | timestamp | `tcpi_bytes_acked` | pong |", "|--:|--:|--:|--:|--:|"]
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "delivery":
            one = json.loads(rest)
            late = f"{one['late']} ms late" if one["late"] else "at once"
            lines.append(f"| {one['round_trip']} ms | {late} | " +
                         " | ".join(f"{one[way]} ms" for way in ("stamp", "acked", "pong")) + " |")
    return "\n".join(lines) + "\n"


def page(found: dict[tuple[str, str, int], Figure], release: str, delivered: str) -> str:
    text = (_HERE / "verdict.md").read_text().replace("@DELIVERY@\n", delivered)
    return text.replace("@TABLES@", tables(found)).replace("@RELEASE@", release)


def _measure() -> None:
    kernel = kernels.fetch(kernels.DEFAULT, Steps(paths.build_dir() / "vm-figures.log"))
    out = io.BytesIO()
    command = [str(_HERE / "ways.sh"), str(paths.tool("vm", "vm-bench-send"))]
    for status in (machine.run(kernel, command, count=True, out=out),
                   machine.run(kernel, ["python3", str(_HERE / "delivery.py")], out=out)):
        if status:
            sys.exit(status)
    (FOLDER / "figures.txt").write_text(f"{kernel.release}\n{out.getvalue().decode()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    FOLDER.mkdir(parents=True, exist_ok=True)
    if parser.parse_args().measure:
        _measure()
    text = (FOLDER / "figures.txt").read_text()
    (FOLDER / "README.md").write_text(page(parse(text), text.splitlines()[0], deliveries(text)))


if __name__ == "__main__":
    main()
