"""The pictures of docs/concepts/pictures.md and of docs/start.md, of real runs.

``python -m tools.pictures.concepts`` draws them.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from adabkb_client import Algorithm, Client, Float, Study
from tests.acceptance.docs import blocks
from tests.servers import server_on

IMAGES = blocks.DOCS / "images"
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "adabkb", "axes.spines.top": False, "axes.spines.right": False}
TEAL, LIGHT, AMBER, GREY = "#0b6b70", "#9fd3d5", "#e08a00", "0.55"
GRID = [step / 120 for step in range(121)]
PAPER: Algorithm = {"profile": "paper", "norm_bound": 5, "noise_std": 0.005, "lengthscale": 0.15}

Cell = dict[str, Any]


def hills(x: float) -> float:
    """A low hill at 0.3 and a high one at 0.75."""
    return 0.6 * exp(-(((x - 0.3) / 0.15) ** 2)) + exp(-(((x - 0.75) / 0.12) ** 2))


def valley(x: float, y: float) -> float:
    """A valley along a curve, lowest at (0.7, 0.6)."""
    return (x - 0.7) ** 2 + 6 * (y - 0.2 - 0.8 * x**2 - 0.008) ** 2


def posterior(client: Client) -> Figure:
    """Mean and interval of one parameter, after three and after eight results."""
    study = client.create_study("posterior", {"x": Float(0, 1)}, direction="maximize", budget=8, seed=3)
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    for axes, results in zip(figure.subplots(1, 2, sharey=True), (3, 8), strict=True):
        study.run(hills, n_trials=results - study.info().counts.completed)
        predicted = study.predict([{"x": x} for x in GRID])
        axes.fill_between(
            GRID, [p.lcb for p in predicted], [p.ucb for p in predicted], color=LIGHT, lw=0, label="90% interval"
        )
        axes.plot(GRID, [p.mean for p in predicted], color=TEAL, label="mean")
        axes.plot(GRID, [hills(x) for x in GRID], color=GREY, ls=":", label="the function, unknown")
        _dots(axes, study)
        axes.set(title=f"after {results} results", xlabel="parameter")
    axes.legend(frameon=False, fontsize=8)
    return figure


def tree(client: Client) -> Figure:
    """Cells of two parameters as results accumulate."""
    parameters = {"x": Float(0, 1), "y": Float(0, 1)}
    study = client.create_study("tree", parameters, direction="minimize", budget=25, seed=1)
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    for axes, results in zip(figure.subplots(1, 3), (6, 12, 25), strict=True):
        study.run(valley, n_trials=results - study.info().counts.completed)
        for cell in study.partition("leaf"):
            _box(axes, dict(cell))
        points = [seen.parameters for seen in study.observations()]
        axes.plot([p["x"] for p in points], [p["y"] for p in points], ".", color=AMBER, ms=5)
        best = study.best()
        assert best is not None
        axes.plot(best.parameters["x"], best.parameters["y"], "*", color="black", ms=11)
        axes.set(xlim=(0, 1), ylim=(0, 1), title=f"after {results} results", aspect="equal", xticks=[], yticks=[])
    return figure


def index(client: Client) -> Figure:
    """The index of each cell of one parameter, in its two parts."""
    study = _by_the_paper(client, "index", 9)
    figure, axes, cells = _bars(study)
    for cell in cells:
        (at,) = study.predict([cell["centroid"]])
        _bar(axes, cell, min(at.ucb, cell["index"]), cell["index"], LIGHT)
        _bar(axes, cell, FLOOR, min(at.ucb, cell["index"]), TEAL)
    highest = max(cells, key=lambda cell: cell["index"])
    middle = highest["centroid"]["x"]
    axes.annotate("next", (middle, highest["index"]), (middle, highest["index"] + 0.25), ha="center", arrowprops=ARROW)
    return figure


def certificate(client: Client) -> Figure:
    """The indices of all cells over the largest lower bound; what is between them is the gap."""
    study = _by_the_paper(client, "certificate", 14)
    figure, axes, cells = _bars(study)
    for cell in cells:
        _bar(axes, cell, FLOOR, cell["index"], LIGHT)
    for cell in map(dict, study.partition("pruned")):
        _bar(axes, cell, FLOOR, FLOOR + 0.3, "0.9", hatch="////")
    gap, top = study.info().gap, max(cell["index"] for cell in cells)
    assert gap is not None
    axes.axhline(top - gap, color="black", ls="--", lw=1)
    axes.text(0.01, top - gap + 0.06, "best lower bound", fontsize=9)
    middle = next(cell for cell in cells if cell["index"] == top)["centroid"]["x"]
    axes.annotate("", (middle, top), (middle, top - gap), arrowprops={"arrowstyle": "<->", "color": AMBER, "lw": 2})
    axes.text(middle + 0.012, top - gap / 2, "gap", color=AMBER, va="center")
    return figure


FLOOR = -0.6
ARROW = {"arrowstyle": "->", "color": AMBER, "lw": 2}
PICTURES: dict[str, Callable[[Client], Figure]] = {
    "concept-posterior": posterior,
    "concept-tree": tree,
    "concept-index": index,
    "concept-certificate": certificate,
}


def _by_the_paper(client: Client, name: str, results: int) -> Study:
    study = client.create_study(name, {"x": Float(0, 1)}, direction="maximize", budget=results, seed=1, algorithm=PAPER)
    study.run(hills)
    return study


def _bars(study: Study) -> tuple[Figure, Axes, list[Cell]]:
    """A figure of one parameter with the function and the results, and the leaves to draw on it."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(GRID, [hills(x) for x in GRID], color=GREY, ls=":")
    _dots(axes, study)
    cells: list[Cell] = [{**cell} for cell in study.partition("leaf")]
    top = max(cell["index"] for cell in cells)
    axes.set(xlim=(0, 1), ylim=(FLOOR, top + 0.4), xlabel="parameter", yticks=[])
    return figure, axes, cells


def _bar(axes: Axes, cell: Cell, low: float, high: float, colour: str, hatch: str | None = None) -> None:
    left, right = cell["low"]["x"], cell["high"]["x"]
    style: Any = {"facecolor": colour, "edgecolor": "0.7" if hatch else "white", "hatch": hatch, "alpha": 0.75}
    axes.add_patch(Rectangle((left, low), right - left, high - low, **style))


def _box(axes: Axes, cell: Cell) -> None:
    (left, bottom), (right, top) = ([cell[end][name] for name in ("x", "y")] for end in ("low", "high"))
    axes.add_patch(Rectangle((left, bottom), right - left, top - bottom, lw=0.7, facecolor=LIGHT, edgecolor="white"))


def _dots(axes: Axes, study: Study) -> None:
    seen = list(study.observations())
    axes.plot([s.parameters["x"] for s in seen], [s.value or 0.0 for s in seen], "o", color=AMBER, ms=5, zorder=4)


def draw(folder: Path, address: str) -> None:
    """Write all pictures as SVG. Equal numbers give equal files."""
    with mpl.rc_context(STYLE), Client(address) as client:
        for name, make in PICTURES.items():
            make(client).savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), mpl.rc_context(STYLE):
        with server_on(f"sqlite:///{name}/adabkb.db") as url:
            draw(IMAGES, url)
        blocks.run_python(blocks.DOCS / "start.md")
        shutil.copy("history.svg", IMAGES / "start-history.svg")
