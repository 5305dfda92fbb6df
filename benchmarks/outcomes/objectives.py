"""Several objectives: the hypervolume that each method finds. ``python -m benchmarks.outcomes.objectives``

A stopped benchmark resumes after the last completed run. Results are in
``benchmarks/results/outcomes-objectives.json``. Hypervolumes are relative to that of the best peer, median over seeds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.acquisition import pareto
from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.metrics import Measured
from benchmarks.functions import Array
from benchmarks.outcomes import runs
from benchmarks.outcomes.objective_problems import PROBLEMS, Traded
from benchmarks.output import RESULTS

BUDGETS = (50, 100, 200)
SEEDS = 10
OUT, PEERS_OUT = RESULTS / "outcomes-objectives.json", RESULTS / "outcomes-objectives-peers.json"
PEERS, PEER_BUDGET = ("ax",), 50
"""Optional methods, for ``--methods``: they take seconds for each suggestion, and have fewer seeds and evaluations."""


def ours(problem: Traded, seed: int, budget: int) -> list[tuple[float, ...]]:
    """The ``auto`` profile, as a study runs it; the reference point is learned."""
    (first, *others), space = problem.objectives, problem.space
    state = auto.start(space, Config(objective=first, metrics=tuple(others)), seed)
    found = []
    for _ in range(budget):
        suggestion = auto.suggest(state, np.zeros((0, space.dimension)))
        found.append(problem.evaluate(space.decode(suggestion.point)))
        value, *rest = (-each for each in found[-1])
        measured = [Measured(each, 0.0) for each in rest]
        state = auto.observe(suggestion.state, suggestion.point, value, 0.0, measured).state
    return found


def _optuna(make: Callable[[Any, int], Any]) -> Callable[[Traded, int, int], list[tuple[float, ...]]]:
    def run(problem: Traded, seed: int, budget: int) -> list[tuple[float, ...]]:
        import optuna  # noqa: PLC0415 (only where it runs)

        from benchmarks.quality.methods.optuna_samplers import distribution  # noqa: PLC0415 (as above)

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = make(optuna.samplers, seed)
            study = optuna.create_study(directions=["minimize"] * len(problem.reference), sampler=sampler)
            distributions = {axis.name: distribution(axis) for axis in problem.axes}
            found = []
            for _ in range(budget):
                trial = study.ask(distributions)
                found.append(problem.evaluate(trial.params))
                study.tell(trial, found[-1])
        return found

    return run


def botorch(problem: Traded, seed: int, budget: int) -> list[tuple[float, ...]]:
    """See ``benchmarks/outcomes/nehvi.py``."""
    from benchmarks.outcomes.nehvi import nehvi  # noqa: PLC0415 (only where it runs)

    return nehvi(problem, seed, budget)


def ax(problem: Traded, seed: int, budget: int) -> list[tuple[float, ...]]:
    """Ax with its defaults; it infers the reference point."""
    from benchmarks.outcomes.ax_peer import AxClient, Goals  # noqa: PLC0415 (only where it runs)

    names = [each.name for each in problem.objectives]
    client, found = AxClient(problem.axes, Goals(", ".join(f"-{name}" for name in names)), seed), []
    for _ in range(budget):
        found.append(problem.evaluate(client.ask()))
        client.tell(dict(zip(names, found[-1], strict=True)))
    return found


METHODS: dict[str, Callable[[Traded, int, int], list[tuple[float, ...]]]] = {
    "auto": ours,
    "gpsampler": _optuna(lambda samplers, seed: samplers.GPSampler(seed=seed)),
    "botorch": botorch,
    "ax": ax,
    "tpe": _optuna(lambda samplers, seed: samplers.TPESampler(multivariate=True, seed=seed)),
    "nsga2": _optuna(lambda samplers, seed: samplers.NSGAIISampler(seed=seed, population_size=20)),
    "random": _optuna(lambda samplers, seed: samplers.RandomSampler(seed=seed)),
}
PACKAGES = {
    "ax": ("ax-platform", "botorch"),
    "botorch": ("botorch", "torch"),
    "gpsampler": ("optuna", "torch"),
    "tpe": ("optuna",),
    "nsga2": ("optuna",),
    "random": ("optuna",),
}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int

    def run(self) -> dict[str, Any]:
        """Return the hypervolume after each evaluation, and the seconds that it took."""
        problem, before = PROBLEMS[self.problem], time.process_time()
        found: Array = -np.array(METHODS[self.method](problem, self.seed, self.budget))
        seconds = time.process_time() - before
        volumes = pareto.growth(found, -np.array(problem.reference))
        return {"seconds": round(seconds, 2), "volumes": [float(f"{volume:.7g}") for volume in volumes]}


def tables(path: Path) -> Iterator[runs.Table]:
    """Median hypervolumes relative to the best peer's at each budget, for methods with runs of that length. Methods
    with fewer seeds are compared with the others in separate tables."""
    every = runs.load(path, "problem")
    for budget in BUDGETS:
        seeds = {name: _seeds(every, name, budget) for name in METHODS}
        usual = [name for name in METHODS if seeds[name] and seeds[name] == seeds["auto"]]
        fewer = sorted({count for count in seeds.values() if 0 < count < seeds["auto"]})
        beside = [[*usual, *(name for name in METHODS if seeds[name] == count)] for count in fewer]
        for methods in ([usual] if len(usual) > 1 else []) + beside:
            found = runs.comparable(path, PROBLEMS, methods)
            if found.seeds:
                yield _table(found, budget)


def _seeds(every: Mapping[runs.Key, Mapping[str, Any]], method: str, budget: int) -> int:
    """The number of a method's seeds if all of its runs have at least ``budget`` evaluations, else 0."""
    found = {key: run for key, run in every.items() if key[1] == method}
    is_long = all(len(run["volumes"]) >= budget for run in found.values())
    return len({seed for *_, seed in found}) if is_long else 0


def _table(found: runs.Found, budget: int) -> runs.Table:
    volumes = [[[r["volumes"][budget - 1] for r in found.of(p, m)] for m in found.methods] for p in found.problems]
    medians = np.median(np.array(volumes), axis=2)
    peers = medians[:, [name != "auto" for name in found.methods]].max(axis=1, keepdims=True)
    parts = medians / np.maximum(peers, 1e-300)
    rows = [[name, *(f"{part:.3f}" for part in row)] for name, row in zip(found.problems, parts, strict=True)]
    title = f"Score after {budget} evaluations, {len(found.seeds)} seeds"
    return runs.Table(title, ["problem", *found.methods], rows)


def peer_tables(path: Path) -> Iterator[runs.Table]:
    """The same per problem, with the peers, whose runs are in another file."""

    def scores(found: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        own, *others = (float(np.median([run["volumes"][PEER_BUDGET - 1] for run in each])) for each in found)
        return [f"{volume / max(others):.3f}" for volume in (own, *others)]

    title = f"Score after {PEER_BUDGET} evaluations, with peers"
    yield runs.beside(OUT, path, PROBLEMS, list(METHODS), PEER_BUDGET, title, scores)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.objectives",
        __doc__,
        Job,
        list(PROBLEMS),
        [name for name in METHODS if name not in PEERS],
        SEEDS,
        OUT,
        tables,
        runs.Axes("volumes", "hypervolume"),
        budget=max(BUDGETS),
        packages=PACKAGES,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())
