"""The state of a run: the work done so far, whether workers continue, and the effect of errors on the run."""

import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Protocol

from adabkb_client._leased import MISTAKES, Leased, is_mistake
from adabkb_client._models import Answer, Recommendation, RunReport
from adabkb_client._plain import WrongResult
from adabkb_client._run.frames import own_frames
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, Standing
from adabkb_client.errors import AdaBKBError, Conflict, Invalid, NoTrialAvailable, WorkerDied, WorkerLost

log = logging.getLogger("adabkb_client")

DEFAULT_PAUSE = 1.0
"""Seconds until the study is asked again, if it does not say."""
FINISHED = ("completed", "failed", "stopped")


class Flag(Protocol):
    """An event, of threads or of tasks."""

    def set(self) -> object:
        """Let those who wait for it go on."""

    def is_set(self) -> bool:
        """Whether it has come."""


class RunState:
    """The shared state of a run's workers, which are threads or tasks.

    Args:
        study_id: the id of the study.
        options: the options of the run.
        progress: where to show it.
        over: is set when no further trial is to be taken.
    """

    def __init__(self, study_id: str, options: Options, progress: Progress, over: Flag) -> None:
        self.options = options
        self.progress = progress
        self.reason: str | None = None
        self.error: BaseException | None = None
        self._study_id = study_id
        self._over = over
        self._deadline = math.inf if options.timeout is None else monotonic() + options.timeout
        self._taken = 0
        self._completed = 0
        self._failed = 0
        self._stopped = 0
        self._failures_in_a_row = 0
        self._last_failure: Exception | None = None
        self._lock = threading.Lock()

    @property
    def remaining(self) -> float:
        """Seconds until the timeout."""
        return max(self._deadline - monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether a trial that was just issued should be given back."""
        return self._over.is_set() or not self.remaining

    def may_take(self) -> bool:
        """Whether a further trial is to be asked for."""
        if self._over.is_set() or self._taken == self.options.n_trials:
            return False
        if not self.remaining:
            self.end("timeout")
            return False
        return True

    def took(self) -> None:
        """Count a trial that was issued. Ask ``may_take`` and tell this without another worker in between."""
        with self._lock:
            self._taken += 1

    def pause(self, none: NoTrialAvailable) -> float:
        """Return the seconds until the study is asked again.

        Raises:
            NoTrialAvailable: failures have paused the study.
        """
        if none.reason == "failures":
            raise none from self._last_failure
        return min(DEFAULT_PAUSE if none.retry_after is None else none.retry_after, self.remaining)

    def end(self, reason: str | None) -> None:
        """Take no further trial; the first reason counts."""
        with self._lock:
            self.reason = self.reason or reason
        self._over.set()

    def fail(self, error: BaseException) -> None:
        """End the run with an error; the first one counts."""
        with self._lock:
            self.error = self.error or error
        self._over.set()

    def count(self, outcome: Answer | None) -> None:
        """Count a trial that ended without an exception."""
        trial = None if outcome is None else outcome.trial
        if outcome is None or trial is None or trial.state not in FINISHED:
            return  # it was given back
        with self._lock:
            if trial.state == "failed":
                self._failed += 1
                return
            self._failures_in_a_row = 0
            if trial.state == "stopped":
                self._stopped += 1
                self.progress.show(Standing.of(outcome.study))
            else:
                self._completed += 1
                self.progress.result(trial.number, trial.value, Standing.of(outcome.study), trial.metrics)

    def caught(self, trial: Leased, error: Exception) -> None:
        """Count a failure that never stops the run."""
        shown = type(error), error, own_frames(error)
        log.warning("trial %d of study %r failed", trial.number, self._study_id, exc_info=shown)
        with self._lock:
            self._failed += 1
            self._last_failure = error

    def _lost(self, trial: Leased, error: WorkerLost) -> None:
        """Take another trial in place of one that was given back because its worker was lost."""
        log.warning("trial %d of study %r is released: %s", trial.number, self._study_id, error)
        with self._lock:
            self._taken -= 1

    def is_mistake(self, error: BaseException) -> bool:
        """Whether an error of the function is a mistake of the program: see ``leased.is_mistake``."""
        return is_mistake(error, has_succeeded=self._completed + self._stopped > 0)

    def judge(self, trial: Leased, error: Exception) -> None:
        """Count an exception as a failure of the trial, and end the run if it was one too many.

        Raises:
            Exception: the same one, if it is not about this trial but about the server or the program.
        """
        if isinstance(error, AdaBKBError) and not isinstance(error, Conflict | Invalid | WorkerDied | WorkerLost):
            raise error  # the server failed, not this evaluation
        if self.is_mistake(error):
            error.add_note(
                f"trial {trial.number} of study {self._study_id!r} was given back, not failed: it cost nothing"
            )
            is_optuna = isinstance(getattr(error, "obj", None), Leased)  # an attribute of Optuna's trials
            if not is_optuna and not isinstance(error, (*MISTAKES, WrongResult, Invalid)):
                kind = type(error).__name__
                error.add_note(
                    f"Before the first result of a run, {kind} is taken for a mistake of the program. "
                    f"To let it fail its trial instead: run(..., catch={kind})"
                )
            raise error
        if isinstance(error, WorkerLost):
            self._lost(trial, error)
        else:
            self.caught(trial, error)
        with self._lock:
            self._failures_in_a_row += 1
            failures = self._failures_in_a_row
        if failures >= self.options.max_failures:
            error.add_note(f"study {self._study_id!r}: stopped by {failures} failures in a row, this is the last")
            self.fail(error)

    def conclude(self, outcome: Answer) -> None:
        """End the run if the trial of this outcome was the last one."""
        if outcome.study.state == "complete":
            self.end(outcome.study.reason)
        elif self._completed + self._failed + self._stopped == self.options.n_trials:
            self.end("n_trials")

    def report(self, recommendation: Recommendation) -> RunReport:
        """Return the report of the run."""
        reason = self.reason or "n_trials"  # some of which may have been given back
        return RunReport(self._completed, self._failed, reason, recommendation, self._stopped)


@contextmanager
def stoppable(state: RunState) -> Iterator[None]:
    """Make ``stop`` end this run if it is called inside the block, directly or indirectly."""
    before = _current.set(state)
    try:
        yield
    finally:
        _current.reset(before)


def stop() -> None:
    """End the run that this is called in: see ``Study.stop``."""
    state = _current.get()
    if state is None:
        raise RuntimeError(
            "stop() ends a run: call it in a callback of study.run(), in its function, or in a handler of a signal"
        )
    state.end("stopped")


_current: ContextVar[RunState | None] = ContextVar("state", default=None)
"""The run that a worker belongs to, or that the thread waits for which has called it."""
