"""``python -m benchmarks.outcomes.mixtures``: formulas whose shares sum to one, declared as a mixture.

The other methods are the same search without the last share, random formulas, Ax and BayBE.

Without the last share, a constraint lets the others sum to at most 1. It cannot express a limit on the number of
components, or a smallest share. In problems with these, the nearest possible formula is evaluated in place of an
impossible suggestion, and the result is reported for the formula that was evaluated.

Each seed draws the coefficients. *Blends* are Scheffe's polynomials with terms of two and three components. *Targets*
reward formulas that have a low cost, and whose three properties are near given values. A property is a mean of those of
the components, linear or on a log scale. *Octane* is the motor octane number of blends of hydrocarbons and ethanol,
predicted by a Gaussian process of measured blends, minus a price that the seed draws. The regret is 0 at the best
formula, and 1 at the median value of random formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.simplex import Simplex, simplex
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.output import RESULTS
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-mixtures.json"
OCTANE = Path(__file__).parents[1] / "quality" / "data" / "nature" / "octane.csv.gz"
WHOLE = 0.9989
"""Smallest sum of shares of a blend of the chosen components; some sources round them."""
METHODS = ("mixture", "last share", "random")
PEERS = ("ax", "baybe")
COUNTS = (15, 30, 50)
"""Evaluations after which methods are compared."""
SEEDS = 10
PEER_COUNTS = (15, 30)
"""The same for the peers, which take seconds for each suggestion."""
FLOOR = 1e-6
"""Regrets below this value count as equal."""
STARTS, STEPS = 400, 250
"""Numbers of starts and steps of the search for the best formula."""


def blend(rng: np.random.Generator, components: int) -> Callable[[Array], Array]:
    """A polynomial of the shares (k, n), with terms of pairs and some of three components."""
    n = components
    linear, pairs = rng.normal(size=n), np.triu(rng.normal(size=(n, n)) * 3.0, 1)
    pairs *= rng.random((n, n)) < min(1.0, 6.0 / n)
    triples = [(rng.choice(n, 3, replace=False), float(rng.normal() * 8.0)) for _ in range(n)]

    def value(shares: Array) -> Array:
        found: Array = shares @ linear + np.einsum("ki,ij,kj->k", shares, pairs, shares)
        for three, size in triples:
            found += size * shares[:, three].prod(axis=1)
        return found

    return value


def target(rng: np.random.Generator, components: int) -> Callable[[Array], Array]:
    """Minus the squared distance of three properties from those of an unknown formula, minus the cost of the
    components."""
    properties = rng.normal(size=(3, components))
    aim = rng.dirichlet(np.ones(components) * min(1.0, 4.0 / components))
    costs = 0.1 * rng.random(components)

    def all_of(shares: Array) -> Array:
        found = shares @ properties.T
        found[:, 2] = np.log(shares @ np.exp(properties[2]))
        return found

    wanted = all_of(aim[None])

    def value(shares: Array) -> Array:
        found: Array = -((all_of(shares) - wanted) ** 2).sum(axis=1) - shares @ costs
        return found

    return value


def octane(rng: np.random.Generator, components: int) -> Callable[[Array], Array]:
    """The octane number of blends of the components that are most frequent in the measured ones, less their price: each
    costs 40% to 80% of its own octane number."""
    number = octane_number(components)
    prices = number(np.eye(components)) * rng.uniform(0.4, 0.8, components)
    return lambda shares: number(shares) - shares @ prices


@cache
def octane_number(components: int) -> Callable[[Array], Array]:
    """The mean of a Gaussian process of the measured blends of the first components."""
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415 (slow to import)
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel  # noqa: PLC0415

    measured = np.loadtxt(OCTANE, delimiter=",", skiprows=1)
    shares, numbers = measured[:, :components], measured[:, -1]
    is_blend = shares.sum(axis=1) > WHOLE
    kernel = ConstantKernel(1.0) * RBF(np.full(components, 0.5)) + WhiteKernel(0.01)
    fitted = GaussianProcessRegressor(kernel, normalize_y=True).fit(shares[is_blend], numbers[is_blend])
    return cast("Callable[[Array], Array]", fitted.predict)


@dataclass(frozen=True)
class Formula:
    """A kind of function of the shares, and the number of components."""

    make: Callable[[np.random.Generator, int], Callable[[Array], Array]]
    components: int
    at_most: int | None = None
    least: float = 0.0

    @cached_property
    def space(self) -> Space:
        """The space with the mixture."""
        axes = tuple(FloatAxis(f"c{number}", 0.0, 1.0) for number in range(self.components))
        names = tuple(axis.name for axis in axes)
        return Space(axes, mixtures=(Mixture(names, 1.0, self.at_most, self.least),))

    @cached_property
    def without_last(self) -> Space:
        """The space of all shares but one, as far as a constraint can express the mixture."""
        axes = self.space.axes[:-1]
        return Space(axes, (Constraint(f"{' + '.join(axis.name for axis in axes)} <= 1"),))

    @cached_property
    def simplex(self) -> Simplex:
        """The set of possible formulas."""
        return simplex(self.space, self.space.mixtures[0], {})


PROBLEMS: Mapping[str, Formula] = {
    "blend of 3": Formula(blend, 3),
    "blend of 7": Formula(blend, 7),
    "blend of 15": Formula(blend, 15),
    "target of 7": Formula(target, 7),
    "target of 15": Formula(target, 15),
    "octane of 7": Formula(octane, 7),
    "octane of 15": Formula(octane, 15),
    "blend, 3 of 7": Formula(blend, 7, 3, 0.05),
    "blend, 3 of 15": Formula(blend, 15, 3, 0.05),
    "target, 4 of 15": Formula(target, 15, 4, 0.05),
}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = max(COUNTS)

    def run(self) -> dict[str, Any]:
        """Return the smallest regret after each evaluation, as a share."""
        formula = PROBLEMS[self.problem]
        function = formula.make(generator(f"mixture {self.problem}", self.seed), formula.components)
        best, usual = ends(formula, function)
        shares = SOLVERS[self.method](formula, function, self.seed, self.budget)
        regrets = (best - function(shares)) / (best - usual)
        return {"best": [float(f"{max(each, 0.0):.4g}") for each in np.minimum.accumulate(regrets)]}


def ends(formula: Formula, function: Callable[[Array], Array]) -> tuple[float, float]:
    """The largest value of a function of formulas, and the median value of random formulas."""
    within, usual = formula.simplex, float(np.median(function(formula.simplex.drawn((0, 0), 20_000))))
    many = within.drawn((1, 0), 20_000)
    x = many[np.argsort(-function(many))[:STARTS]]
    size, values = np.full(len(x), 0.05), function(x)
    for _ in range(STEPS):
        slopes = np.stack([(function(x + 1e-6 * one) - values) / 1e-6 for one in np.eye(formula.components)], axis=1)
        slopes /= np.linalg.norm(slopes, axis=1, keepdims=True) + 1e-12
        moved = within.projected(x + size[:, None] * slopes)
        after = function(moved)
        better = after > values
        x[better], values[better] = moved[better], after[better]
        size = np.where(better, size * 1.5, size * 0.5)
    return float(values.max()), usual


def mixture(formula: Formula, function: Callable[[Array], Array], seed: int, budget: int) -> Array:
    """The formulas that ``auto`` suggests with a mixture, (budget, n)."""
    return _searched(formula.space, function, seed, budget, lambda shares: shares)


def last_share(formula: Formula, function: Callable[[Array], Array], seed: int, budget: int) -> Array:
    """The formulas that ``auto`` suggests without the last share, which the others determine, (budget, n)."""

    def made(shares: Array) -> Array:
        whole = np.append(shares, max(1.0 - shares.sum(), 0.0))
        return whole if formula.simplex.mixture.is_convex else formula.simplex.projected(whole[None])[0]

    return _searched(formula.without_last, function, seed, budget, made)


def _searched(
    space: Space, function: Callable[[Array], Array], seed: int, budget: int, made: Callable[[Array], Array]
) -> Array:
    """The formulas made from the suggestions of ``auto`` in a space, (budget, n)."""
    state, none, names = auto.start(space, Config(), seed), np.zeros((0, space.dimension)), [a.name for a in space.axes]
    found = []
    for _ in range(budget):
        suggestion = auto.suggest(state, none)
        point = space.decode(suggestion.point)
        found.append(made(np.array([point[name] for name in names], dtype=np.float64)))
        evaluated = space.encode(dict(zip(names, found[-1].tolist(), strict=False)))
        state = auto.observe(suggestion.state, evaluated, float(function(found[-1][None])[0])).state
    return np.array(found)


def random(formula: Formula, function: Callable[[Array], Array], seed: int, budget: int) -> Array:  # noqa: ARG001
    """Random formulas."""
    return formula.simplex.drawn((seed, 0), budget)


def _peer(name: str, formula: Formula, function: Callable[[Array], Array], seed: int, budget: int) -> Array:
    """The formulas that a peer suggests."""
    solver = getattr(import_module("benchmarks.outcomes.mixture_peers"), name)
    found: Array = solver([axis.name for axis in formula.space.axes], function, seed, budget)
    return found


SOLVERS: Mapping[str, Callable[[Formula, Callable[[Array], Array], int, int], Array]] = {
    "mixture": mixture,
    "last share": last_share,
    "random": random,
    **{name: partial(_peer, name) for name in PEERS},
}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median regret per kind of formula."""
    found = runs.comparable(path, PROBLEMS, METHODS)
    for count in COUNTS:
        rows = []
        for problem in found.problems:
            each = {method: _regrets(found, problem, method, count) for method in METHODS}
            medians = (f"{np.median(regrets):.2g}" for regrets in each.values())
            better, worse = (int((each[one] < each[other]).sum()) for one, other in (METHODS[:2], METHODS[1::-1]))
            rows.append([problem, *medians, str(better), str(worse)])
        title = f"Regret after {count} evaluations, {len(found.seeds)} seeds"
        header = ["formulation", *METHODS, f"seeds where {METHODS[0]} is better than {METHODS[1]}", "worse"]
        yield runs.Table(title, header, rows)
    found = runs.comparable(path, PROBLEMS, (*METHODS, *PEERS))
    for count in PEER_COUNTS if set(PEERS) <= set(found.methods) else ():
        rows = []
        for problem in found.problems:  # the slow peers were run with other seeds on some problems
            alone = runs.comparable(path, [problem], (*METHODS, *PEERS))
            regrets = [_regrets(alone, problem, method, count) for method in alone.methods]
            rows.append([problem, str(len(alone.seeds)), *(f"{np.median(each):.2g}" for each in regrets)])
        title = f"Regret after {count} evaluations with peers"
        yield runs.Table(title, ["formulation", "seeds", *found.methods], rows)


def _regrets(found: runs.Found, problem: str, method: str, count: int) -> Array:
    """The regret of each seed."""
    return np.maximum([run["best"][:count][-1] for run in found.of(problem, method)], FLOOR)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default. For the runs of the peers, see the Makefile."""
    return runs.Benchmark(
        "benchmarks.outcomes.mixtures",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", y_scale="log"),
        budget=max(COUNTS),
        packages={"ax": ("ax-platform", "botorch"), "baybe": ("baybe", "botorch")},
        separator=";",
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
