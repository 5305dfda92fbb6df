"""The thread that performs the periodic work of a server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adabkb_service.errors import AdaBKBError, Unavailable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be done periodically."""

    name: str
    """What it does, for the log: "The job that expires leases"."""
    perform: Callable[[float], object]
    """Gets the number of seconds since the last attempt in this server, or since its start."""
    seconds: float = 0.0
    """Seconds after which a job that succeeded is due again; 0 for each round."""


class Sweeper:
    """Performs jobs in rounds. A job that fails is tried again in the next round. The same failure of a job is logged
    once until the job succeeds or fails in another way. Other jobs still run, unless the database does not answer."""

    def __init__(self, jobs: Sequence[Job], pause: float, now: Callable[[], float] = time.monotonic) -> None:
        """Create a sweeper for jobs, in order. ``pause`` is the number of seconds between two rounds, and ``now`` a
        clock."""
        self._jobs = jobs
        self._pause = pause
        self._now = now
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sweeper", daemon=True)
        self._tried_at = dict.fromkeys((job.name for job in jobs), now())
        self._done_at = dict(self._tried_at)
        self._failed: dict[str, str] = {}
        """Name of a job -> its last error, as long as it fails."""

    def start(self) -> None:
        """Perform rounds in a thread from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Wait for the end of the current job, and perform no further one."""
        self._stopping.set()
        self._thread.join()

    def round(self) -> None:
        """Perform the jobs that are due."""
        for job in self._jobs:
            now = self._now()
            if now - self._done_at[job.name] < job.seconds or self._stopping.is_set():
                continue
            since, self._tried_at[job.name] = now - self._tried_at[job.name], now
            try:
                job.perform(since)
            except Exception as error:
                self._log(job, error)
                if isinstance(error, Unavailable):
                    return
            else:
                self._done_at[job.name] = now
                self._failed.pop(job.name, None)

    def _log(self, job: Job, error: Exception) -> None:
        """Log a failure, unless the last attempt failed in the same way. For a defect, log the traceback."""
        text = f"{type(error).__name__}: {error}"
        if self._failed.get(job.name) != text:
            trace = None if isinstance(error, AdaBKBError) else error
            what = "the job that %s failed and is retried every %s s: %s"
            logger.log(
                logging.WARNING if trace is None else logging.ERROR, what, job.name, self._pause, error, exc_info=trace
            )
        self._failed[job.name] = text

    def _loop(self) -> None:
        while not self._stopping.wait(self._pause):
            self.round()
