"""Runs of a benchmark in worker processes, and a results file that several of them may add to."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

# Read by the BLAS libraries when numpy is first imported, so they must be set before a worker starts.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Runnable(Protocol):
    """Something to be done elsewhere."""

    def run(self) -> Any:
        """Do it."""


J = TypeVar("J", bound=Runnable)


def run_all(jobs: Sequence[J], workers: int) -> Iterator[tuple[J, Future[Any]]]:
    """Every job's outcome or failure, as it ends. Workers are fresh processes on one BLAS thread each."""
    os.environ.update(ONE_THREAD)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(job.run): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done
        finally:
            pool.shutdown(cancel_futures=True)


def keep_all(jobs: Sequence[J], workers: int, keep: Callable[[J, Any], None]) -> int:
    """Run jobs and keep what comes of them, with a progress bar; how many failed."""
    failed = 0
    for job, done in tqdm(run_all(jobs, workers), total=len(jobs), unit="run", mininterval=10):
        if error := done.exception():
            failed += 1
            tqdm.write(f"{job}: {error!r}")
        else:
            keep(job, done.result())
    return failed


@contextmanager
def rewriting(path: Path) -> Iterator[Path]:
    """The file that replaces this one at the end of the block; alone among the processes that do so in its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        partial = path.with_suffix(".partial")
        yield partial
        partial.replace(path)
    finally:
        os.close(descriptor)
