"""How studies on a server affect each other: ``python -m benchmarks.service.neighbours``; ``--quick``: a short run.

Four situations under the default profile, each on an empty database:

* ``lone``: one worker whose evaluation takes 50 ms, in which the model should decide on the next suggestion. The
  minimal service (``floor``) gets the same calls.
* ``large``: the same worker in a small study, first alone, and then while a study folds 10,000 results that arrive at
  once, and a worker in another study of 5,000 results does not pause. Both models learn.
* ``sixteen``: the same worker in a small study, first alone, and then while sixteen workers in studies of 1,000 results
  do not pause. The minimal service gets the same calls.
* ``many``: one worker, in 1,000 studies of 1,000 results in turn. The memory is that of all processes of the server,
  with shared pages counted once; ``cold`` is a study's first suggestion after a restart of the server.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.scaling import SPACE, record
from benchmarks.service.databases import BACKENDS, Fresh
from benchmarks.service.load import Worker
from benchmarks.service.measured import Pair
from benchmarks.service.methods import DEFAULT
from benchmarks.service.processes import SERVE, megabytes, module, serving, text
from benchmarks.service.workload import BOUNDS

Json = dict[str, Any]
Answer = dict[str, float]

EVALUATION = 0.05
WARM_UP = 15
"""Pairs of a study before its first measured one."""
AT_ONCE = 1000
"""Maximum number of results per request."""
LARGEST, LARGE, HEAVY = 10_000, 5_000, 1_000
"""Numbers of results of the study that folds, of the one that learns, and of each of the sixteen."""
COLD = 20
"""Number of studies whose first suggestion after a restart is timed."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.neighbours", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--backend", choices=BACKENDS, default="sqlite")
    parser.add_argument("--situations", nargs="+", choices=SITUATIONS, default=list(SITUATIONS))
    parser.add_argument("--out", type=Path, default=RESULTS / "neighbours.json")
    options = parser.parse_args()
    share = 0.05 if options.quick else 1.0
    found = {}
    with BACKENDS[options.backend]() as fresh:
        for name in options.situations:
            found[name] = SITUATIONS[name](fresh, share)
            print_table(HEADER, list(rows({name: found[name]})))
    if not options.quick:
        content = {**provenance("benchmarks.service.neighbours"), "backend": options.backend}
        write(options.out, {**content, "situations": found})


HEADER = ("situation", "figure", "measured", "goal")
GOALS = {
    ("lone", "ratio"): 1.5,
    ("large", "beside 99% ms"): 250.0,
    ("sixteen", "ratio of the 99%"): 3.0,
    ("many", "memory MB"): 1000.0,
    ("many", "cold 99% ms"): 1000.0,
}
"""(situation, figure) -> its maximum."""


def rows(found: Mapping[str, Answer]) -> Iterator[list[str]]:
    """The figures with their goals; a figure that misses its goal is in bold."""
    for situation, figures in found.items():
        for name, figure in figures.items():
            goal = GOALS.get((situation, name), math.inf)
            shown = f"{figure:.3g}" if figure < 1000 else f"{figure:,.0f}"
            yield [situation, name, shown if figure <= goal else f"**{shown}**", f"{goal:g}" if goal < math.inf else ""]


def lone(fresh: Fresh, share: float) -> Answer:
    """Measure one worker with evaluations of 50 ms."""
    pairs = int(200 * share)
    with _server(fresh()) as address:
        ours = _milliseconds(_paced(address, "lone", pairs))
    with serving([module("floor", text(fresh()), 1, 1)]) as (address,):
        floor = _milliseconds(_paced(address, "lone", pairs))
    return {
        "suggest median ms": ours[0],
        "suggest 99% ms": ours[1],
        "floor median ms": floor[0],
        "ratio": ours[0] / floor[0],
    }


def large(fresh: Fresh, share: float) -> Answer:
    """Measure a small study next to two large ones."""
    points = _points(int(LARGEST * share))
    with _server(fresh()) as address:
        worker = Worker(0, 1, [address])
        for study, count in (("folding", 0), ("learning", int(LARGE * share))):
            worker.create(study, 0, DEFAULT)
            _tell(worker, study, points[:count])
        _settle(worker, "learning")
        alone = _milliseconds(_paced(address, "small", int(200 * share)))
        with _busy(address, ["learning"]), ThreadPoolExecutor(1) as pool:
            importing = pool.submit(_tell, Worker(1, 1, [address]), "folding", points)
            beside = _milliseconds(_paced(address, "other", int(400 * share)))
            importing.result()
    return _beside(alone, beside)


