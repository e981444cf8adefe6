# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots of a result, as SVG. A mode has the same colour, hatching and dash in all of them, so that they can be told
apart without colours."""

from __future__ import annotations

import importlib.util
import math
import re
import statistics
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common.errors import BenchError
from bench.measure import metrics, pcap, stats
from bench.report import report
from bench.report.report import Cell, Group, Run
from bench.runs import modes

FOLDER = "plots"
_POINTS = 300       # points per curve
_TITLE_SIZE = 11
_LETTERS_AN_INCH = 11       # at least, at that size
_TRANSPORTS = (("plain", "plain TCP"), ("tls", "TLS"))


def available() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _pyplot() -> Any:
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd",
        "hatch.linewidth": 0.6})
    from matplotlib import pyplot
    return pyplot


def _known(cells: dict[Cell, list[Run]], transport: str) -> dict[Cell, list[Run]]:
    """The rows of a transport that have runs that count."""
    found = {cell: [run for run in runs if run["valid"]] for cell, runs in cells.items() if cell[0] == transport}
    return {cell: runs for cell, runs in found.items() if runs}


def _label(cell: Cell) -> str:
    """A short name for a legend; of a library's directory, its end."""
    return re.sub(r"\((?:.*/)?([^/]+/[^/]+)\)", r"(\1)", report.name(cell))


def _style(cell: Cell) -> dict[str, Any]:
    mode = modes.base(cell[2])
    return {"color": mode.colour, "linestyle": (0, mode.dash) if mode.dash else "-", "linewidth": 1.6, "label": _label(cell)}


def _entitle(figure: Any, group: Group, what: str) -> None:
    """Sets a title, in several lines if the picture is narrow."""
    lines = textwrap.wrap(report.title(group), int(figure.get_figwidth() * _LETTERS_AN_INCH))
    figure.suptitle("\n".join([*lines, what]), fontsize=_TITLE_SIZE)


