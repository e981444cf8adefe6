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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.build import setup
from bench.commands import egress
from bench.common import paths
from bench.common.errors import BenchError
from bench.common.steps import Steps
from bench.runs import environment
from vm import kernels, machine

FOLDER = paths.RESULTS / "kernel"
_HERE = Path(__file__).parent
_NETWORKS = {"cards": "from one network card to the other (virtio-net)",
             "loopback": "over loopback, where all is copied"}

_MIX = "small-messages"
# Instructions for a message of it at 48385e7, counted when that was new.
_BEFORE = {("batch", "plain"): 300, ("batch", "tls"): 1270, ("flow", "plain"): 301, ("flow", "tls"): 1270}

Figure = dict[str, Any]
Key = tuple[str, str, int]      # network, way, size


def _runs(text: str) -> dict[Key, list[Figure]]:
    """What vm-bench-send said, the cheapest first."""
    found: dict[Key, list[Figure]] = {}
    for line in text.splitlines():
        network, _, rest = line.partition(" ")
        if network in _NETWORKS and rest.startswith("{"):
            figure = json.loads(rest)
            found.setdefault((network, figure["way"], figure["size"]), []).append(figure)
    return {key: sorted(runs, key=lambda run: int(run["spent"])) for key, runs in found.items()}


def parse(text: str) -> dict[Key, Figure]:
    """Of each the run in the middle."""
    return {key: runs[len(runs) // 2] for key, runs in _runs(text).items()}


def _apart(runs: list[Figure]) -> float:
    return float(runs[-1]["spent"] / runs[0]["spent"])


def spread(text: str) -> str:
    """How far apart the runs of one cell are."""
    said = []
    for network in _NETWORKS:
        apart = sorted(_apart(runs) for (where, _, _), runs in _runs(text).items() if where == network)
        if apart:
            said.append(f"over {network} {apart[-1]:.2f} times as much, in the middle {apart[len(apart) // 2]:.2f}")
    return "; ".join(said)


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


def _told(text: str, name: str) -> list[Figure]:
    """What stands behind a name at the beginning of a line."""
    lines = (line.partition(" ") for line in text.splitlines())
    return [json.loads(rest) for first, _, rest in lines if first == name]


def deliveries(text: str) -> str:
    """What delivery.py said, a table."""
    lines = ["| round trip | the reader takes it | timestamp | `tcpi_bytes_acked` | pong |", "|--:|--:|--:|--:|--:|"]
    for one in _told(text, "delivery"):
        late = f"{one['late']} ms late" if one["late"] else "at once"
        lines.append(f"| {one['round_trip']} ms | {late} | " +
                     " | ".join(f"{one[way]} ms" for way in ("stamp", "acked", "pong")) + " |")
    return "\n".join(lines) + "\n"


def messages(text: str) -> str:
    """What a message costs those who use none of it, beside what it cost before, as counted then."""
    lines = ["| | 48385e7, before all of this | now |", "|---|--:|--:|"]
    for one in _told(text, "message"):
        before = _BEFORE[one["mode"], one["transport"]]
        way = "TLS" if one["transport"] == "tls" else one["transport"]
        lines.append(f"| `{one['mode']}`, {way} | {before} | {one['instructions'] / one['messages']:.0f} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Of the file of figures."""
    release, about = text.splitlines()[:2]
    made = (_HERE / "verdict.md").read_text()
    for name, part in (("DELIVERY@\n", deliveries(text)), ("MESSAGES@\n", messages(text)),
                       ("TABLES@", tables(parse(text))), ("SPREAD@", spread(text)), ("RELEASE@", release),
                       ("LIBRARY@", about)):
        made = made.replace(f"@{name}", part)
    return made


def _count_messages(steps: Steps) -> list[str]:
    setup.setup()
    mix = ["--mix", str(paths.ROOT / "server/devel/tests/bench-mix" / f"{_MIX}.txt")]
    counted = egress.by_key(_MIX, egress.run(egress.program(), [*mix, "--count-only"], steps))
    return ["message " + json.dumps({
        "mode": mode, "transport": transport, "messages": counted[_MIX, transport, mode]["messages"],
        "instructions": egress.instructions(egress.program(), [*mix, "--mode", mode, "--transport", transport], steps)})
        for mode, transport in _BEFORE]


def _measure() -> None:
    steps = Steps(paths.build_dir() / "vm-figures.log")
    about = f"{str(environment.library_tree())[:12]}, {datetime.now(UTC):%Y-%m-%d}"
    counted = _count_messages(steps)
    kernel = kernels.fetch(kernels.DEFAULT, steps)
    out = io.BytesIO()
    command = [str(_HERE / "ways.sh"), str(paths.tool("vm", "vm-bench-send"))]
    for status in (machine.run(kernel, command, count=True, out=out),
                   machine.run(kernel, ["python3", str(_HERE / "delivery.py")], out=out)):
        if status:
            sys.exit(status)
    (FOLDER / "figures.txt").write_text("\n".join([kernel.release, about, *counted, out.getvalue().decode()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    FOLDER.mkdir(parents=True, exist_ok=True)
    if parser.parse_args().measure:
        try:
            _measure()
        except BenchError as error:
            sys.exit(f"vm.figures: {error}")
    (FOLDER / "README.md").write_text(page((FOLDER / "figures.txt").read_text()))


if __name__ == "__main__":
    main()
