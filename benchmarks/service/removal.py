"""How the deletion of a large study affects others: ``python -m benchmarks.service.removal``; ``--quick``: a short run.

One worker asks for trials of small studies, with evaluations of 50 ms: first alone, then while a large study is
deleted, which puts its export into the trash, and finally while the trash is emptied. Measured is how long the worker
waits for a suggestion, and for the response to a result. After some results, it begins another small study, so that
the models stay small.
"""

from __future__ import annotations

import argparse
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import sqlalchemy as sa

from adabkb_service.storage import events, observations, trials
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ObservationRow, TrialRow, event_row
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import BACKENDS, Fresh, described
from benchmarks.service.load import Worker
from benchmarks.service.measured import Pair
from benchmarks.service.methods import DEFAULT
from benchmarks.service.processes import SERVE, serving, text
from benchmarks.service.workload import BOUNDS

Figures = dict[str, float]

EVALUATION = 0.05
ALONE = 400
"""Number of pairs before the deletion."""
WARM_UP, PAIRS = 15, 100
"""Numbers of pairs per small study that are not measured, and that are."""
AT_ONCE = 1000
TRIAL_BYTES = 5000
"""Size of a trial, its result and its two events in an export."""
EVENT_BYTES = 2000
LARGE = "/v1/studies/large"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.removal", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small study; writes nothing")
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the export of the large study")
    parser.add_argument("--out", type=Path, default=RESULTS / "removal.json")
    options = parser.parse_args()
    found = {}
    for backend, made in BACKENDS.items():
        with made() as fresh:
            found[backend] = measured(backend, fresh, 20 if options.quick else options.megabytes)
            print_table(HEADER, list(rows({backend: found[backend]})))
    if not options.quick:
        write(options.out, {**provenance("benchmarks.service.removal"), "databases": found})


def rows(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """The figures of each database and each situation."""
    for backend, measurements in found.items():
        for situation, figures in measurements["situations"].items():
            yield [backend, situation, *(f"{figures[name]:.3g}" for name in NAMES)]


NAMES = ("seconds", "suggest median ms", "suggest 99% ms", "suggest longest ms", "observe longest ms")
HEADER = ("database", "meanwhile", "duration, s", *NAMES[1:])


def measured(backend: str, fresh: Fresh, megabytes: int) -> dict[str, Any]:
    """Measure the situations on one database."""
    url = fresh()
    with serving([[*SERVE, text(url)]]) as (address,), closing(Database(text(url))) as database:
        worker = Worker(0, 1, [address], EVALUATION)
        worker.create("large", 0, DEFAULT)
        fill(database, megabytes)
        server = httpx.Client(base_url=address, timeout=3600)

        def delete() -> None:
            server.delete(LARGE).raise_for_status()
            _wait_until_empty(database, "events", "study_id = 'large'")

        def purge() -> None:
            (deletion,) = server.get("/v1/trash").json()["items"]
            server.delete(f"/v1/trash/{deletion['deletion']}").raise_for_status()
            if sa.inspect(database.engine).has_table("parts"):
                _wait_until_empty(database, "parts")

        found = {"alone": beside(worker, lambda: time.sleep(ALONE * EVALUATION))}
        found["large study deleted"] = beside(worker, delete)
        found["trash emptied"] = beside(worker, purge)
        return {"megabytes": megabytes, **described(backend, url), "situations": found}


def beside(worker: Worker, work: Callable[[], None]) -> Figures:
    """Measure the waiting times of the small studies during other work."""
    over, pairs = threading.Event(), list[Pair]()

    def keep_asking() -> None:
        while not over.is_set():
            study = f"small-{secrets.token_hex(4)}"
            worker.create(study, 0, DEFAULT)
            for number in range(WARM_UP + PAIRS):
                pair = worker.pair(study)
                if number >= WARM_UP or over.is_set():  # the last one may have waited for the end of the deletion
                    pairs.append(pair)
                if over.is_set():
                    return

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(keep_asking)
        while not pairs and not asking.done():
            time.sleep(EVALUATION)
        started = time.perf_counter()
        try:
            work()
        finally:
            over.set()
        seconds = time.perf_counter() - started
        asking.result()
    suggest = [1e3 * (pair.suggested - pair.asked) for pair in pairs]
    middle, high, longest = np.quantile(suggest, [0.5, 0.99, 1.0])
    observe = max(1e3 * (pair.observed - pair.told) for pair in pairs)
    return dict(zip(NAMES, map(float, (seconds, middle, high, longest, observe)), strict=True))


def fill(database: Database, megabytes: int) -> None:
    """Give the study an export of about this size. Its log cannot be replayed."""
    now, point = datetime.now(UTC), {name: low for name, (low, _) in BOUNDS.items()}
    count = megabytes * 10**6 // TRIAL_BYTES
    for first in range(1, count + 1, AT_ONCE):
        some = range(first, min(first + AT_ONCE, count + 1))
        with database.writing() as connection:
            trials.add(connection, [TrialRow.new("large", number, point, now, state="completed") for number in some])
            observations.add(
                connection,
                [
                    ObservationRow("large", number, number, 1, point, 0.5, None, False, now, None, None, None, None)
                    for number in some
                ],
            )
            events.add(
                connection,
                [
                    event_row("large", seq, "annotated", number, {"note": secrets.token_hex(EVENT_BYTES // 2)}, now)
                    for number in some
                    for seq in (2 * number, 2 * number + 1)
                ],
            )


def _wait_until_empty(database: Database, table: str, condition: str = "true") -> None:
    query = f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1"
    while True:
        with database.reading() as connection:
            if connection.exec_driver_sql(query).first() is None:
                return
        time.sleep(0.2)


if __name__ == "__main__":
    main()
