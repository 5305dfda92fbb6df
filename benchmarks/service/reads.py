"""How slow reads affect suggestions and ``/readyz``: ``python -m benchmarks.service.reads``; ``--quick``: a short run.

A worker asks for trials of one study, with evaluations of 50 ms. Another client reads ``/readyz``, 20 ms after each
response. The measurement ``alone`` has no other clients. In the others, 200 clients read importances, slices,
partitions and recommendations of eight other studies of 300 results as fast as they can. A client that is refused waits
as long as the response says, at most 2 s.

The readers run in a separate process, in two ways. With ``beside``, they compete with the server for the processors of
this machine. With ``elsewhere``, they have the lowest priority (niceness 19), since 200 real readers would parse the
responses on other machines. The aim is a p99 of at most three times that of ``alone``.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import BACKENDS
from benchmarks.service.load import Worker
from benchmarks.service.measured import Pair
from benchmarks.service.methods import DEFAULT
from benchmarks.service.processes import SERVE, serving, text
from benchmarks.service.workload import BOUNDS

Figures = dict[str, float]
Counter = Any
"""A counter in shared memory."""

READERS, STUDIES, RESULTS_EACH = 200, 8, 300
READS = ("importance", "slice?parameter=x0", "recommendation", "partition")
EVALUATION, PAUSE = 0.05, 0.02
"""Seconds from a suggestion to its result, and from a response of ``/readyz`` to the next read."""
MAX_WAIT = 2.0
"""Maximum number of seconds that a refused reader waits."""
WARM_UP = 3.0
"""Seconds until the readers have their connections."""
SITUATIONS = {"alone": None, "200 readers beside": 0, "200 readers elsewhere": 19}
"""The niceness of the readers, if there are any."""
QUANTILES = ("suggest median ms", "suggest 99% ms", "readyz median ms", "readyz 99% ms")
NAMES = ("reads per second", *QUANTILES)
HEADER = ("situation", *NAMES, "suggest 99%, relative to alone", "readyz 99%, relative to alone")
AIM = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.reads", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round; writes nothing")
    parser.add_argument("--rounds", type=int, default=4, help="number of measurements of each situation, in turn")
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of a situation per round")
    parser.add_argument("--out", type=Path, default=RESULTS / "reads.json")
    options = parser.parse_args()
    rounds, seconds = (1, 5.0) if options.quick else (options.rounds, options.seconds)
    load, found = os.getloadavg()[0], measured(rounds, seconds)
    print_table(HEADER, list(rows(found)))
    if not options.quick:
        content = {**provenance("benchmarks.service.reads"), "load before": load}
        write(options.out, {**content, "rounds": rounds, "seconds": seconds, "situations": found})


def rows(found: Mapping[str, Figures]) -> Iterator[list[str]]:
    """The figures of each situation. A p99 of more than ``AIM`` times that of ``alone`` is in bold."""
    alone = found["alone"]
    for situation, figures in found.items():
        ratios = [figures[name] / alone[name] for name in ("suggest 99% ms", "readyz 99% ms")]
        shown = (f"{ratio:.2g}" if ratio <= AIM else f"**{ratio:.2g}**" for ratio in ratios)
        yield [situation, *(f"{figures[name]:.3g}" for name in NAMES), *shown]


def measured(rounds: int, seconds: float) -> dict[str, Figures]:
    """Measure the situations in turn, so that the study has similar sizes in each, and combine the times of all
    rounds."""
    times: dict[str, tuple[list[float], list[float]]] = {situation: ([], []) for situation in SITUATIONS}
    reads = dict.fromkeys(SITUATIONS, 0)
    with BACKENDS["sqlite"]() as fresh, serving([[*SERVE, text(fresh())]]) as (address,):
        _prepare(address)
        for _ in range(rounds):
            for situation, niceness in SITUATIONS.items():
                with _reading(address, niceness) as answered:
                    before = answered.value
                    for taken, lately in zip(times[situation], _waited(address, seconds), strict=True):
                        taken.extend(lately)
                    reads[situation] += answered.value - before
    return {
        situation: {
            "reads per second": reads[situation] / (rounds * seconds),
            **dict(zip(QUANTILES, map(float, [*_quantiles(suggest), *_quantiles(ready)]), strict=True)),
            "suggestions": len(suggest),
            "reads of readyz": len(ready),
        }
        for situation, (suggest, ready) in times.items()
    }


def _quantiles(seconds: list[float]) -> list[float]:
    return list(1e3 * np.quantile(seconds, [0.5, 0.99]))


def _prepare(address: str) -> None:
    """Create the study for suggestions and the studies for reads."""
    rng, worker = np.random.default_rng(0), Worker(0, 1, [address])
    low, high = np.array(list(BOUNDS.values())).T
    for number in range(STUDIES + 1):
        points = rng.uniform(low, high, (RESULTS_EACH, len(low)))
        worker.create(f"study-{number}", number, DEFAULT)
        worker.tell(f"study-{number}", [dict(zip(BOUNDS, map(float, point), strict=True)) for point in points])
        while worker.is_degraded(f"study-{number}"):
            time.sleep(0.5)


def _waited(address: str, seconds: float) -> tuple[list[float], list[float]]:
    """The durations of suggestions and of reads of ``/readyz``."""
    over, ready = threading.Event(), list[float]()

    def read() -> None:
        with httpx.Client(base_url=address, timeout=60) as api:
            while not over.is_set():
                begun = time.perf_counter()
                api.get("/readyz")
                ready.append(time.perf_counter() - begun)
                time.sleep(PAUSE)

    reading = threading.Thread(target=read)
    reading.start()
    worker, pairs, end = Worker(0, 1, [address], EVALUATION), list[Pair](), time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            pairs.append(worker.pair("study-0"))
    finally:
        over.set()
        reading.join()
    return [pair.suggested - pair.asked for pair in pairs], ready


@contextmanager
def _reading(address: str, niceness: int | None) -> Iterator[Counter]:
    """Run the readers, if any. Yields the counter of answered reads."""
    context = multiprocessing.get_context("spawn")
    over, answered = context.Event(), context.Value("q", lock=False)
    if niceness is None:
        yield answered
        return
    process = context.Process(target=_read, args=(address, niceness, over, answered))
    process.start()
    time.sleep(WARM_UP)
    try:
        yield answered
    finally:
        over.set()
        process.join()


def _read(address: str, niceness: int, over: Event, answered: Counter) -> None:
    os.nice(niceness)
    asyncio.run(_read_all(address, over, answered))


async def _read_all(address: str, over: Event, answered: Counter) -> None:
    limits = httpx.Limits(max_connections=2 * READERS)
    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as api:
        await asyncio.gather(*(_keep_reading(api, number, over, answered) for number in range(READERS)))


async def _keep_reading(api: httpx.AsyncClient, number: int, over: Event, answered: Counter) -> None:
    path = f"/v1/studies/study-{1 + number % STUDIES}/{READS[number // STUDIES % len(READS)]}"
    while not over.is_set():
        answer = await api.get(path)
        answered.value += answer.is_success
        if answer.status_code == 503:
            await asyncio.sleep(min(float(answer.headers.get("Retry-After", 1)), MAX_WAIT))


if __name__ == "__main__":
    main()
