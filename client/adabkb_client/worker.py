"""Evaluates the trials of a study with a function, in several threads."""

import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsFloat

from adabkb_client.errors import AdaBKBError, Conflict, Invalid, NoTrialAvailable, StudyComplete
from adabkb_client.lease import MISTAKES, LeasedTrial, exit_on_sigterm
from adabkb_client.models import Recommendation, StudyInfo
from adabkb_client.plain import NotANumber
from adabkb_client.progress import Progress
from adabkb_client.resource import RELEASE_PATIENCE, StudyResource

log = logging.getLogger("adabkb_client")

Objective = Callable[..., SupportsFloat | tuple[SupportsFloat, SupportsFloat]]
"""Takes the parameters by name; returns the value, or the value and its standard error."""

DEFAULT_PAUSE = 1.0


@dataclass(frozen=True)
class RunReport:
    """The end of a run: how many trials it ``completed`` and how many ``failed``, and why the study is complete."""

    completed: int
    failed: int
    reason: str | None
    recommendation: Recommendation


def run(
    study: StudyResource,
    function: Objective,
    *,
    workers: int,
    max_failures: int,
    progress: bool,
    lease_seconds: float,
) -> RunReport:
    """Evaluate trials until the study is complete: see ``Study.run``."""
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    info = study.info()
    _check_signature(function, info)
    with Progress(study, info, visible=progress) as shown:
        crew = _Crew(study, function, max_failures, lease_seconds, shown)
        threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(workers)]
        with exit_on_sigterm():
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            except BaseException:  # Ctrl-C, SIGTERM
                crew.abandon()
                raise
    if crew.error:
        raise crew.error
    return RunReport(crew.completed, crew.failed, crew.reason, study.recommendation())


class _Crew:
    """What the worker threads share; ``_lock`` guards what changes."""

    def __init__(
        self, study: StudyResource, function: Objective, max_failures: int, lease_seconds: float, progress: Progress
    ) -> None:
        self.completed = 0
        self.failed = 0
        self.reason: str | None = None
        self.error: BaseException | None = None
        self._study = study
        self._function = function
        self._max_failures = max_failures
        self._lease_seconds = lease_seconds
        self._progress = progress
        self._failures_in_a_row = 0
        self._last_failure: Exception | None = None
        self._leased: set[LeasedTrial] = set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        """Held from the request for a trial until it is in ``_leased``, so that ``abandon`` misses none in between."""

    def work(self) -> None:
        """Evaluate one trial after the other until the study, or the run, is over."""
        try:
            while not self._stop.is_set():
                try:
                    trial = self._lease()
                except StudyComplete as end:
                    self.reason = end.reason
                    self._stop.set()
                except NoTrialAvailable as none:
                    if none.reason == "failures":
                        raise none from self._last_failure
                    self._progress.waiting(none)
                    self._stop.wait(none.retry_after or DEFAULT_PAUSE)
                else:
                    if trial is not None:
                        self._evaluate(trial)
        except BaseException as error:  # a failure of the server, or sys.exit; failures of the function are counted
            self._end(error)

    def abandon(self) -> None:
        """Give all trials back.

        The function cannot be interrupted; if it still returns a result, the result is stored.
        """
        self._stop.set()
        if self._asking.acquire(timeout=RELEASE_PATIENCE):
            self._asking.release()
        with self._lock:
            leased = list(self._leased)
        for trial in leased:
            try:
                trial.release()
            except AdaBKBError as error:
                log.warning("trial %d of study %r not released: %s", trial.number, self._study.id, error)

    def _lease(self) -> LeasedTrial | None:
        """Ask for a trial; None if the run is over."""
        with self._asking:
            if self._stop.is_set():
                return None
            trial = LeasedTrial(self._study, self._study.suggest(lease_seconds=self._lease_seconds))
            with self._lock:
                self._leased.add(trial)
        return trial

    def _evaluate(self, trial: LeasedTrial) -> None:
        try:
            if self._stop.is_set():  # the run ended during the request
                trial.release()
                return
            with trial:
                value, std_error = _split(self._function(**trial.parameters))
                answer = trial.observe(value, std_error)
        except Exception as error:
            if isinstance(error, AdaBKBError) and not isinstance(error, Conflict | Invalid):
                raise  # the server failed, not this evaluation
            if isinstance(error, MISTAKES):
                error.add_note(f"trial {trial.number} of study {self._study.id!r} was given back, not failed")
                raise
            self._count_failure(trial, error)
        else:
            with self._lock:
                self.completed += 1
                self._failures_in_a_row = 0
                self._progress.result(trial.number, float(value), answer.study)
            if answer.study.state == "complete":
                self.reason = answer.study.reason
                self._stop.set()
        finally:
            with self._lock:
                self._leased.discard(trial)

    def _count_failure(self, trial: LeasedTrial, error: Exception) -> None:
        log.warning("trial %d of study %r failed", trial.number, self._study.id, exc_info=error)
        with self._lock:
            self.failed += 1
            self._failures_in_a_row += 1
            self._last_failure = error
            failures = self._failures_in_a_row
        if failures >= self._max_failures:
            error.add_note(f"study {self._study.id!r}: stopped by {failures} failures in a row, this is the last")
            self._end(error)

    def _end(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
        self._stop.set()


def _check_signature(function: Objective, study: StudyInfo) -> None:
    """Refuse a function that does not take the study's parameters by name, before any trial is handed out."""
    names = [parameter["name"] for parameter in study.parameters]
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:  # a builtin function may have none
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as misfit:
        raise TypeError(
            f"study {study.id!r} calls the function with the parameters {', '.join(names)} by name, "
            f"but it takes {signature}: {misfit}"
        ) from None


def _split(result: Any) -> tuple[SupportsFloat, SupportsFloat | None]:
    if not isinstance(result, tuple):
        return result, None
    if len(result) != 2:
        raise NotANumber(f"the function must return a value or (value, standard error), not {len(result)} values")
    return result
