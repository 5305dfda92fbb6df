"""The cost of a step, compared with the paper's statement: over the evaluations T, and the leaves L or fixed points A.

A tree on the unit square is split breadth-first into L leaves, T of them are evaluated in random order, none twice, and
nothing is pruned. So T and L have the intended values, unlike in a search. Two costs of the next step are measured:
that of a posterior from scratch, which the paper counts, and that of the engine, which updates its posterior. The
paper's formula is evaluated at the same sizes, with the dictionary's size for d_eff.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.state import State, expand, refactorize
from adabkb_service.engine.paper.variation import Chaining
from benchmarks.output import RESULTS, provenance, write
from benchmarks.paper import as_coded
from benchmarks.paper.authors import exact
from benchmarks.paper.experiments import SQUARE

GROWTH = RESULTS / "growth.json"
EVALUATIONS = (100, 200, 400, 800, 1600, 3200)
LEAVES = (1000, 2000, 4000, 8000)
FIXED_LEAVES, FIXED_EVALUATIONS = 4000, 400
REPEATS = 5
NOISE_STD = 0.01
FUNCTION = SQUARE["Branin"]
"""The objective, on the unit square."""
TREE = Config(kernel="gaussian", prunes=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the next step."""

    evaluations: int
    leaves: int
    dictionary: int
    scratch: float
    """Seconds for a posterior from scratch; the median of several."""
    update: float
    """Seconds for an update; the mean since the previous size, including rebuilds."""


@dataclass(frozen=True, slots=True)
class System:
    """A measured system."""

    start: Callable[[int], State]
    """Number of leaves or points -> state before the first result."""
    stated: str
    """The paper's formula for the cost of a step, as text."""
    formula: Callable[[int, int, int], float]
    """The same formula, as a function of T, L and the size of the dictionary."""


def _tree(config: Config) -> Callable[[int], State]:
    def start(leaves: int) -> State:
        state = ada_bkb.start(FUNCTION.space, config, 0)
        while state.tree.count < leaves:
            level = state.tree.leaves[state.tree.depth[state.tree.leaves] == state.tree.depth[state.tree.leaves].min()]
            for cell in level[: leaves - state.tree.count]:
                state = expand(state, int(cell))
        return state

    return start


SYSTEMS = {
    "ada-bkb": System(_tree(TREE), "(T + L) d_eff²", lambda T, L, M: (T + L) * M**2),
    "ada-gp-ucb": System(
        _tree(replace(exact(TREE), chaining=Chaining(1000, 1.0))), "T³ + L T²", lambda T, L, _: T**3 + L * T**2
    ),
    "gp-ucb": System(
        lambda points: ada_bkb.start(FUNCTION.space, replace(exact(TREE), points=points), 0),
        "T³ + A T²",
        lambda T, L, _: T**3 + L * T**2,
    ),
}


def measure(system: System, leaves: int, counts: Sequence[int], seed: int = 0) -> list[Cost]:
    """Costs after each number of evaluations in ``counts``, which are ascending."""
    rng, state, costs = np.random.default_rng(seed), system.start(leaves), []
    order = iter(rng.permutation(np.unique(state.tree.point[state.tree.leaves])))
    positions = state.points.positions.array
    for count in counts:
        updates: list[float] = []
        while len(state.points.values) < count:
            position = positions[next(order)]
            value = NOISE_STD * float(rng.standard_normal()) - FUNCTION.evaluate(position)
            before = time.thread_time()
            state = ada_bkb.observe(state, position, value).state
            updates.append(time.thread_time() - before)
        scratch = []
        for _ in range(REPEATS):
            before = time.thread_time()
            _from_scratch(state)
            scratch.append(time.thread_time() - before)
        dictionary, update = len(state.gp.sketch.dictionary), float(np.mean(updates))
        costs.append(Cost(count, state.tree.count, dictionary, float(np.median(scratch)), update))
    return costs


def _from_scratch(state: State) -> None:
    """Compute the sketch with its dictionary, or an exact posterior as in the paper, with a row per evaluation. (The
    engine's exact posterior would drop rows that are dependent in floating point.)"""
    if math.isinf(state.problem.config.qbar):
        as_coded.fit(state)
    else:
        refactorize(state, state.gp.sketch.dictionary, 0)


