"""The experiments of the paper: for each, its problems and what is compared on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adabkb_service.engine.config import Config
from adabkb_service.engine.policies import ada_bkb, auto, gp_threds
from adabkb_service.engine.policies.policy import Policy
from benchmarks.functions import Array, Function, cube
from benchmarks.paper import as_coded, authors, tuning
from benchmarks.paper.functions import FUNCTIONS
from benchmarks.paper.runs import Run, run

AUTO = "auto"
"""Past the paper: Ada-BKB with learned constants, in its figures."""
REFITTED = " refitted"
"""Of a system whose posterior is made anew after each result."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system with its constants, as one experiment has it."""

    config: Any
    policy: Policy = ada_bkb
    change: Callable[[], AbstractContextManager[object]] = nullcontext
    """Of the engine, while it runs."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One comparison."""

    title: str
    problems: Sequence[str]
    function: Callable[[str, int], Function]
    """By problem and seed."""
    noise_std: Callable[[str], float]
    variants: Callable[[str], dict[str, Entry]]
    """By problem: what is compared, by name, in the order of the figures."""
    seeds: int = 5
    test: Callable[[str, int, Array], float] | None = None
    """Where a model is tuned: its test error, by problem, seed and point."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of an experiment."""

    experiment: str
    problem: str
    variant: str
    seed: int
    steps: int
    limit: float

    def __str__(self) -> str:
        return f"{self.experiment} {self.problem} {self.variant} {self.seed}"

    def run(self) -> Run:
        """Do it."""
        experiment = EXPERIMENTS[self.experiment]
        entry = experiment.variants(self.problem)[self.variant]
        function, noise_std = experiment.function(self.problem, self.seed), experiment.noise_std(self.problem)
        with entry.change():
            outcome = run(
                function,
                entry.config,
                self.steps,
                self.seed,
                noise_std=noise_std,
                policy=entry.policy,
                limit=self.limit,
            )
        if experiment.test is not None:
            for name, point in (("best", outcome.best), ("last", outcome.last)):
                outcome.test_errors[name] = experiment.test(self.problem, self.seed, np.array(point))
        return outcome


def jobs(experiment: str, seeds: int | None, steps: int, limit: float) -> Iterator[Job]:
    """The runs of an experiment."""
    found = EXPERIMENTS[experiment]
    for problem in found.problems:
        for variant in found.variants(problem):
            for seed in range(min(found.seeds, seeds or found.seeds)):
                yield Job(experiment, problem, variant, seed, steps, limit)


LEARNED = Entry(auto.Config(), auto)


def _systems(problem: str) -> dict[str, Entry]:
    """The four systems of the paper's figures, and ours."""
    there = authors.SYSTEMS if authors.has_grid(problem) else authors.SYSTEMS[:2]
    return {system: Entry(authors.config(problem, system)) for system in there} | {AUTO: LEARNED}


NORM_BOUNDS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
BRANCHINGS = (2, 3, 5, 7, 11)
SHALLOW_BRANCHINGS = (3, 5, 11, 21)


def _norm_bounds(problem: str) -> dict[str, Entry]:
    config = authors.config(problem)
    return {f"F = {bound:g}": Entry(replace(config, norm_bound=bound)) for bound in NORM_BOUNDS}


def _branchings(problem: str) -> dict[str, Entry]:
    return {f"N = {branching}": Entry(_with_branching(problem, branching)) for branching in BRANCHINGS}


def _shallow(problem: str) -> dict[str, Entry]:
    """By the index of eq. 9, and by that of the authors' code."""
    found = {branching: replace(_with_branching(problem, branching), max_depth=2) for branching in SHALLOW_BRANCHINGS}
    printed = {f"N = {branching}": Entry(config) for branching, config in found.items()}
    coded = {
        f"N = {branching} as coded": Entry(config, change=as_coded.start_and_index)
        for branching, config in found.items()
    }
    return printed | coded


def _with_branching(problem: str, branching: int) -> Config:
    """The authors' v1 = N / sqrt(d) and rho = N^(-1 / sqrt(d)) follow N."""
    root = math.sqrt(FUNCTIONS[problem].dimension)
    return replace(authors.config(problem), branching=branching, v1=branching / root, rho=branching ** (-1 / root))


def _random_sizes(problem: str) -> dict[str, Entry]:
    sizes = sorted(map(int, authors.AUTHORS["random-bkb"][problem]))
    config = replace(authors.config(problem, "bkb"), points_per_axis=None)
    drawn = {f"{size} points": Entry(replace(config, points=size)) for size in sizes}
    return {"ada-bkb": Entry(authors.config(problem))} | drawn


