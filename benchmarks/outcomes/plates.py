"""``python -m benchmarks.outcomes.plates``: plates of reactions from the table of direct arylation.

The 12 wells of a plate share temperature and concentration, and differ in base, ligand and solvent; or they share
no parameter, like the experiments of a day. Each plate has an offset, which is added to the yields of all its wells.
Offsets are normal, with a standard deviation of 0 to 20 points of yield. Each well has noise of 3 points. ``learned``
knows which results are of which plate, and learns the size of the offsets. ``ignored`` is the same engine without this
knowledge. ``random`` draws plates at random, and recommends the best result. ``control`` is ``learned`` with a
control in one of the 12 wells, which has the same base, ligand and solvent on each plate. ``baybe`` is BayBE, which
does not know plates: each one is a batch, and its first well determines what the others share. Methods are compared by
the yield of the recommended point, as it is in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.output import RESULTS
from benchmarks.quality.nature.descriptors import ARYLATION
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-plates.json"
METHODS = ("learned", "ignored", "random")
CONTROL, PEER = "control", "baybe"
"""Optional methods, for ``--methods``."""
SHARED = {"shared": ("concentration", "temperature"), "apart": ()}
"""What the wells of a plate share, by kind of problem."""
OFFSETS = (0, 5, 10, 20)
"""Standard deviations of the offsets of plates, in points of yield."""
PROBLEMS = tuple(f"{kind}, offsets of {size}" for kind in SHARED for size in OFFSETS)
SIZE = 12
NOISE = 3.0
"""Standard deviation of the noise of a well, in points of yield."""
COUNTS = (2, 4, 8)
"""Plates after which methods are compared."""
SEEDS = 30


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the true yield of the recommended point after each plate, and of the best well so far."""
        instance, rng = ARYLATION.draw(self.seed), generator(f"plates {self.problem}", self.seed)
        kind, _, size = self.problem.partition(", offsets of ")
        space, names = instance.space, SHARED[kind]
        offsets = float(size) * rng.standard_normal(self.budget)
        noises = NOISE * rng.standard_normal((self.budget, SIZE))
        if self.method == PEER:
            return self._by_peer(instance, names, offsets[:, None] + noises)
        state = auto.start(space, Config(has_plates=self.method in ("learned", CONTROL)), self.seed)
        results: list[tuple[float, float]] = []
        recommended, best = [], []
        for plate in range(self.budget):
            count = SIZE - 1 if self.method == CONTROL else SIZE
            points = drawn(space, names, rng) if self.method == "random" else chosen(state, names, count)
            if self.method == CONTROL:
                points.append(control(space, shared(space.decode(points[0]), names)))
            for well, point in enumerate(points):
                truth = -instance.evaluate(space.decode(point)).value
                value = truth + float(offsets[plate] + noises[plate, well])
                results.append((value, truth))
                if self.method != "random":
                    state = auto.observe(state, point, value, plate=plate).state
            recommended.append(max(results)[1] if self.method == "random" else recommendation(state, instance))
            best.append(max(truth for _, truth in results))
        return {"recommended": recommended, "best": best}

    def _by_peer(self, instance: Any, names: Sequence[str], errors: Array) -> dict[str, Any]:
        """Return the same of BayBE, given the errors (plates, wells) of the results."""
        from benchmarks.outcomes.plate_peers import BaybePlates  # noqa: PLC0415 (only where it runs)

        peer, recommended, best = BaybePlates(instance.space, names, SIZE, self.seed), [], [-math.inf]
        for plate in range(self.budget):
            points = peer.plate()
            truths = np.array([-instance.evaluate(point).value for point in points])
            peer.tell(points, (truths + errors[plate]).tolist())
            recommended.append(float(-instance.evaluate(peer.recommendation()).value))
            best.append(max(best[-1], float(truths.max())))
        return {"recommended": recommended, "best": best[1:]}


def chosen(state: State, names: Sequence[str], count: int = SIZE) -> list[Array]:
    """The first points of the next plate. The first one determines the shared values."""
    none = np.zeros((0, state.problem.space.dimension))
    if not names:
        return [each.point for each in islice(auto.suggestions(state, none), count)]
    first = next(auto.suggestions(state, none))
    within = Slice(state.problem.space, shared(state.problem.space.decode(first.point), names))
    rest = auto.suggestions_within(first.state, within, first.point[None])
    return [first.point, *(each.point for each in islice(rest, count - 1))]


def control(space: Space, values: Mapping[str, Any]) -> Array:
    """The reference reaction, with the shared values of a plate."""
    return space.encode({**space.decode(np.full(space.dimension, 0.5)), **values})


def drawn(space: Space, names: Sequence[str], rng: np.random.Generator) -> list[Array]:
    """Random points of a plate, with the same shared values."""
    seed = int(rng.integers(2**31))
    within = Slice(space, shared(space.decode(Slice(space, {}).drawn(seed, 0)), names))
    points = {within.drawn(seed, step).tobytes(): within.drawn(seed, step) for step in range(1, 20 * SIZE)}
    return list(points.values())[:SIZE]


def shared(parameters: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values that a plate with this point shares."""
    return {name: parameters[name] for name in names}


def recommendation(state: State, instance: Any) -> float:
    """The true yield of the recommended point."""
    found = auto.recommend(state)
    assert found is not None
    return float(-instance.evaluate(state.problem.space.decode(found.point)).value)


def tables(path: Path) -> Iterator[runs.Table]:
    """The median yields per problem, and the mean difference with its standard error."""
    found = runs.comparable(path, PROBLEMS, (*METHODS, CONTROL, PEER))
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = [
                np.array([run["recommended"][:count][-1] for run in found.of(problem, name)]) for name in found.methods
            ]
            cells = [f"{np.median(of):.1f} ({np.quantile(of, 0.1):.1f})" for of in each]
            better, worse = int((each[0] > each[1]).sum()), int((each[0] < each[1]).sum())
            means = f"{each[0].mean() - each[1].mean():+.1f} ({(each[0] - each[1]).std() / len(each[0]) ** 0.5:.1f})"
            rows.append([problem, *cells, means, f"{better}, {worse}"])
        header = [
            "problem",
            *found.methods,
            f"{' minus '.join(found.methods[:2])}, mean (standard error)",
            runs.against_name(*found.methods[:2]),
        ]
        title = f"Yield after {count} plates, median (10% quantile)"
        yield runs.Table(f"{title} of {len(found.seeds)} seeds", header, rows)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.plates",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("recommended", "yield of the recommended point", x_label="plates"),
        budget=max(COUNTS),
        packages={PEER: ("baybe", "botorch")},
        separator=";",
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
