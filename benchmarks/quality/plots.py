"""The figures of docs/quality.md: score against evaluations, median and quartiles over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD
from benchmarks.quality.report import order, ours
from benchmarks.quality.runs import COUNTS
from benchmarks.quality.store import Results
from benchmarks.quality.tasks import TASK_PROBLEMS

IMAGES = Path(__file__).parents[2] / "docs" / "images"
COLUMNS = 4
# Regrets below the noise count as equal; the axis shows a part of them.
MIN_REGRET = NOISE_STD / 10
# The first few test losses are those of random models, far above the others.
FIRST_COUNT = 5


def draw(results: Results, folder: Path = IMAGES) -> list[Path]:
    """Draw both figures, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        figure(results, list(FUNCTION_PROBLEMS), "simple regret", folder / "quality-functions.png", MIN_REGRET),
        figure(results, list(TASK_PROBLEMS), "test loss", folder / "quality-tasks.png"),
    ]


def figure(results: Results, problems: Sequence[str], label: str, path: Path, floor: float = 0.0) -> Path:
    """Draw one panel per problem, with a line per method, and a dotted line at the noise if there is a floor."""
    names = order({method for problem, method, _ in results.runs if problem in problems})
    colors = {name: f"C{i}" for i, name in enumerate(names)} | dict.fromkeys(ours(names), "black")
    rows = -(-(len(problems) + 1) // COLUMNS)
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 8}):
        whole = Figure(figsize=(2.5 * COLUMNS, 1.9 * rows), layout="constrained")
        panels = whole.subplots(rows, COLUMNS).ravel()
        for panel, problem in zip(panels, problems, strict=False):
            for name in names:
                _line(panel, results, problem, name, colors[name], floor)
            panel.set(title=problem, xscale="log", yscale="log")
            if floor:
                panel.set_ylim(panel.get_ylim())  # the line must not stretch the axis
                panel.axhline(NOISE_STD, color="grey", linewidth=0.6, linestyle=":")
        for panel in panels[len(problems) :]:
            panel.axis("off")
        for row in range(rows):
            panels[row * COLUMNS].set_ylabel(label)
        handles = [mpl.lines.Line2D([], [], color=colors[name], label=name) for name in names]
        panels[len(problems)].legend(handles=handles, loc="center", frameon=False)
        whole.supxlabel("evaluations", fontsize=8)
        whole.savefig(path, dpi=110)
    return path


def _line(panel: Any, results: Results, problem: str, method: str, color: str, floor: float) -> None:
    traces = [
        run["observed"]
        for (of_problem, name, _), run in results.runs.items()
        if (of_problem, name) == (problem, method)
    ]
    if not traces:
        return
    first, reached = COUNTS.index(FIRST_COUNT), min(map(len, traces))
    lower, median, upper = np.percentile(np.maximum([t[first:reached] for t in traces], floor), [25, 50, 75], axis=0)
    counts = COUNTS[first:reached]
    panel.plot(counts, median, color=color, linewidth=1.2, zorder=3 if color == "black" else 2)
    panel.fill_between(counts, lower, upper, color=color, alpha=0.12, linewidth=0)
