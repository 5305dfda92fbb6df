"""``python -m benchmarks.service.peers SAMPLER WORKERS RESULTS DATABASE``: ask and tell of Optuna on a database.

Each worker is a separate process with its own ``RDBStorage``, as Optuna's users run them. All start at the same time,
when the last one is ready. If the storage raises an error, the worker ends, as a user's would.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import optuna

from benchmarks.service.measured import Pair, summary
from benchmarks.service.workload import BOUNDS, STUDIES, WARM_UP, dealt, value

SECONDS = 60.0
"""After this time, a worker starts no new pair. This favors Optuna, since its first pairs are the fastest."""
DISTRIBUTIONS: dict[str, optuna.distributions.BaseDistribution] = {
    name: optuna.distributions.FloatDistribution(low, high) for name, (low, high) in BOUNDS.items()
}
SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler"}


@dataclass(frozen=True, slots=True)
class Done:
    """The record of a worker."""

    pairs: list[Pair]
    error: str | None
    """The error that ended the worker."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a worker."""

    worker: int
    workers: int
    results: int
    sampler: str
    url: str


def main() -> None:
    sampler, workers, results, url = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url)
    for k in range(STUDIES):
        for name in (f"warm-up-{k}", f"study-{k}"):
            optuna.create_study(study_name=name, storage=storage, direction="minimize")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(workers)
    with ProcessPoolExecutor(workers, context, _start, (barrier,)) as pool:
        tasks = [Task(worker, workers, results, SAMPLERS[sampler], url) for worker in range(workers)]
        done = list(pool.map(work, tasks))
    errors = sorted(worker.error for worker in done if worker.error is not None)
    pairs = [pair for worker in done for pair in worker.pairs]
    print(json.dumps({**summary(pairs), "workers_lost": len(errors), "error": errors[0] if errors else None}))


def work(task: Task) -> Done:
    """Perform a worker's pairs, in its own process."""
    try:
        studies = _prepared(task)
    except Exception as error:
        _barrier.wait()
        return Done([], _line(error))
    _barrier.wait()
    pairs: list[Pair] = []
    deadline = time.perf_counter() + SECONDS
    try:
        for k in dealt(task.worker, task.workers, task.results):
            if time.perf_counter() > deadline:
                break
            pairs.append(_pair(studies[k]))
    except Exception as error:
        return Done(pairs, _line(error))
    return Done(pairs, None)


def _prepared(task: Task) -> dict[int, optuna.Study]:
    """The worker's studies, after a warm-up with other studies."""
    storage = optuna.storages.RDBStorage(task.url)

    def load(name: str) -> optuna.Study:
        sampler = getattr(optuna.samplers, task.sampler)()
        return optuna.load_study(study_name=name, storage=storage, sampler=sampler)

    for k in dealt(task.worker, task.workers, WARM_UP):
        _pair(load(f"warm-up-{k}"))
    return {k: load(f"study-{k}") for k in set(dealt(task.worker, task.workers, task.results))}


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _pair(study: optuna.Study) -> Pair:
    asked = time.perf_counter()
    trial = study.ask(DISTRIBUTIONS)
    suggested = time.perf_counter()
    result = value(trial.params)
    told = time.perf_counter()
    study.tell(trial, result)
    return Pair(asked, suggested, told, time.perf_counter())


_barrier: Any = None
"""The barrier of the worker processes."""


def _start(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603 - a process pool hands a barrier over at the start only
    _barrier = barrier
    optuna.logging.set_verbosity(optuna.logging.ERROR)


if __name__ == "__main__":
    main()
