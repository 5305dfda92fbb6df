"""``python -m benchmarks.outcomes.report``: the figures of docs/outcomes.md, from the committed results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.functions import Array
from benchmarks.outcomes import (
    catalogues,
    conditions,
    constraints,
    contexts,
    costs,
    drift,
    exclusions,
    failures,
    metrics,
    mixtures,
    objectives,
    partial,
    periodic,
    plates,
    priors,
    reports,
    rows,
    runs,
    transfer,
)
from benchmarks.output import RESULTS
from benchmarks.quality import plots, store

IMAGES = plots.IMAGES
COLUMNS = 4
BENCHMARKS: Mapping[str, Callable[[], runs.Benchmark]] = {
    "constraints": constraints.benchmark,
    "metrics": metrics.benchmark,
    "objectives": objectives.benchmark,
    "reports": reports.benchmark,
    "priors": priors.benchmark,
    "transfer": transfer.benchmark,
    "costs": costs.benchmark,
    "periodic": periodic.benchmark,
    "mixtures": mixtures.benchmark,
    "plates": plates.benchmark,
    "drift": drift.benchmark,
    "partial": partial.benchmark,
}


OTHERS: Mapping[str, tuple[Callable[[Path], Iterable[runs.Table]], Path]] = {
    "conditions": (conditions.tables, conditions.OUT),
    "catalogues": (catalogues.tables, catalogues.OUT),
    "rows": (rows.tables, rows.OUT),
    "exclusions": (exclusions.tables, exclusions.OUT),
    "contexts": (contexts.tables, contexts.OUT),
    "failures-peers": (failures.tables, RESULTS / "outcomes-failures-peers.json"),
    "plates-controls": (plates.tables, RESULTS / "outcomes-plates-controls.json"),
    "plates-peers": (plates.tables, RESULTS / "outcomes-plates-peers.json"),
    "constraints-peers": (constraints.peer_tables, constraints.PEERS_OUT),
    "metrics-peers": (metrics.peer_tables, metrics.PEERS_OUT),
    "objectives-peers": (objectives.peer_tables, objectives.PEERS_OUT),
}
"""Tables of results of other kinds, and their files."""
MEASURED = (*OTHERS, *BENCHMARKS)


def tables(name: str) -> Iterable[runs.Table]:
    """The tables of a benchmark, from the committed results."""
    if name in OTHERS:
        make, path = OTHERS[name]
        return make(path)
    benchmark = BENCHMARKS[name]()
    return benchmark.tables(benchmark.out)


def draw(folder: Path = IMAGES) -> list[Path]:
    """Draw a figure for each benchmark with results."""
    folder.mkdir(parents=True, exist_ok=True)
    conditional = sorted({problem for problem, *_ in store.load(conditions.OUT).runs})
    drawn = [
        plots.figure(
            store.load(conditions.OUT),
            conditional,
            "regret or loss",
            folder / "outcomes-conditions.png",
            conditions.FLOOR,
        )
    ]
    for name, make in BENCHMARKS.items():
        benchmark = make()
        found = runs.comparable(benchmark.out, benchmark.problems, benchmark.methods, benchmark.problem_word)
        if found.seeds:
            drawn.append(figure(found, benchmark.axes, folder / f"outcomes-{name}.png"))
    return drawn


def figure(found: runs.Found, axes: runs.Axes, path: Path) -> Path:
    """Draw one panel per problem, with the median over seeds and the quartiles of each method."""
    rows = -(-len(found.problems) // COLUMNS)
    colors = {name: "black" if name == found.methods[0] else f"C{i}" for i, name in enumerate(found.methods)}
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 8}):
        whole = Figure(figsize=(2.5 * COLUMNS, 1.9 * rows), layout="constrained")
        panels = whole.subplots(rows, COLUMNS, squeeze=False).ravel()
        for panel, problem in zip(panels, found.problems, strict=False):
            for method in found.methods:
                _line(panel, found.of(problem, method), axes, colors[method])
            panel.set(title=problem, yscale=axes.y_scale)
        for panel in panels[len(found.problems) :]:
            panel.axis("off")
        handles = [mpl.lines.Line2D([], [], color=color, label=name) for name, color in colors.items()]
        whole.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
        whole.supxlabel(axes.x_label, fontsize=8)
        whole.supylabel(axes.y_label, fontsize=8)
        whole.savefig(path, dpi=110)
    return path


def _line(panel: Any, found: Sequence[Mapping[str, Any]], axes: runs.Axes, color: str) -> None:
    """Draw a method. Infinite values, before the first result that counts, are left out."""
    courses = [_course(run, axes) for run in found]
    grid = np.unique(np.concatenate([x for x, _ in courses]))
    grid = grid[(grid >= max(x[0] for x, _ in courses)) & (grid <= min(x[-1] for x, _ in courses))]
    values = np.array([y[np.searchsorted(x, grid, side="right") - 1] for x, y in courses])
    lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    shown = np.isfinite(median)
    panel.plot(grid[shown], median[shown], color=color, linewidth=1.2)
    shown &= np.isfinite(upper)
    panel.fill_between(grid[shown], lower[shown], upper[shown], color=color, alpha=0.12, linewidth=0)


def _course(run: Mapping[str, Any], axes: runs.Axes) -> tuple[Array, Array]:
    """The x and y coordinates of a run, (n,) each."""
    y = np.array([math.inf if value is None else value for value in run[axes.y]], dtype=np.float64)
    return (np.arange(1.0, len(y) + 1) if axes.x is None else np.array(run[axes.x], dtype=np.float64)), y


if __name__ == "__main__":
    for path in draw():
        print(path)
