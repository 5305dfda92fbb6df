"""How the cost grows with the evaluations, beside what the paper states.

On Hartmann 6 in the unit cube with the default constants of the ``paper`` profile, under which most evaluations are of
new points, in a tree of at most twelve levels. Two costs at T evaluations: the seconds of all steps so far as the
engine takes them, by updates; and those of one step that starts from scratch, as the paper counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.confidence import Chaining
from adabkb_service.engine.config import Config
from adabkb_service.engine.policies import ada_bkb
from adabkb_service.engine.state import refresh
from benchmarks.output import RESULTS, provenance, write
from benchmarks.paper.authors import exact
from benchmarks.paper.functions import FUNCTIONS

GROWTH = RESULTS / "growth.json"
COUNTS = (50, 100, 200, 400, 800)
FIRST_FITTED = 100
"""Exponents are fitted from here on: before, calls cost more than numbers."""
NOISE_STD = 0.01
TREE = Config(max_depth=12)
SYSTEMS: dict[str, tuple[Config, str, str]] = {
    "ada-bkb": (TREE, "T² d_eff² h_max", "d_eff² L"),
    "ada-gp-ucb": (
        replace(exact(TREE), chaining=Chaining(max(COUNTS), 1.0), prunes=False, beta=0.03),
        "T⁴ (N − 1) h_max",
        "T³ + L T²",
    ),
    "gp-ucb": (replace(exact(Config()), points_per_axis=4), "T³ A", "T³ + A T²"),
}
"""Constants, and the paper's complexity: of T steps, and of one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """After some evaluations."""

    evaluations: int
    seconds: float
    """Of all steps."""
    scratch: float
    """Of one from scratch."""
    leaves: int
    dictionary: int


def measure(config: Config, seed: int = 0) -> list[Cost]:
    """A run's costs at ``COUNTS``."""
    function, rng = FUNCTIONS["Hartmann_6"], np.random.default_rng(seed)
    state, nothing = ada_bkb.start(function.space, config, seed), np.zeros((0, function.dimension))
    seconds, costs = 0.0, []
    for step in range(1, max(COUNTS) + 1):
        before = time.thread_time()
        suggestion = ada_bkb.suggest(state, nothing)
        seconds += time.thread_time() - before
        value = -function.evaluate(suggestion.point) + NOISE_STD * float(rng.standard_normal())
        before = time.thread_time()
        state = ada_bkb.observe(suggestion.state, suggestion.point, value).state
        seconds += time.thread_time() - before
        if step in COUNTS:
            before = time.thread_time()
            refresh(state, state.view.sketch.dictionary, 0)
            scratch = time.thread_time() - before
            costs.append(Cost(step, seconds, scratch, state.tree.count, len(state.view.sketch.dictionary)))
    return costs


def run(path: Path = GROWTH) -> None:
    """Measure all systems."""
    with threadpool_limits(1):
        found = {name: [asdict(cost) for cost in measure(SYSTEMS[name][0])] for name in tqdm(SYSTEMS, unit="system")}
    write(path, {**provenance("benchmarks.paper"), "systems": found})


def exponent(costs: Sequence[Mapping[str, Any]], quantity: str) -> float:
    """The slope of ln(quantity) over ln T."""
    fitted = [cost for cost in costs if cost["evaluations"] >= FIRST_FITTED]
    slope, _ = np.polyfit([math.log(c["evaluations"]) for c in fitted], [math.log(c[quantity]) for c in fitted], 1)
    return float(slope)


def table(systems: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[list[str], list[list[str]]]:
    """Costs at the largest T and how they grow."""
    header = ["system", "T steps, s", "grows as T^", "paper", "one from scratch, ms", "grows as T^", "paper"]
    rows = []
    for name, costs in systems.items():
        _, stated, stated_step = SYSTEMS[name]
        last = costs[-1]
        row = [name, f"{last['seconds']:.2f}", f"{exponent(costs, 'seconds'):.1f}", stated]
        rows.append([*row, f"{1e3 * last['scratch']:.0f}", f"{exponent(costs, 'scratch'):.1f}", stated_step])
        rows[-1] += [f"{last['leaves']:,}", f"{last['dictionary']}"]
    return [*header, "leaves or points", "dictionary"], rows


def draw(systems: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> Path:
    """Both costs over T, and that of a step over the leaves, on logarithmic axes."""
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 8}):
        whole = Figure(figsize=(8.0, 2.4), layout="constrained")
        panels = whole.subplots(1, 3)
        shown = (
            ("evaluations", "seconds", "all steps"),
            ("evaluations", "scratch", "one step from scratch"),
            ("leaves", "scratch", "the same, by leaves"),
        )
        for panel, (across, up, title) in zip(panels, shown, strict=True):
            for name, costs in systems.items():
                panel.plot([c[across] for c in costs], [c[up] for c in costs], marker=".", linewidth=1.1, label=name)
            panel.set(title=f"{title}: seconds", xlabel=across, xscale="log", yscale="log")
        panels[0].legend(frameon=False)
        whole.savefig(path, dpi=100)
    return path
