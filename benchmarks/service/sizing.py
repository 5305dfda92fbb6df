"""The resources of a server: ``python -m benchmarks.service.sizing`` measures them, and computes laboratories' needs.

Measured on each database, with one client that does not evaluate anything: processor time of a pair of suggest and
observe and of a heartbeat, what a trial with its result adds to the database, and what memory a server has, with
models and without. The machine must do nothing else meanwhile, since all of its processor time except that of the
client is counted.

Computed from that, for each laboratory: calls per second, the processor cores that they keep busy, the memory of the
models of all studies that are worked on at once, and the disk for all studies. Workers evaluate without a pause and
renew their leases as our client does. Peaks are not included: plan for cores that are half busy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from adabkb_client._trial import LEASE_SECONDS, RENEW_AT
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import BACKENDS
from benchmarks.service.load import Json, Meter, Worker
from benchmarks.service.methods import DEFAULT
from benchmarks.service.processes import SERVE, megabytes, serving, text

Figures = dict[str, float]

STUDIES, TRIALS, HEARTBEATS = 20, 100, 2_000
"""Numbers of measured studies, of results per study, and of renewals of one lease."""
DAY = 86_400
"""Seconds for which idempotency keys are kept."""
DIMENSION = 6
"""Number of parameters of these studies."""


@dataclass(frozen=True, slots=True)
class Laboratory:
    """A laboratory's workers and studies."""

    workers: int
    minutes: float
    """Duration of an evaluation."""
    studies: int
    running: int
    """Number of studies in progress at the same time."""
    results: int
    """Final number of results per study."""


LABORATORIES = [
    Laboratory(workers=10, minutes=10, studies=50, running=5, results=100),
    Laboratory(workers=50, minutes=10, studies=200, running=20, results=200),
    Laboratory(workers=500, minutes=10, studies=5_000, running=100, results=200),
    Laboratory(workers=10_000, minutes=10, studies=100_000, running=2_000, results=200),
    Laboratory(workers=10_000, minutes=1, studies=100_000, running=2_000, results=200),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.sizing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS / "sizing.json")
    options = parser.parse_args()
    measured = {backend: measure(backend, 0.05 if options.quick else 1.0) for backend in BACKENDS}
    print_table(HEADER, list(rows(measured)))
    print_table(NEEDS, list(needs(measured["postgresql"])))
    if not options.quick:
        write(options.out, {**provenance("benchmarks.service.sizing"), "measured": measured})


def measure(backend: str, share: float) -> Figures:
    """The figures of a server on a new database."""
    trials, heartbeats = int(TRIALS * share), int(HEARTBEATS * share)
    with BACKENDS[backend]() as fresh:
        url = fresh()
        with serving([[*SERVE, text(url)]]) as (address,):
            worker = Worker(0, 1, [address])
            names = [f"study-{number}" for number in range(STUDIES)]
            for name in ("first", *names):
                worker.create(name, 0, DEFAULT)
            worker.pair("first")  # connections, imports and caches are not measured
            size, memory = stored(backend, url), megabytes(address)
            pair = _milliseconds(address, lambda: _work(worker, names, trials))
            of_models, with_keys = megabytes(address) - memory, stored(backend, url)
            trial = worker.leased("first")
            heartbeat = _milliseconds(address, lambda: _renew(worker, trial, heartbeats))
        forget_keys(url)
        kept = stored(backend, url)
    return {
        "pair, processor ms": pair / (trials * STUDIES),
        "heartbeat, processor ms": heartbeat / heartbeats,
        "trial, bytes on disk": (kept - size) / (trials * STUDIES),
        "its idempotency keys, bytes": (with_keys - kept) / (trials * STUDIES),
        "server without models, MB": memory,
        "study in memory, MB": of_models / STUDIES,
    }


def forget_keys(url: sa.URL) -> None:
    """Delete idempotency keys, as the service does after a day."""
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("DELETE FROM idempotency_keys")


def _work(worker: Worker, studies: Sequence[str], trials: int) -> None:
    for _ in range(trials):
        for study in studies:
            worker.pair(study)


def _renew(worker: Worker, trial: Json, times: int) -> None:
    for _ in range(times):
        worker.renew("first", trial)


def _milliseconds(address: str, work: Callable[[], None]) -> float:
    """Processor time of the machine during the work, without that of the client."""
    meter = Meter([address])
    work()
    time.sleep(1.0)  # models learn after the responses
    spent = meter.milliseconds(1)
    return spent["machine"] - spent["clients"]


def stored(backend: str, url: sa.URL) -> float:
    """Size of the database on disk in bytes, without free space."""
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("VACUUM" if backend == "sqlite" else "VACUUM FULL")
        return float(connection.exec_driver_sql(SIZE[backend]).scalar_one())


SIZE = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}
HEADER = ("figure", *BACKENDS)


def rows(measured: Mapping[str, Figures]) -> Iterator[list[str]]:
    """The measurements, by database."""
    for name in next(iter(measured.values())):
        yield [name, *(shown(measured[backend][name]) for backend in BACKENDS)]


NEEDS = (
    "workers",
    "minutes per evaluation",
    "studies",
    "results",
    "running",
    "pairs/s",
    "heartbeats/s",
    "cores",
    "models, GB",
    "disk, GB",
)


def needs(measured: Figures) -> Iterator[list[str]]:
    """The needs of each laboratory."""
    for lab in LABORATORIES:
        pairs, heartbeats = lab.workers / (60 * lab.minutes), lab.workers / (RENEW_AT * LEASE_SECONDS)
        spent = pairs * measured["pair, processor ms"] + heartbeats * measured["heartbeat, processor ms"]
        keys = DAY * pairs * measured["its idempotency keys, bytes"]
        disk = lab.studies * lab.results * measured["trial, bytes on disk"] + keys
        models = lab.running * measured["study in memory, MB"]
        counts = (f"{count:,}" for count in (lab.workers, lab.minutes, lab.studies, lab.results, lab.running))
        figures = (pairs, heartbeats, 1e-3 * spent, models / 1024, disk / 2**30)
        yield [*counts, *map(shown, figures)]


def shown(figure: float) -> str:
    """The number with two significant digits, or with all digits before the decimal point."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2g}"


if __name__ == "__main__":
    main()
