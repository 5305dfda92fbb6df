"""Runs a function over the trials of a study, in several threads; each may evaluate in a process of its own."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adabkb_client.errors import AdaBKBError, Conflict, Invalid, NoTrialAvailable, StudyComplete, WorkerDied
from adabkb_client.evaluation import Evaluation, Objective, Result
from adabkb_client.lease import LeasedTrial, exit_on_sigterm
from adabkb_client.leased import MISTAKES, in_words
from adabkb_client.models import Answer, Recommendation, Trial
from adabkb_client.processes import WorkerProcess
from adabkb_client.progress import Progress
from adabkb_client.trial_calls import RELEASE_PATIENCE

if TYPE_CHECKING:
    from adabkb_client.study import Study

log = logging.getLogger("adabkb_client")

Callback = Callable[["Study", Trial], object]
"""Takes the study and a trial that this run has just finished."""

DEFAULT_PAUSE = 1.0
LOOK_EVERY = 0.5
"""Seconds between two looks at whether a signal has come. The system may give it to any thread, and then a wait of the
main thread, in which signals are handled, goes on."""


@dataclass(frozen=True)
class RunReport:
    """The end of a run: how many trials it ``completed`` and how many ``failed``, and the ``reason`` why it ended.

    ``reason`` is "budget", "converged", "exhausted" or "no_gain" if the study is complete, else "n_trials",
    "timeout", or "stopped" (by ``Study.stop``).
    """

    completed: int
    failed: int
    reason: str
    recommendation: Recommendation


@dataclass(frozen=True)
class Options:
    """How to run: see ``Study.run``."""

    n_trials: int | None
    timeout: float | None
    workers: int
    processes: bool
    callbacks: Sequence[Callback]
    catch: type[Exception] | tuple[type[Exception], ...]
    pass_trial: bool
    max_failures: int
    progress: bool
    lease_seconds: float

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1, not {self.workers}")
        if self.n_trials is not None and self.n_trials < 1:
            raise ValueError(f"n_trials must be at least 1, or None for no limit, not {self.n_trials}")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be more than 0 seconds, or None for no limit, not {self.timeout}")
        if not isinstance(self.processes, bool):
            raise TypeError(f"processes must be True or False, not {self.processes!r}; workers=... says how many")
        kinds = self.catch if isinstance(self.catch, tuple) else (self.catch,)
        if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
            raise TypeError(f"catch must be a class of exceptions or a tuple of them, not {self.catch!r}")


def run(study: "Study", function: Objective, options: Options) -> RunReport:
    """Evaluate trials until the study, or this run, is over: see ``Study.run``."""
    info = study.info()
    evaluation = Evaluation(function, options.pass_trial)
    evaluation.check(info)
    with Progress(study, info, visible=options.progress) as shown:
        crew = _Crew(study, evaluation, options, shown)
        threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(options.workers)]
        before = _crew.set(crew)  # for handlers of signals, which are called in this thread
        with exit_on_sigterm():
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(LOOK_EVERY)
            except BaseException:  # Ctrl-C, SIGTERM
                crew.abandon()
                raise
            finally:
                _crew.reset(before)
    if crew.error:
        raise crew.error
    reason = crew.reason or "n_trials"  # some of which may have been given back
    return RunReport(crew.completed, crew.failed, reason, study.recommendation())


def stop() -> None:
    """End the run that this is called in: see ``Study.stop``."""
    crew = _crew.get()
    if crew is None:
        raise RuntimeError(
            "stop() ends a run: call it in a callback of study.run(), in its function, or in a handler of a signal"
        )
    crew.end("stopped")


class _Crew:
    """What the worker threads share; ``_lock`` guards what changes."""

    def __init__(self, study: "Study", evaluation: Evaluation, options: Options, progress: Progress) -> None:
        self.completed = 0
        self.failed = 0
        self.reason: str | None = None
        self.error: BaseException | None = None
        self._study = study
        self._evaluation = evaluation
        self._options = options
        self._progress = progress
        self._deadline = math.inf if options.timeout is None else time.monotonic() + options.timeout
        self._taken = 0
        self._failures_in_a_row = 0
        self._last_failure: Exception | None = None
        self._leased: set[LeasedTrial] = set()
        self._processes: list[WorkerProcess] = []
        self._stop = threading.Event()
        self._abandoned = False
        self._lock = threading.Lock()
        self._calling_back = threading.Lock()
        self._asking = threading.Lock()
        """Held from the request for a trial until it is in ``_leased``, so that ``abandon`` misses none in between."""

    def work(self) -> None:
        """Evaluate one trial after the other until the study, or the run, is over."""
        _crew.set(self)
        try:
            if self._options.processes:
                self._work_in_a_process()
            else:
                self._work(self._evaluation)
        except BaseException as error:  # a failure of the server, or sys.exit; failures of the function are counted
            self._fail(error)

    def _work_in_a_process(self) -> None:
        process = WorkerProcess(self._evaluation, self._study)
        with self._lock:
            self._processes.append(process)
            if self._abandoned:
                process.kill()
        try:
            self._work(process)
        finally:
            process.close()

    def _work(self, evaluate: Callable[[LeasedTrial], Result | Answer]) -> None:
        while not self._stop.is_set():
            try:
                trial = self._lease()
            except StudyComplete as end:
                self.end(end.reason)
            except NoTrialAvailable as none:
                if none.reason == "failures":
                    raise none from self._last_failure
                self._progress.waiting(none)
                self._stop.wait(min(none.retry_after or DEFAULT_PAUSE, self._remaining))
            else:
                if trial is None:
                    return
                try:
                    self._evaluate(trial, evaluate)
                finally:
                    with self._lock:
                        self._leased.discard(trial)
                if trial.outcome:
                    self._conclude(trial.outcome)

    def end(self, reason: str | None) -> None:
        """Take no further trial; the first reason counts."""
        with self._lock:
            self.reason = self.reason or reason
        self._stop.set()

    def abandon(self) -> None:
        """Give all trials back.

        A function in a thread cannot be interrupted; if it still returns a result, the result is stored. Worker
        processes are ended.
        """
        self._abandoned = True
        self._stop.set()
        if self._asking.acquire(timeout=RELEASE_PATIENCE):
            self._asking.release()
        with self._lock:
            leased = list(self._leased)
            processes = list(self._processes)
        for trial in leased:
            try:
                trial.release()
            except AdaBKBError as error:
                log.warning("trial %d of study %r not released: %s", trial.number, self._study.id, error)
        for process in processes:
            process.kill()

    @property
    def _remaining(self) -> float:
        """Seconds until the timeout."""
        return max(self._deadline - time.monotonic(), 0.0)

    def _lease(self) -> LeasedTrial | None:
        """Ask for a trial; None if this run takes no further one."""
        with self._asking:
            if self._stop.is_set() or self._taken == self._options.n_trials:
                return None
            if not self._remaining:
                self.end("timeout")
                return None
            trial = self._study.lease(lease_seconds=self._options.lease_seconds)
            self._taken += 1
            with self._lock:
                self._leased.add(trial)
        return trial

    def _evaluate(self, trial: LeasedTrial, evaluate: Callable[[LeasedTrial], Result | Answer]) -> None:
        if self._stop.is_set() or not self._remaining:  # the run ended during the request
            trial.release()
            return
        try:
            with trial:
                try:
                    result = evaluate(trial)
                except self._options.catch as error:
                    self._log_failure(trial, error)
                    trial.fail(in_words(error))
                    with self._lock:
                        self.failed += 1
                        self._last_failure = error
                else:
                    if isinstance(result, Answer):  # the function, perhaps in a process, has reported it
                        trial.outcome = result
                    else:
                        trial.observe(*result)
                    self._count(trial.outcome)
        except Exception as error:
            if isinstance(error, AdaBKBError) and not isinstance(error, Conflict | Invalid | WorkerDied):
                raise  # the server failed, not this evaluation
            if isinstance(error, MISTAKES):
                error.add_note(f"trial {trial.number} of study {self._study.id!r} was given back, not failed")
                raise
            self._log_failure(trial, error)
            self._count_failure(error)

    def _conclude(self, outcome: Answer) -> None:
        """Tell the callbacks of a trial that was just finished, and end the run if it was the last one."""
        if outcome.trial is not None and outcome.trial.state in ("completed", "failed"):
            with self._calling_back:
                for callback in self._options.callbacks:
                    callback(self._study, outcome.trial)
        if outcome.study.state == "complete":
            self.end(outcome.study.reason)
        elif self.completed + self.failed == self._options.n_trials:
            self.end("n_trials")

    def _count(self, outcome: Answer | None) -> None:
        """Count a trial that ended without an exception."""
        trial = None if outcome is None else outcome.trial
        if outcome is None or trial is None or trial.state not in ("completed", "failed"):
            return  # it was given back
        with self._lock:
            if trial.state == "failed":
                self.failed += 1
            else:
                self.completed += 1
                self._failures_in_a_row = 0
                self._progress.result(trial, outcome.study)

    def _log_failure(self, trial: LeasedTrial, error: Exception) -> None:
        log.warning("trial %d of study %r failed", trial.number, self._study.id, exc_info=error)

    def _count_failure(self, error: Exception) -> None:
        with self._lock:
            self.failed += 1
            self._failures_in_a_row += 1
            self._last_failure = error
            failures = self._failures_in_a_row
        if failures >= self._options.max_failures:
            error.add_note(f"study {self._study.id!r}: stopped by {failures} failures in a row, this is the last")
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
        self._stop.set()


_crew: ContextVar[_Crew | None] = ContextVar("crew", default=None)
"""The run that a worker thread belongs to, or that the thread waits for which has called it."""
