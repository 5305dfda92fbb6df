"""The progress of a run: a bar in a terminal or notebook, and one line of the log for each result."""

import logging
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

from adabkb_client._console import bar
from adabkb_client._log import lines_on_standard_error, log
from adabkb_client._records import StudySummary, Trial
from adabkb_client._values import figure
from adabkb_client.errors import NoTrialAvailable

LOOK_EVERY = 30.0
"""Seconds between two checks of the reason why a run waits."""


class StudyProgress(NamedTuple):
    """The progress of a study: the number of finished trials that count towards the budget, the number of failed ones
    among them, and the value of the best result that satisfies all outcome constraints."""

    finished: int
    failed: int
    best: float | None

    @classmethod
    def of(cls, study: StudySummary) -> Self:
        """Return the progress of a study on a server."""
        counts = study.counts
        failed = counts.failed - counts.own_failures
        best = None if study.best is None or study.best.feasible is False else study.best.value
        return cls(counts.completed + failed + counts.stopped, failed, best)


class Progress:
    """Shows the progress of a study, including trials of other workers. Threads may share it, in a ``with`` block.

    Args:
        name: the id of the study.
        budget: the budget in trials; None without a limit.
        study_progress: the progress before the run.
        visible: whether to show the progress; the log is always written.
    """

    def __init__(self, name: str, budget: int | None, study_progress: StudyProgress, *, visible: bool) -> None:
        self._budget = budget
        self._visible = visible
        self._shown: frozenset[object] = frozenset()
        self._looked = -LOOK_EVERY
        self._looking = threading.Lock()
        self._open = ExitStack()
        self._bar = bar(name, "trial", budget, visible=visible)
        self.show(study_progress)

    def __enter__(self) -> Self:
        self._open.enter_context(self._bar)
        if self._visible and self._bar.disable:
            self._open.enter_context(lines_on_standard_error())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def show(self, study_progress: StudyProgress) -> None:
        """Show the progress of the study."""
        self._bar.n = study_progress.finished
        self._bar.set_postfix(best=_best(study_progress), failed=study_progress.failed)

    def result(
        self,
        number: int,
        value: float | None,
        study_progress: StudyProgress,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Show the result of a trial and the progress after it; with several objectives, all metrics."""
        self.show(study_progress)
        total = "finished" if self._budget is None else f"of {self._budget}"
        if value is None:
            result = ", ".join(f"{name} {figure(each)}" for name, each in (metrics or {}).items())
        else:
            result = f"{figure(value)}, best {_best(study_progress)}"
        log.info("trial %d: %s, %d %s", number, result, study_progress.finished, total)

    def is_due(self) -> bool:
        """Whether it is time to check again why the run waits. It is True for only one of several threads."""
        with self._looking:
            if time.monotonic() < self._looked + LOOK_EVERY:
                return False
            self._looked = time.monotonic()
            return True

    def waiting(self, none: NoTrialAvailable, active: Sequence[Trial]) -> None:
        """Print the reason why the run waits, once: the study is paused, or trials are active outside this run."""
        is_paused = none.reason == "paused"
        reason = frozenset(["paused"]) if is_paused else frozenset((trial.number, trial.attempt) for trial in active)
        if reason - self._shown:
            message = f"waiting: {none}" if is_paused else _holders(active)
            if self._bar.disable or log.hasHandlers():
                log.log(logging.WARNING if is_paused else logging.INFO, message)
            else:  # a bar is shown instead of the log
                self._bar.write(message, file=sys.stderr)
        self._shown = reason


def _holders(active: Sequence[Trial]) -> str:
    held = [
        f"trial {trial.number} (held by {trial.worker or 'a worker without a name'} until "
        f"{trial.leased_until.astimezone():%H:%M})"
        for trial in active
        if trial.leased_until
    ]
    return f"waiting for {', '.join(held)}; study.release(number) releases a trial that is not being evaluated"


def _best(study_progress: StudyProgress) -> str:
    return "none" if study_progress.best is None else figure(study_progress.best)
