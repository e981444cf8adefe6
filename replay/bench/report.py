# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of a comparison, in Markdown."""

from __future__ import annotations

import collections
import statistics
from typing import Any

from bench import metrics, modes, table

Run = dict[str, Any]
Cell = tuple[str, str, str]     # transport, library, mode

_COLUMNS = """\
*packets*, *with data*: sent by the server. *TCP payload*: what those carried. *overhead*: bytes on the wire (Ethernet
frames) beyond the messages themselves, in bytes, as part of the message bytes, and as a multiple of the least any sender
could do (*x floor*). *TLS records*: application data. *from client*: packets the client sent, acknowledgements mostly.
*CPU*: seconds of user and system time of the server process. *valid*: runs that count, of all. Medians of the valid runs."""


def median(runs: list[Run], name: str) -> float | None:
    values = [value for run in runs if (value := metrics.METRICS[name].read(run)) is not None]
    return statistics.median(values) if values else None


def _rank(cell: Cell) -> tuple[int, int, str, str]:
    transport, library, mode = cell
    names = list(modes.MODES)
    plain_name = modes.base(mode).name
    return (("plain", "tls").index(transport), names.index(plain_name), mode, library)


def cells(runs: list[Run]) -> dict[Cell, list[Run]]:
    """Runs of one recording and link by row, in the order of the tables."""
    found: dict[Cell, list[Run]] = collections.defaultdict(list)
    for run in runs:
        found[run["transport"], run["library"], run["mode"]].append(run)
    return {cell: found[cell] for cell in sorted(found, key=_rank)}


def row_name(library: str, mode: str) -> str:
    return mode if library in ("stock", "patched") else f"{mode} ({library})"


def _row(cell: Cell, runs: list[Run]) -> list[str]:
    transport, library, mode = cell
    valid = [run for run in runs if run["valid"]]
    floor = median(valid, "over_floor")
    return [row_name(library, mode), transport,
            table.count(median(valid, "packets")), table.count(median(valid, "data_packets")),
            table.megabytes(median(valid, "tcp_payload_bytes")),
            table.megabytes(median(valid, "overhead")), table.percent(median(valid, "overhead_ratio")),
            table.UNKNOWN if floor is None else f"{floor:.2f}",
            table.count(median(valid, "tls_records")) if transport == "tls" else table.UNKNOWN,
            table.count(median(valid, "client_packets")),
            table.seconds(median(valid, "cpu")), f"{len(valid)}/{len(runs)}"]


_HEAD = ("mode", "transport", "packets", "with data", "TCP payload", "overhead", "%", "x floor", "TLS records",
         "from client", "CPU", "valid")


def groups(runs: list[Run]) -> dict[tuple[str, str], list[Run]]:
    """Runs by recording and link, in the order they first came."""
    found: dict[tuple[str, str], list[Run]] = collections.defaultdict(list)
    for run in runs:
        found[run["recording"], run["link"]].append(run)
    return dict(found)


def main_tables(runs: list[Run]) -> str:
    parts = []
    for (recording, link), group in groups(runs).items():
        where = "" if link == "lan" else f", {link}"
        parts.append(f"## {recording}{where}\n\n" +
                     table.markdown(_HEAD, [_row(cell, of) for cell, of in cells(group).items()], left=2))
    return "\n\n".join(parts)


def invalid_runs(runs: list[Run]) -> str:
    """How many runs do not count, by row and reason; empty when all do."""
    reasons = collections.Counter(
        (run["recording"], row_name(run["library"], run["mode"]), run["transport"], run["link"], run["invalid_reason"])
        for run in runs if not run["valid"])
    if not reasons:
        return ""
    rows = [[*key[:4], str(number), str(key[4])] for key, number in sorted(reasons.items())]
    return "## Runs that do not count\n\n" + table.markdown(
        ("recording", "mode", "transport", "link", "runs", "reason"), rows, left=6)


def _about(result: dict[str, Any]) -> str:
    environment = result["environment"]
    git = environment["git"]
    commit = (git["commit"] or "unknown")[:12] + (" with changes" if git["dirty"] else "")
    cpu = environment["cpu"]
    packages = environment["packages"]
    said = [f"{environment['system']}, Linux {environment['kernel']}, {cpu['count']} x {cpu['model']}",
            f"commit {commit}", f"spice-client-glib {packages.get('libspice-client-glib-2.0-8') or 'unknown'}",
            f"TLS {result['plan'].get('tls')}", f"pace {result['plan'].get('pace')}"]
    return "; ".join(said) + ".  \nCommand: `" + " ".join(result["command"]) + "`"


def markdown(result: dict[str, Any]) -> str:
    """The whole page."""
    known = {modes.base(run["mode"]).name for run in result["runs"]}
    says = "\n".join(f"- **{mode.name}**: {mode.says}" for mode in modes.MODES.values() if mode.name in known)
    parts = ["# Comparison", _about(result), main_tables(result["runs"]), _COLUMNS, says, invalid_runs(result["runs"])]
    return "\n\n".join(part for part in parts if part) + "\n"