def sixteen(fresh: Fresh, share: float) -> Answer:
    """Measure a small study next to sixteen larger ones."""
    names, points = [f"heavy-{number}" for number in range(16)], _points(int(HEAVY * share))
    with _server(fresh()) as address:
        worker = Worker(0, 1, [address])
        for name in names:
            worker.create(name, 0, DEFAULT)
            _tell(worker, name, points)
        for name in names:
            _settle(worker, name)
        alone = _milliseconds(_paced(address, "small", int(200 * share)))
        with _busy(address, names):
            beside = _milliseconds(_paced(address, "other", int(400 * share)))
    with serving([module("floor", text(fresh()), 1, 1)]) as (address,):
        floor_alone = _milliseconds(_paced(address, "small", int(200 * share)))
        with _busy(address, names):
            floor_beside = _milliseconds(_paced(address, "other", int(400 * share)))
    return {**_beside(alone, beside), "floor ratio of the 99%": floor_beside[1] / floor_alone[1]}


def many(fresh: Fresh, share: float) -> Answer:
    """Measure more studies than fit into memory."""
    names, points, url = [f"study-{number}" for number in range(int(1000 * share))], _points(1000), fresh()
    with _server(url) as address:
        worker = Worker(0, 1, [address])
        for name in names:
            worker.create(name, 0, DEFAULT)
            _tell(worker, name, points)
            worker.pair(name)
        memory = megabytes(address)
        chosen = random.Random(0).sample(names, len(names))
        warm = _milliseconds([worker.pair(name) for name in chosen])
        memory = max(memory, megabytes(address))
    with _server(url) as address:
        worker = Worker(0, 1, [address])
        worker.pair(names[0])  # connections, imports and caches are not measured
        cold = _milliseconds([worker.pair(name) for name in chosen[:COLD] if name != names[0]])
    return {
        "studies": len(names),
        "memory MB": memory,
        "suggest median ms": warm[0],
        "suggest 99% ms": warm[1],
        "cold median ms": cold[0],
        "cold 99% ms": cold[1],
    }


SITUATIONS: dict[str, Callable[[Fresh, float], Answer]] = {
    "lone": lone,
    "large": large,
    "sixteen": sixteen,
    "many": many,
}


@contextmanager
def _server(url: sa.URL) -> Iterator[str]:
    with serving([[*SERVE, text(url)]]) as (address,):
        yield address


def _points(count: int) -> list[Json]:
    """Results of a study that has found the optimum and still explores."""
    decoded = (SPACE.decode(position) for position in record(max(count, 3)).positions)
    return [dict(zip(BOUNDS, point.values(), strict=True)) for point in decoded]


def _tell(worker: Worker, study: str, points: Sequence[Json]) -> None:
    for start in range(0, len(points), AT_ONCE):
        worker.tell(study, points[start : start + AT_ONCE])


def _settle(worker: Worker, study: str) -> None:
    """Wait until the model has processed all results, so that suggestions are no longer quasi-random."""
    while worker.is_degraded(study):
        time.sleep(0.5)


def _paced(address: str, study: str, count: int) -> list[Pair]:
    """Pairs of a new study, with evaluations in between."""
    worker = Worker(0, 1, [address], EVALUATION)
    worker.create(study, 1, DEFAULT)
    return [worker.pair(study) for _ in range(WARM_UP + count)][WARM_UP:]


def _milliseconds(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Median and 99% quantile of the duration of a suggestion."""
    middle, high = np.quantile([pair.suggested - pair.asked for pair in pairs], [0.5, 0.99])
    return 1e3 * float(middle), 1e3 * float(high)


def _beside(alone: tuple[float, float], beside: tuple[float, float]) -> Answer:
    return {
        "alone median ms": alone[0],
        "alone 99% ms": alone[1],
        "beside median ms": beside[0],
        "beside 99% ms": beside[1],
        "ratio of the 99%": beside[1] / alone[1],
    }


@contextmanager
def _busy(address: str, studies: Sequence[str]) -> Iterator[None]:
    """Within the block, another process works on each of these studies without a pause."""
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    process = context.Process(target=_keep_busy, args=(address, list(studies), over))
    process.start()
    time.sleep(3.0)  # the process imports its modules
    try:
        yield
    finally:
        over.set()
        process.join()


def _keep_busy(address: str, studies: Sequence[str], over: Event) -> None:
    def run(number: int, study: str) -> None:
        worker = Worker(number, 1, [address])
        while not over.is_set():
            worker.pair(study)

    threads = [threading.Thread(target=partial(run, *each)) for each in enumerate(studies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
