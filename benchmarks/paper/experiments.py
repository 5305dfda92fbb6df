"""The experiments of the paper, with their problems and the variants that they compare."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.threds import config as gp_threds_module
from adabkb_service.engine.threds.policy import gp_threds
from benchmarks.functions import Array, Function, cube
from benchmarks.paper import as_coded, authors, tuning
from benchmarks.paper.functions import FUNCTIONS
from benchmarks.paper.runs import Run, run

AUTO = "auto"
"""Ada-BKB with learned constants, added to the paper's figures."""
REFITTED = " refitted"
"""Suffix for a system whose posterior is recomputed after each result."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system with its constants in one experiment."""

    config: Any
    policy: Policy[Any, Any] = ada_bkb
    change: Callable[[], AbstractContextManager[object]] = nullcontext
    """A change of the engine during the run."""
    initial: int = 0
    """Number of random fixed points to evaluate before the first step; they are not counted."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One comparison."""

    title: str
    problems: Sequence[str]
    function: Callable[[str, int], Function]
    """(problem, seed) -> function."""
    noise_std: Callable[[str], float]
    variants: Callable[[str], dict[str, Entry]]
    """Problem -> variants by name, in the order of the figures."""
    seeds: int = 5
    steps: int = authors.STEPS
    limit: float = 600.0
    """Time limit of a run in seconds, as in the paper."""
    test: Callable[[str, int, Array], float] | None = None
    """For the tuning of a model, (problem, seed, point) -> test error."""


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

    @property
    def settings(self) -> str:
        """A hash of the constants, which distinguishes runs of the same name."""
        entry, noise_std = self._entry, EXPERIMENTS[self.experiment].noise_std(self.problem)
        kind = type(entry.config).__module__
        made_of = (kind, entry.config, entry.change.__name__, entry.initial, noise_std)
        return hashlib.sha256(repr(made_of).encode()).hexdigest()[:8]

    @property
    def _entry(self) -> Entry:
        return EXPERIMENTS[self.experiment].variants(self.problem)[self.variant]

    def run(self) -> Run:
        """Perform the run, and return its record."""
        experiment, entry = EXPERIMENTS[self.experiment], self._entry
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
                initial=entry.initial,
            )
        if experiment.test is not None:
            for name, point in (("best", outcome.best), ("last", outcome.last)):
                outcome.test_errors[name] = experiment.test(self.problem, self.seed, np.array(point))
        return outcome


def jobs(
    experiment: str, seeds: int | None = None, steps: int | None = None, limit: float | None = None
) -> Iterator[Job]:
    """The runs of an experiment, optionally with fewer seeds, steps or seconds."""
    found = EXPERIMENTS[experiment]
    steps, limit = min(found.steps, steps or found.steps), min(found.limit, limit or found.limit)
    for problem in found.problems:
        for variant in found.variants(problem):
            for seed in range(min(found.seeds, seeds or found.seeds)):
                yield Job(experiment, problem, variant, seed, steps, limit)


LEARNED = Entry(auto_module.Config(), auto)


def _systems(problem: str) -> dict[str, Entry]:
    """The systems of the paper's figures that the authors ran on this function, and ``auto``."""
    there = authors.SYSTEMS if authors.has_grid(problem) else authors.SYSTEMS[:2]
    return {
        system: Entry(authors.config(problem, system), initial=authors.initial(problem, system)) for system in there
    } | {AUTO: LEARNED}


NORM_BOUNDS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
BRANCHINGS = (3, 5, 7, 9)
INITIAL, RANDOM_INITIAL = 2, {"Branin": 3}
"""Number of initial points in the authors' scripts for tuning and Random-BKB, and exceptions in the latter."""


def _norm_bounds(problem: str) -> dict[str, Entry]:
    return {f"F = {bound:g}": Entry(authors.robustness(problem, bound)) for bound in NORM_BOUNDS}


def _branchings(problem: str) -> dict[str, Entry]:
    return {f"N = {children}": Entry(authors.branching(problem, children)) for children in BRANCHINGS}


def _shallow(problem: str) -> dict[str, Entry]:
    """Variants with the index of eq. 9, and with that of the authors' code."""
    printed = _branchings(problem)
    coded = {f"{name} as coded": replace(entry, change=as_coded.start_and_index) for name, entry in printed.items()}
    return printed | coded


def _branching_noise_std(problem: str) -> float:
    std: float = authors.AUTHORS["branching_noise_std"].get(problem, authors.noise_std(problem))
    return std


def _random_sizes(problem: str) -> dict[str, Entry]:
    sizes = sorted(int(size) for size in authors.AUTHORS["random-bkb"][problem] if size != "ada-bkb")
    tree = authors.robustness(problem)
    grid = replace(authors.config(problem, "bkb"), points_per_axis=None, qbar=tree.qbar)
    initial = RANDOM_INITIAL.get(problem, INITIAL)
    drawn = {f"{size} points": Entry(replace(grid, points=size), initial=initial) for size in sizes}
    return {"ada-bkb": Entry(tree)} | drawn


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

    Each of these also runs without updates of its posterior, as in the paper, to compare the cost.
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
    test = gp_threds_module.of_a_test(
        Config(
            kernel="gaussian",
            lengthscale=0.2,
            ridge=0.01,
            noise_std=SQUARE_NOISE_STD,
            norm_bound=settings["parameters"]["B"],
            delta=1e-3,
        )
    )
    side = int(settings["parameters"]["grid"].partition("x")[0])
    lowest, highest = interval
    threds = gp_threds_module.Config(test, lowest, highest, grid=side, patience=50, slack=0.2, max_depth=9)
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
    fixed = {"bkb": INITIAL, "random-bkb": INITIAL}
    systems = tuning.configs(problem).items()
    return {system: Entry(config, initial=fixed.get(system, 0)) for system, config in systems} | {AUTO: LEARNED}


def _test_error(problem: str, seed: int, point: Array) -> float:
    return tuning.tuning(problem, seed).test_error(point)


EXPERIMENTS = {
    "functions": Experiment("The 17 functions", list(FUNCTIONS), _function, authors.noise_std, _systems),
    "norm-bound": Experiment(
        "Robustness to F",
        ["Branin", "Trid_4", "Hartmann_6", "Rastrigin_8"],
        _function,
        authors.noise_std,
        _norm_bounds,
    ),
    "branching": Experiment(
        "Robustness to N", ["Branin", "Trid_4", "Beale_as_coded"], _function, _branching_noise_std, _branchings
    ),
    "shallow": Experiment(
        "N in a tree of two levels", ["Bohachevsky"], _function, _branching_noise_std, _shallow, steps=5000
    ),
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
        "Tuning of FALKON", list(tuning.TASKS), tuning.function, lambda _: 0.0, _tuners, limit=1200.0, test=_test_error
    ),
}
