"""Perform the runs of a benchmark in worker processes. Several benchmarks may write to the same results file."""

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
    """A job for another process."""

    def run(self) -> Any:
        """Perform the job, and return its outcome."""


J = TypeVar("J", bound=Runnable)


def run_all(jobs: Sequence[J], workers: int) -> Iterator[tuple[J, Future[Any]]]:
    """Yield each job with its finished future, in order of completion. Workers are new processes with one BLAS
    thread."""
    os.environ.update(ONE_THREAD)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(job.run): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done
        finally:
            pool.shutdown(cancel_futures=True)


def keep_all(jobs: Sequence[J], workers: int, keep: Callable[[J, Any], None]) -> int:
    """Run jobs with a progress bar, and store their results. Returns the number of failed jobs."""
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
    """Yield the path of a new file, which replaces ``path`` at the end of the block. Other processes that rewrite files
    in this folder wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        partial = path.with_suffix(".partial")
        yield partial
        partial.replace(path)
    finally:
        os.close(descriptor)