def branin_of_gp_threds(x: Array) -> float:
    u, v = 15 * x[0] - 5, 15 * x[1]
    parabola = v - 5.1 * u**2 / (4 * np.pi**2) + 5 * u / np.pi - 6
    return float((parabola**2 + (10 - 10 / (8 * np.pi)) * np.cos(u) - 44.81) / 51.95)


def rosenbrock_of_gp_threds(x: Array) -> float:
    z = 0.3 * x + 0.8
    return float(100 * (z[1] - z[0] ** 2) ** 2 + (1 - z[0]) ** 2 - 10)


SQUARE = {
    "Branin": Function("Branin", cube(2, 0.0, 1.0), -1.0473938910927865, (0.5427728, 0.1516667), branin_of_gp_threds),
    "Rosenbrock": Function("Rosenbrock", cube(2, 0.0, 1.0), -10.0, (2 / 3, 2 / 3), rosenbrock_of_gp_threds),
}
"""The two functions of GP-ThreDS, negated."""
SQUARE_NOISE_STD = 0.1


def _on_the_square(problem: str) -> dict[str, Entry]:
    """GP-ThreDS with its authors' constants; Ada-BKB with those of the paper's table; Ada-GP-UCB on the same tree.

    Each a second time for its cost when no posterior is updated, which is how the paper's were run.
    """
    settings = authors.AUTHORS["gp-threds"]["problems"][problem.lower()]
    table, interval = settings["ada_bkb"], settings["parameters"]["tau interval [a,b]"]
    N, d = table["N"], 2
    tree = Config(
        kernel="gaussian",
        lengthscale=table["sigma"],
        ridge=table["lam"],
        noise_std=table["lam"],
        norm_bound=table["F"],
        delta=1e-5,
        qbar=5,
        branching=N,
        max_depth=table["h_max"],
        beta="authors",
        v1=N / math.sqrt(d),
        rho=N ** (-1 / math.sqrt(d)),
        coordinates="raw",
        outputs="raw",
    )
    test = gp_threds.of_a_test(
        kernel="gaussian",
        lengthscale=0.2,
        ridge=0.01,
        noise_std=SQUARE_NOISE_STD,
        norm_bound=settings["parameters"]["B"],
        delta=1e-3,
    )
    side = int(settings["parameters"]["grid"].partition("x")[0])
    lowest, highest = interval
    threds = gp_threds.Config(test, lowest, highest, grid=side, patience=50, slack=0.2, max_depth=9)
    systems = {
        "ada-bkb": Entry(tree),
        "ada-gp-ucb": Entry(authors.ada_gp_ucb(tree, authors.STEPS, 1.0)),
        "gp-threds": Entry(threds, gp_threds),
    }
    refitted = {name + REFITTED: replace(entry, change=as_coded.refitted) for name, entry in systems.items()}
    return systems | {AUTO: LEARNED} | refitted


def _function(problem: str, _: int) -> Function:
    return FUNCTIONS[problem]


def _tuners(problem: str) -> dict[str, Entry]:
    return {system: Entry(config) for system, config in tuning.configs(problem).items()} | {AUTO: LEARNED}


def _test_error(problem: str, seed: int, point: Array) -> float:
    return tuning.tuning(problem, seed).test_error(point)


EXPERIMENTS = {
    "functions": Experiment("The 17 functions", list(FUNCTIONS), _function, authors.noise_std, _systems),
    "norm-bound": Experiment(
        "Robustness to F",
        ["Branin", "Ackley_2", "Hartmann_6", "Shekel"],
        _function,
        authors.noise_std,
        _norm_bounds,
    ),
    "branching": Experiment(
        "Robustness to N", ["Branin", "Hartmann_3", "Levy_6"], _function, authors.noise_std, _branchings
    ),
    "shallow": Experiment("N in a tree of two levels", ["Bohachevsky"], _function, authors.noise_std, _shallow),
    "random-points": Experiment(
        "Random-BKB",
        list(authors.AUTHORS["random-bkb"]),
        _function,
        authors.noise_std,
        _random_sizes,
    ),
    "gp-threds": Experiment(
        "GP-ThreDS", list(SQUARE), lambda problem, _: SQUARE[problem], lambda _: SQUARE_NOISE_STD, _on_the_square, 10
    ),
    "tuning": Experiment(
        "Tuning of FALKON", list(tuning.TASKS), tuning.function, lambda _: 0.0, _tuners, test=_test_error
    ),
}