def run(path: Path = GROWTH) -> None:
    """Measure all systems."""
    found: dict[str, Any] = {}
    with threadpool_limits(1):
        for name, system in tqdm(SYSTEMS.items(), unit="system"):
            over_evaluations = measure(system, FIXED_LEAVES, EVALUATIONS)
            over_leaves = [cost for leaves in LEAVES for cost in measure(system, leaves, [FIXED_EVALUATIONS])]
            found[name] = {
                "evaluations": [asdict(cost) for cost in over_evaluations],
                "leaves": [asdict(cost) for cost in over_leaves],
            }
    write(path, {**provenance("benchmarks.paper growth"), "systems": found})


def exponent(costs: Sequence[Mapping[str, Any]], across: str, cost: Callable[[Mapping[str, Any]], float]) -> float:
    """The slope of ln(cost) against ln(size) at the larger sizes."""
    fitted = costs[-(len(costs) // 2 + 1) :]
    slope, _ = np.polyfit([math.log(c[across]) for c in fitted], [math.log(cost(c)) for c in fitted], 1)
    return float(slope)


def stated(name: str) -> Callable[[Mapping[str, Any]], float]:
    """The paper's formula for a system, as a function of a measured cost's sizes."""
    formula = SYSTEMS[name].formula
    return lambda cost: formula(cost["evaluations"], cost["leaves"], cost["dictionary"])


def table(systems: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> tuple[list[str], list[list[str]]]:
    """A table of costs at the largest sizes and their growth."""
    header = ["system", "the paper's cost of a step"]
    for across in ("evaluations", "leaves"):
        sign = {"evaluations": "T", "leaves": "L"}[across]
        header += [f"from scratch, ms, by {sign}", f"grows as {sign}^", "formula", "updated, ms", f"grows as {sign}^"]
    rows = []
    for name, sweeps in systems.items():
        row = [name, SYSTEMS[name].stated]
        for across, costs in sweeps.items():
            row += [f"{1e3 * costs[-1]['scratch']:,.0f}", f"{exponent(costs, across, itemgetter('scratch')):.1f}"]
            row.append(f"{exponent(costs, across, stated(name)):.1f}")
            row += [f"{1e3 * costs[-1]['update']:.1f}", f"{exponent(costs, across, itemgetter('update')):.1f}"]
        rows.append(row)
    return header, rows


def draw(systems: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], path: Path) -> Path:
    """Draw the costs over T and over L, on logarithmic axes. The curve of the paper's formula goes through the last
    point of its system."""
    with mpl.rc_context({"font.size": 7, "axes.titlesize": 8}):
        whole = Figure(figsize=(8.0, 2.6), layout="constrained")
        panels = whole.subplots(1, 2)
        titles = {
            "evaluations": f"T evaluations, {FIXED_LEAVES:,} leaves",
            "leaves": f"leaves, T = {FIXED_EVALUATIONS}",
        }
        for panel, (across, title) in zip(panels, titles.items(), strict=True):
            for number, (name, sweeps) in enumerate(systems.items()):
                costs, color = sweeps[across], f"C{number}"
                sizes, formula = [cost[across] for cost in costs], np.array([stated(name)(cost) for cost in costs])
                panel.plot(sizes, [cost["scratch"] for cost in costs], color=color, marker=".", label=name)
                panel.plot(sizes, formula * (costs[-1]["scratch"] / formula[-1]), color=color, linestyle="--")
                panel.plot(sizes, [cost["update"] for cost in costs], color=color, marker=".", linestyle=":")
            panel.set(title="seconds of a step", xlabel=title, xscale="log", yscale="log")
        styles: dict[str, LineStyleType] = {"from scratch": "-", "the paper's formula": "--", "updated": ":"}
        handles = [
            *(mpl.lines.Line2D([], [], color=f"C{number}", label=name) for number, name in enumerate(systems)),
            *(mpl.lines.Line2D([], [], color="grey", linestyle=style, label=name) for name, style in styles.items()),
        ]
        whole.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
        whole.savefig(path, dpi=100)
    return path
