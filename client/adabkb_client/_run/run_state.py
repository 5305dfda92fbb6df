"""The state of a run: its progress, whether its workers continue, and the effects of errors."""

import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from time import monotonic
from typing import Protocol

from adabkb_client._records import Answer, Recommendation, RunReport, Trial
from adabkb_client._run.evaluation import note_on_tuples
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.tracebacks import own_frames
from adabkb_client._trial_calls import MISTAKES, Leased, is_mistake, is_of_evaluation
from adabkb_client.errors import (
    AdaBKBError,
    Conflict,
    Invalid,
    NoTrialAvailable,
    StudyComplete,
    WorkerLost,
    WrongResult,
)

log = logging.getLogger("adabkb_client")

DEFAULT_PAUSE = 1.0
"""Default number of seconds until the next request for a trial."""
FINISHED = ("completed", "failed", "stopped")


class Flag(Protocol):
    """A ``threading.Event`` or an ``asyncio.Event``."""

    def set(self) -> object:
        """Set the event, and wake all waiters."""

    def is_set(self) -> bool:
        """Return whether it is set."""


class RunState:
    """The shared state of a run's workers, which are threads or tasks.

    Args:
        study_id: the id of the study.
        options: the options of the run.
        progress: shows the progress.
        over: set when no further trial should be evaluated.
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
        self._under_way: set[tuple[int, int]] = set()
        self._completed: set[int] = set()
        self._failed = 0
        self._stopped = 0
        self._failures_in_a_row = 0
        self._last_failure: Exception | None = None
        self._newest: tuple[datetime, StudyProgress] | None = None
        self._lock = threading.Lock()

    @property
    def remaining(self) -> float:
        """Seconds until the timeout."""
        return max(self._deadline - monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether no further evaluation should begin."""
        return self._over.is_set() or not self.remaining

    def may_take(self) -> bool:
        """Return whether to request a further trial."""
        if self._over.is_set() or self._taken == self.options.n_trials:
            return False
        if not self.remaining:
            self.end("timeout")
            return False
        return True

    def needed(self, most: int) -> int:
        """Return how many further trials the run takes, at most ``most``."""
        return most if self.options.n_trials is None else min(most, self.options.n_trials - self._taken)

    def took(self, trial: Leased) -> None:
        """Count a trial that a worker evaluates from now on. Workers take trials one at a time, so that the run takes
        at most ``n_trials``."""
        with self._lock:
            self._taken += 1
            self._under_way.add((trial.number, trial.trial.attempt))

    def leave(self, trial: Leased) -> None:
        """Record that this run no longer evaluates a trial."""
        with self._lock:
            self._under_way.discard((trial.number, trial.trial.attempt))

    @property
    def under_way(self) -> frozenset[tuple[int, int]]:
        """The numbers and attempts of the trials that this run evaluates."""
        with self._lock:
            return frozenset(self._under_way)

    def pause(self, none: NoTrialAvailable) -> float:
        """Return the seconds until the next request for a trial.

        Raises:
            NoTrialAvailable: failures have paused the study.
        """
        if none.reason == "failures":
            raise none from self._last_failure
        return min(DEFAULT_PAUSE if none.retry_after is None else none.retry_after, self.remaining)

    def end(self, reason: str | None) -> None:
        """End the run: request no further trial. The first reason is kept."""
        with self._lock:
            self.reason = self.reason or reason
        self._over.set()

    def complete(self, end: StudyComplete) -> None:
        """End the run, since the study is complete. If it was complete before the run, log why."""
        with self._lock:
            is_new = self.reason is None and not self._taken
        if is_new:
            log.info("%s", end)
        self.end(end.reason)

    def fail(self, error: BaseException) -> None:
        """End the run with an error. The first error is kept."""
        with self._lock:
            self.error = self.error or error
        self._over.set()

    def count(self, outcome: Answer | None) -> None:
        """Count a trial that ended without an exception."""
        trial = None if outcome is None else outcome.trial
        if outcome is None or trial is None or trial.state not in FINISHED:
            return  # the trial was released
        with self._lock:
            progress = self._progress_after(trial, StudyProgress.of(outcome.study))
            if trial.state == "failed":
                self._failed += 1
                self.progress.show(progress)
                return
            self._failures_in_a_row = 0
            if trial.state == "stopped":
                self._stopped += 1
                self.progress.show(progress)
            else:
                self._completed.add(trial.number)  # a trial that was issued twice may have two results
                self.progress.result(trial.number, trial.value, progress, trial.metrics)

    def caught(self, trial: Leased, error: Exception) -> None:
        """Count and log a failed trial, or a stopped one whose function failed afterwards, without ending the run.
        ``judge`` may then end it."""
        shown = type(error), error, own_frames(error)
        happened = "was stopped, and then its function failed" if trial.should_stop else "failed"
        log.warning("trial %d of study %r %s", trial.number, self._study_id, happened, exc_info=shown)
        with self._lock:
            if trial.should_stop:
                self._stopped += 1
            else:
                self._failed += 1
            self._last_failure = error
            if trial.outcome is not None and trial.outcome.trial is not None:
                self.progress.show(self._progress_after(trial.outcome.trial, StudyProgress.of(trial.outcome.study)))

    def _progress_after(self, trial: Trial, progress: StudyProgress) -> StudyProgress:
        """Return the progress of the study after a trial, or that after a later trial if the answers of the server
        arrive in another order, so that the numbers shown never decrease. The caller holds the lock."""
        if trial.finished_at is not None and (self._newest is None or self._newest[0] <= trial.finished_at):
            self._newest = trial.finished_at, progress
        return progress if self._newest is None else self._newest[1]

    def _lost(self, trial: Leased, error: WorkerLost) -> None:
        """Allow another trial in place of one that was released because its worker was lost."""
        log.warning("trial %d of study %r is released: %s", trial.number, self._study_id, error)
        with self._lock:
            self._taken -= 1

    def is_mistake(self, error: BaseException) -> bool:
        """Return whether an error of the function is a programming error: see ``_trial_calls.is_mistake``."""
        return is_mistake(error, has_succeeded=bool(self._completed) or self._stopped > 0)

    def judge(self, trial: Leased, error: Exception) -> None:
        """Count an exception as a failure of the trial, and end the run if there were too many in a row.

        Raises:
            Exception: the same exception, if it was caused by the server or the program rather than by this trial.
        """
        if isinstance(error, AdaBKBError) and not (isinstance(error, Conflict) or is_of_evaluation(error)):
            raise error  # the server failed, not this evaluation
        if self.is_mistake(error):
            error.add_note(
                f"trial {trial.number} of study {self._study_id!r} had been stopped by early stopping"
                if trial.should_stop
                else f"trial {trial.number} of study {self._study_id!r} was released, not failed, so it does not count "
                "towards the budget"
            )
            is_optuna = isinstance(getattr(error, "obj", None), Leased)  # an attribute of Optuna's trials
            if not is_optuna and not isinstance(error, (*MISTAKES, WrongResult, Invalid)):
                kind = type(error).__name__
                error.add_note(
                    f"Before the first result of a run, {kind} counts as a programming error. "
                    f"To let it fail its trial instead: run(..., catch={kind})"
                )
                if note := note_on_tuples(trial.parameters):
                    error.add_note(note)
            raise error
        if isinstance(error, WorkerLost):
            self._lost(trial, error)
        else:
            self.caught(trial, error)
        with self._lock:
            self._failures_in_a_row += 1
            failures = self._failures_in_a_row
        if failures >= self.options.max_failures:
            error.add_note(
                f"the run of study {self._study_id!r} ended after {failures} failures in a row; this is the last one"
            )
            self.fail(error)

    def conclude(self, outcome: Answer) -> None:
        """End the run if the study is complete, or if this was the last of the run's ``n_trials``."""
        if outcome.study.state == "complete":
            self.end(outcome.study.reason)
        elif len(self._completed) + self._failed + self._stopped == self.options.n_trials:
            self.end("n_trials")

    def report(self, recommendation: Recommendation) -> RunReport:
        """Return the report of the run."""
        reason = self.reason or "n_trials"  # also if some of these trials were released
        return RunReport(len(self._completed), self._failed, reason, recommendation, self._stopped)


@contextmanager
def stoppable(state: RunState) -> Iterator[None]:
    """Make ``stop`` end this run if it is called inside the block, directly or indirectly."""
    before = _current.set(state)
    try:
        yield
    finally:
        _current.reset(before)


def stop() -> None:
    """End the current run: see ``Study.stop``."""
    state = _current.get()
    if state is None:
        raise RuntimeError(
            "stop() ends a run: call it in a callback of study.run(), in its function, or in a handler of a signal"
        )
    state.end("stopped")


_current: ContextVar[RunState | None] = ContextVar("state", default=None)
"""The run of the current worker, or the run for which the calling thread waits."""
