"""Many workers at once: ``python -m benchmarks.service.fleet``; ``--quick``: a short run.

Each worker is a task of one event loop, with its own client. It asks for a trial of its study, evaluates the trial for
one to five minutes, during which it renews the lease as our client does, and reports the result. All workers start
within the first seconds, as the jobs of an array do. When the time is up, each ends its evaluation at once. Measured on
each database: the number and the durations of the calls of each kind, as the workers see them; the processor time and
the memory of the server; quasi-random suggestions; lost leases; and whether each acknowledged result is stored once.

The workers share the machine with the server. Their own processor time is not counted as the server's, but it makes
their calls slower.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from adabkb_client import AsyncClient, AsyncStudy, Conflict, Float, Trial
from adabkb_client._trial import LEASE_SECONDS, RENEW_AT
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import BACKENDS
from benchmarks.service.load import Meter
from benchmarks.service.processes import SERVE, megabytes, serving, text
from benchmarks.service.sizing import shown
from benchmarks.service.workload import BOUNDS, value

T = TypeVar("T")
Figures = dict[str, float]

START_SECONDS = 10.0
"""All workers start within this time."""
CALLS = ("suggest", "observe", "heartbeat")


@dataclass(frozen=True, slots=True)
class Fleet:
    """A number of workers, and how long they work."""

    workers: int = 2_000
    studies: int = 100
    seconds: float = 600.0
    evaluation: tuple[float, float] = (60.0, 300.0)
    """Shortest and longest evaluation, in seconds."""
    renewal: float = RENEW_AT * LEASE_SECONDS
    """Seconds between two heartbeats of a trial."""


QUICK = Fleet(workers=40, studies=4, seconds=12.0, evaluation=(1.0, 4.0), renewal=0.5)


@dataclass
class Seen:
    """Measurements of the workers."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Kind of call -> durations."""
    stand_ins: int = 0
    """Number of quasi-random suggestions, issued because the model had not decided in time."""
    lost: int = 0
    """Number of results that were refused, because another worker had the trial."""
    results: Counter[str] = field(default_factory=Counter)
    """Study -> number of acknowledged results."""

    async def timed(self, call: str, response: Awaitable[T]) -> T:
        """Await a response, and record how long it takes."""
        began = time.perf_counter()
        found = await response
        self.seconds[call].append(time.perf_counter() - began)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.fleet", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40 workers for some seconds; writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS / "fleet.json")
    options = parser.parse_args()
    fleet = QUICK if options.quick else Fleet()
    measured = {backend: measure(backend, fleet) for backend in BACKENDS}
    print_table(HEADER, list(rows(measured)))
    if not options.quick:
        write(options.out, {**provenance("benchmarks.service.fleet"), "measured": measured})


def measure(backend: str, fleet: Fleet) -> Figures:
    """The figures of a fleet on a new database."""
    with BACKENDS[backend]() as fresh, serving([[*SERVE, text(fresh())]]) as (address,):
        meter = Meter([address])
        began = time.perf_counter()
        seen, stored = asyncio.run(_worked(address, fleet))
        seconds = time.perf_counter() - began
        spent, memory = meter.milliseconds(1), megabytes(address)
    return {
        "workers": fleet.workers,
        "studies": fleet.studies,
        "minutes": seconds / 60,
        **{f"{call}s per second": len(seen.seconds[call]) / seconds for call in CALLS},
        **{
            f"{call}, {name} ms": 1e3 * float(np.quantile(seen.seconds[call], quantile))
            for call in CALLS
            for name, quantile in (("median", 0.5), ("99%", 0.99), ("longest", 1.0))
        },
        "busy cores, workers aside": 1e-3 * (spent["machine"] - spent["clients"]) / seconds,
        "server and models, MB": memory,
        "quasi-random points": seen.stand_ins,
        "leases lost": seen.lost,
        **kept(seen.results, stored),
    }


def kept(acknowledged: Mapping[str, int], stored: Mapping[str, int]) -> Figures:
    """Figures that compare the numbers of acknowledged and stored results per study."""
    return {
        "results": sum(acknowledged.values()),
        "results lost": sum(max(count - stored.get(study, 0), 0) for study, count in acknowledged.items()),
        "surplus results": sum(max(count - acknowledged.get(study, 0), 0) for study, count in stored.items()),
    }


async def _worked(address: str, fleet: Fleet) -> tuple[Seen, dict[str, int]]:
    """The measurements of the workers, and the final number of results per study."""
    names = [f"study-{number}" for number in range(fleet.studies)]
    async with AsyncClient(address) as client:
        parameters = {name: Float(low, high) for name, (low, high) in BOUNDS.items()}
        for seed, name in enumerate(names):
            await client.create_study(name, parameters, direction="minimize", seed=seed)
        seen, end = Seen(), time.monotonic() + fleet.seconds
        async with asyncio.TaskGroup() as group:
            for number in range(fleet.workers):
                group.create_task(_work(address, names[number % len(names)], number, end, fleet, seen))
        stored = {name: (await (await client.study(name)).info()).counts.observations for name in names}
    return seen, stored


async def _work(address: str, study: str, number: int, end: float, fleet: Fleet, seen: Seen) -> None:
    """Run one worker until the end."""
    chance = random.Random(number)
    async with AsyncClient(address) as client:
        await asyncio.sleep(chance.uniform(0.0, min(START_SECONDS, fleet.seconds / 2)))
        its = await client.study(study)
        while time.monotonic() < end:
            trial = await seen.timed("suggest", its.suggest(worker=f"worker-{number}"))
            seen.stand_ins += trial.origin == "fallback"
            async with _kept_leased(its, trial, fleet.renewal, seen):
                evaluation = chance.uniform(*fleet.evaluation)
                await asyncio.sleep(max(min(evaluation, end - time.monotonic()), 0.0))
            try:
                await seen.timed("observe", its.observe(trial, value(trial.parameters)))
                seen.results[study] += 1
            except Conflict:
                seen.lost += 1


@asynccontextmanager
async def _kept_leased(study: AsyncStudy, trial: Trial, pause: float, seen: Seen) -> AsyncIterator[None]:
    """Renew the lease of a trial until the end of the block."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(pause)
            await seen.timed("heartbeat", study.heartbeat(trial))

    keeper = asyncio.create_task(renew())
    try:
        yield
    finally:
        keeper.cancel()
        await asyncio.wait([keeper])


HEADER = ("figure", *BACKENDS)


def rows(measured: Mapping[str, Figures]) -> Iterator[list[str]]:
    """The measurements, by database."""
    for name in next(iter(measured.values())):
        yield [name, *(shown(measured[backend][name]) for backend in BACKENDS)]


if __name__ == "__main__":
    main()
