"""The figures of docs/paper.md, laid out as the paper's: average regret, cumulative time and leaf set by evaluation.

Lines are means over the repetitions with 95% intervals. A red dashed line is the mean step at which Ada-BKB's early
stop first held, if it did in every repetition; a cross is where the authors' runs ended, in regret and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import t

from benchmarks.functions import Array
from benchmarks.paper import authors
from benchmarks.paper.experiments import AUTO, EXPERIMENTS
from benchmarks.paper.store import Key

IMAGES = Path(__file__).parents[2] / "docs" / "images"
COLUMNS = {"regrets": "average regret", "times": "cumulative seconds", "leaves": "leaf set"}
PALETTE = ("C0", "C1", "C2", "C4", "C5", "C6", "C8", "C9")
"""Colors of the systems; red marks the early stop."""
ROWS = 6
"""Problems per figure."""
Runs = Mapping[Key, Mapping[str, Any]]


def draw(runs: Runs, folder: Path = IMAGES) -> list[Path]:
    """Write figures of all runs, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 8}):
        for name, whole in figures(runs):
            whole.savefig(folder / name, dpi=100)
            drawn.append(folder / name)
    return drawn


def figures(runs: Runs) -> Iterator[tuple[str, Figure]]:
    """Names and figures: one per experiment with runs, or several if it has many problems."""
    for experiment, found in EXPERIMENTS.items():
        there = [problem for problem in found.problems if any(key[:2] == (experiment, problem) for key in runs)]
        pages = [there[start : start + ROWS] for start in range(0, len(there), ROWS)]
        for number, problems in enumerate(pages, 1):
            name = f"paper-{experiment}-{number}.png" if len(pages) > 1 else f"paper-{experiment}.png"
            yield name, figure(runs, experiment, problems)


def figure(runs: Runs, experiment: str, problems: Sequence[str]) -> Figure:
    """A figure with one row per problem."""
    whole = Figure(figsize=(8.0, 0.6 + 1.6 * len(problems)), layout="constrained")
    panels = whole.subplots(len(problems), len(COLUMNS), squeeze=False)
    legends = []
    for row, problem in zip(panels, problems, strict=True):
        variants = EXPERIMENTS[experiment].variants(problem)
        names = [name for name in variants if _of(runs, experiment, problem, name)]
        colors = dict(zip((name for name in names if name != AUTO), PALETTE, strict=False)) | {AUTO: "black"}
        for panel, (quantity, label) in zip(row, COLUMNS.items(), strict=True):
            for name in names:
                _line(panel, _of(runs, experiment, problem, name), quantity, colors[name])
            panel.set(title=f"{problem}: {label}", yscale="log", xlabel="evaluations" if row is panels[-1] else "")
            _mark_stop(panel, _of(runs, experiment, problem, "ada-bkb"))
        if experiment == "functions":
            _cross(row, problem, colors)
        legends.append({name: colors[name] for name in names})
    widest = max(legends, key=len)
    if all(legend.items() <= widest.items() for legend in legends):
        _legend(whole, widest, loc="outside upper center", ncols=len(widest))
    else:
        for row, legend in zip(panels, legends, strict=True):
            _legend(row[0], legend, fontsize=5)
    return whole


def _legend(where: Any, colors: Mapping[str, str], **options: Any) -> None:
    handles = [mpl.lines.Line2D([], [], color=color, label=name) for name, color in colors.items()]
    where.legend(handles=handles, frameon=False, **options)


def _of(runs: Runs, *which: str) -> list[Mapping[str, Any]]:
    return [run for key, run in sorted(runs.items()) if key[:3] == which]


def _line(panel: Any, runs: Sequence[Mapping[str, Any]], quantity: str, color: str) -> None:
    """Draw the line up to the last step of the shortest repetition."""
    if not runs:
        return
    common = sorted(set.intersection(*(set(run["at"]) for run in runs)))
    values = np.array([[run[quantity][run["at"].index(count)] for count in common] for run in runs], dtype=float)
    mean, half = interval(values)
    panel.plot(common, mean, color=color, linewidth=1.1)
    low = np.maximum(mean - half, values.min(axis=0) / 10)  # the axis is logarithmic
    panel.fill_between(common, low, mean + half, color=color, alpha=0.15, linewidth=0)


def interval(values: Array) -> tuple[Array, Array]:
    """Mean over the repetitions, (n, k) -> (k,), and half its 95% interval, by Student's t."""
    n = len(values)
    if n == 1:
        return values[0], np.zeros(values.shape[1])
    return values.mean(axis=0), t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)


def _mark_stop(panel: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    stops = [run["first_early_stop"] for run in runs]
    if stops and None not in stops:
        panel.axvline(float(np.mean(stops)), color="red", linewidth=0.8, linestyle="--")


def _cross(row: Sequence[Any], problem: str, colors: Mapping[str, str]) -> None:
    for system in authors.SYSTEMS:
        measured = authors.results(problem, system)
        if measured is not None and system in colors:
            for panel, end in zip(row, (measured["average_regret"], measured["seconds"]), strict=False):
                panel.plot(measured["steps"], end, marker="x", markersize=4, color=colors[system])