def _legend(figure: Any, axes: Any) -> None:
    """Below the picture, so that it hides no curve."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 4)
    lines = math.ceil(len(labels) / columns)
    figure.legend(handles, labels, loc="lower center", ncol=columns, frameon=False, handlelength=3)
    figure.tight_layout(rect=(0, 0.03 + 0.05 * lines, 1, 1))


Draw = Callable[[Any, Cell, list[Run]], bool]


def _curves(pyplot: Any, group: Group, cells: dict[Cell, list[Run]], what: str, x: str, y: str, draw: Draw) -> Any:
    """One picture per transport side by side, one curve per row; None without data."""
    shown = [(transport, name) for transport, name in _TRANSPORTS if _known(cells, transport)]
    figure, axes = pyplot.subplots(1, len(shown), figsize=(5.5 * len(shown), 4.4), sharey=True, squeeze=False)
    drawn = False
    fullest = axes[0][0]
    for one, (transport, name) in zip(axes[0], shown, strict=True):
        for cell, runs in _known(cells, transport).items():
            drawn |= draw(one, cell, runs)
        one.set_title(name, fontsize=10)
        one.set_xlabel(x)
        if len(one.get_legend_handles_labels()[1]) > len(fullest.get_legend_handles_labels()[1]):
            fullest = one
    if not drawn:
        pyplot.close(figure)
        return None
    axes[0][0].set_ylabel(y)
    _entitle(figure, group, what)
    _legend(figure, fullest)
    return figure


def latency(pyplot: Any, group: Group, cells: dict[Cell, list[Run]]) -> Any:
    def draw(axes: Any, cell: Cell, runs: list[Run]) -> bool:
        values = sorted(value for run in runs if run["latency"] for value in run["latency"]["values"])
        if not values:
            return False
        parts = [step / _POINTS for step in range(_POINTS + 1)]
        axes.plot([max(stats.quantile(values, part), 0.01) for part in parts], [part * 100 for part in parts], **_style(cell))
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.axhline(95, color="#999999", linewidth=0.6)
        return True
    return _curves(pyplot, group, cells, "latency, all runs together", "ms from command to client", "% of the probes within",
                   draw)


def _typical(runs: list[Run]) -> Run | None:
    """The captured run whose duration is nearest to the median."""
    captured = [run for run in runs if metrics.of_capture(run)]
    if not captured:
        return None
    middle = statistics.median(run["wall_seconds"] for run in captured)
    return min(captured, key=lambda run: abs(run["wall_seconds"] - middle))


def over_time(pyplot: Any, group: Group, cells: dict[Cell, list[Run]]) -> Any:
    def draw(axes: Any, cell: Cell, runs: list[Run]) -> bool:
        typical = _typical(runs)
        if typical is None or not typical["timeline"]:
            return False
        timeline = typical["timeline"]
        every = max(1, len(timeline) // _POINTS)
        times, totals, total = [0.0], [0.0], 0
        for number, (step, amount) in enumerate(timeline, 1):
            total += amount
            if number % every == 0 or number == len(timeline):
                times.append((step + 1) * pcap.TIMELINE_STEP)
                totals.append(total / 1e6)
        axes.plot(times, totals, **_style(cell))
        return True
    return _curves(pyplot, group, cells, "bytes over time, a typical run", "seconds", "MB on the wire", draw)


_CLASSES = ((0, "up to 100"), (100, "to 250"), (250, "to 500"), (500, "to 1000"), (1000, "to 1450"), (1450, "full"))


def _classes(histogram: list[list[int]]) -> list[int]:
    """Packets per size class; a class ends where the next one begins."""
    found = [0] * len(_CLASSES)
    for size, packets in histogram:
        found[max(number for number, (start, _) in enumerate(_CLASSES) if start <= size)] += packets
    return found


def sizes(pyplot: Any, group: Group, cells: dict[Cell, list[Run]]) -> Any:
    shown = {transport: list(_known(cells, transport)) for transport, _ in _TRANSPORTS}

    def draw(axes: Any, cell: Cell, runs: list[Run]) -> bool:
        typical = _typical(runs)
        if typical is None or not typical["packet_sizes"]:
            return False
        rows = shown[cell[0]]
        width = 0.85 / len(rows)
        shift = (rows.index(cell) - (len(rows) - 1) / 2) * width
        mode = modes.base(cell[2])
        axes.bar([number + shift for number in range(len(_CLASSES))], _classes(typical["packet_sizes"]), width=width, color=mode.colour,
                 hatch=mode.hatch, edgecolor="#222222", linewidth=0.4, label=_label(cell))
        axes.set_yscale("symlog", linthresh=10)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xticks(range(len(_CLASSES)), [name for _, name in _CLASSES])
        axes.grid(axis="x", visible=False)
        return True
    return _curves(pyplot, group, cells, "sizes of the server's packets, a typical run", "bytes of the frame", "packets", draw)


_KINDS = {"latency": latency, "time": over_time, "sizes": sizes}


def file_name(group: Group, kind: str) -> str:
    return re.sub(r"[^\w.-]+", "_", "-".join((*group, kind)))


def draw(result: dict[str, Any], output: Path) -> dict[Group, list[str]]:
    """Writes the pictures into output/plots; returns those of each group, relative to output."""
    pyplot = _pyplot()
    folder = output / FOLDER
    made: dict[Group, list[str]] = {}
    try:
        for group, runs in report.groups(result["runs"]).items():
            cells = report.cells(runs)
            if not any(run["valid"] for run in runs):
                continue
            for kind, make in _KINDS.items():
                figure = make(pyplot, group, cells)
                if figure is None:
                    continue
                name = file_name(group, kind)
                folder.mkdir(parents=True, exist_ok=True)
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
                pyplot.close(figure)
                made.setdefault(group, []).append(f"{FOLDER}/{name}.svg")
    except OSError as error:
        raise BenchError(f"cannot write the plots to {folder}: {error.strerror}") from None
    return made
