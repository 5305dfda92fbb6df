"""A client that records every call in its ledger, and compares the outcome with the allowed ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from adabkb_client import (
    AdaBKBError,
    Answer,
    BatchItem,
    Client,
    Conflict,
    ConnectionFailed,
    NoTrialAvailable,
    Parameter,
    Parameters,
    ResultItem,
    Study,
    StudyComplete,
    StudySummary,
    Trial,
    Unavailable,
)
from tests.acceptance.chaos.board import Plan
from tests.acceptance.chaos.ledger import Entry, Fate, Kind, Ledger

T = TypeVar("T")

EXPECTED = NoTrialAvailable | Conflict | ConnectionFailed | Unavailable
"""Errors that the faults explain."""
DONE: Set[Fate] = {"acknowledged"}
DONE_OR_REFUSED: Set[Fate] = {"acknowledged", "refused"}
NOT_YET = "request_in_progress"
"""The code of a refusal without information: an earlier attempt of the same call is still in progress."""


@dataclass(frozen=True, slots=True)
class CallOutcome(Generic[T]):
    """A call and its outcome."""

    kind: Kind
    study: str
    fate: Fate
    answer: T | None
    reason: str | None
    """The reason why there is no trial."""
    over: bool
    """Whether the study is complete."""
    started: datetime
    ended: datetime
    asked: float
    answered: float
    """By the monotonic clock, in seconds."""


class Session:
    """The calls of one client. It may give up, but never uses a key for another request."""

    def __init__(self, client: Client, ledger: Ledger) -> None:
        self.ledger = ledger
        self._client = client

    def create(self, plan: Plan) -> Study | None:
        """Create a study or open it; None if the client gave up. An edited study has another definition."""

        def action() -> Study:
            return self._client.create_study(plan.id, plan.parameters, direction=plan.direction, **plan.settings)

        made = self._call("create", plan.id, action, DONE_OR_REFUSED if plan.may_be_edited else DONE)
        self._enter(made)
        if made.fate == "refused":
            return self._call("read", plan.id, lambda: self._client.study(plan.id)).answer
        return made.answer

    def suggest(self, study: Study, count: int) -> CallOutcome[list[Trial]]:
        """Ask for trials."""
        worker = self.ledger.worker
        made = self._call("suggest", study.id, lambda: study.suggest(count, worker=worker), {"acknowledged", "nothing"})
        if made.answer is None:
            self._enter(made, count=count)
        for trial in made.answer or ():
            self._enter(made, trial=trial.number, attempt=trial.attempt, parameters=trial.parameters)
        return made

    def observe(self, study: Study, trial: Trial, value: float) -> Answer | None:
        """Report a trial's result, for the first time or again; None if the client gave up, or the trial was
        stopped."""
        made = self._call("observe", study.id, lambda: study.observe(trial, value), DONE_OR_REFUSED)
        self._enter(made, trial=trial.number, attempt=trial.attempt, value=value, observation=_seq(made.answer))
        return made.answer

    def contradict(self, study: Study, trial: Trial, value: float) -> None:
        """Report another result for an attempt that has one."""
        made = self._call("observe", study.id, lambda: study.observe(trial, value), {"refused"})
        self._enter(made, trial=trial.number, attempt=trial.attempt, value=value)

    def add_result(self, study: Study, parameters: Parameters, value: float) -> None:
        """Report a result at a user-supplied point."""
        made = self._call("point", study.id, lambda: study.add_result(parameters, value))
        self._enter(made, value=value, parameters=parameters, observation=_seq(made.answer))

    def observe_many(self, study: Study, items: Sequence[ResultItem]) -> list[BatchItem]:
        """Report many results at once; empty if the client gave up."""
        made = self._call("observe", study.id, lambda: study.observe_many(items))
        fates: Sequence[BatchItem | None] = made.answer or [None] * len(items)
        for item, told in zip(items, fates, strict=True):
            fate: Fate = made.fate if told is None else "acknowledged" if told.error is None else "refused"
            self._enter(
                made,
                kind="point" if "parameters" in item else "observe",
                fate=fate,
                observation=_seq(told.answer if told else None),
                **{**_counts(told.answer if told else None), **item},
            )
        return made.answer or []

    def fail(self, study: Study, trial: Trial) -> Fate:
        """Report that a trial failed."""
        made = self._call("fail", study.id, lambda: study.fail(trial, "chaos"), DONE_OR_REFUSED)
        self._enter(made, trial=trial.number, attempt=trial.attempt)
        return made.fate

    def retry(self, study: Study, trial: Trial) -> None:
        """Retry a failed trial."""
        made = self._call("retry", study.id, lambda: study.retry(trial), DONE_OR_REFUSED)
        self._enter(
            made, trial=trial.number, attempt=made.answer.trial.attempt if made.answer and made.answer.trial else None
        )

    def release(self, study: Study, trial: Trial) -> None:
        """Release a trial."""
        made = self._call("release", study.id, lambda: study.release(trial), DONE_OR_REFUSED)
        self._enter(made, trial=trial.number, attempt=trial.attempt)

    def heartbeat(self, study: Study, trial: Trial) -> Fate:
        """Renew a lease."""
        made = self._call("heartbeat", study.id, lambda: study.heartbeat(trial), DONE_OR_REFUSED)
        self._enter(made, trial=trial.number, attempt=trial.attempt)
        return made.fate

    def report(self, study: Study, trial: Trial, reports: tuple[tuple[int, float], ...]) -> CallOutcome[bool]:
        """Report intermediate values."""
        made = self._call("report", study.id, lambda: study.report_many(trial, reports), DONE_OR_REFUSED)
        stopped = made.answer is True
        self._enter(made, trial=trial.number, attempt=trial.attempt, reports=reports, stopped=stopped)
        return made

    def edit(self, study: Study, name: str, parameter: Parameter) -> None:
        """Edit the space."""
        made = self._call("edit", study.id, lambda: study.update(parameters={name: parameter}))
        self._enter(made, edited=parameter)

    def queue(self, study: Study, parameters: Parameters) -> None:
        """Queue a point."""
        made = self._call("queue", study.id, lambda: study.queue(parameters), DONE_OR_REFUSED)
        self._enter(made, trial=made.answer.number if made.answer else None, parameters=parameters)

    def correct(self, study: Study, observation: int, value: float) -> None:
        """Replace an observation's value."""
        made = self._call("correct", study.id, lambda: study.correct(observation, value))
        self._enter(made, observation=observation, value=value)

    def exclude(self, study: Study, observation: int) -> None:
        """Exclude an observation."""

        self._enter(self._call("exclude", study.id, lambda: study.exclude(observation)), observation=observation)

    def pause(self, study: Study) -> None:
        """Pause a study."""
        self._enter(self._call("pause", study.id, study.pause))

    def resume(self, study: Study) -> None:
        """Resume a study."""
        self._enter(self._call("resume", study.id, study.resume))

    def read(self, study: Study, look: Callable[[], object]) -> None:
        """Read something. The counts in the answer are checked; otherwise, only that there is an answer."""
        self._enter(self._call("read", study.id, look))

    def read_trials(self, study: Study) -> None:
        """List all trials."""
        made = self._call("read", study.id, lambda: tuple(study.trials()))
        self._enter(made, listed=made.answer or ())

    def _call(self, kind: Kind, study: str, action: Callable[[], T], fates: Set[Fate] = DONE) -> CallOutcome[T]:
        """Make a call. An outcome that is not in ``fates`` is a violation, except that the client may give up."""
        started, asked = datetime.now(UTC), time.monotonic()
        answer: T | None = None
        error: AdaBKBError | None = None
        fate: Fate = "acknowledged"
        try:
            answer = action()
        except AdaBKBError as trouble:
            error, fate = trouble, _fate(trouble)
        ended, answered = datetime.now(UTC), time.monotonic()
        self.ledger.operations[kind] += 1
        if fate != "unknown":
            self.ledger.answered.append(ended)
        if fate not in {*fates, "unknown"} or not isinstance(error, EXPECTED | None):
            wanted = " or ".join(sorted(fates))
            call = f"{study}: {self.ledger.worker} {kind}, sent {started:%H:%M:%S.%f}"
            self.ledger.surprises.append(f"{call}: was {fate}, and not {wanted}: {error!r}")
        reason = error.reason if isinstance(error, NoTrialAvailable) else None
        return CallOutcome(
            kind, study, fate, answer, reason, isinstance(error, StudyComplete), started, ended, asked, answered
        )

    def _enter(self, made: CallOutcome[Any], **facts: Any) -> None:
        times: dict[str, Any] = {name: getattr(made, name) for name in ("started", "ended", "asked", "answered")}
        known = {"kind": made.kind, "fate": made.fate, "study": made.study, **_counts(made.answer)}
        entry = Entry(worker=self.ledger.worker, **times, **{**known, **facts})
        self.ledger.entries.append(entry)


def _fate(trouble: AdaBKBError) -> Fate:
    if isinstance(trouble, NoTrialAvailable):
        return "nothing"
    if isinstance(trouble, Conflict) and trouble.code != NOT_YET:
        return "refused"
    return "unknown"


def _seq(answer: Answer | None) -> int | None:
    """The observation that an answer names."""
    return answer.observation.seq if answer and answer.observation else None


def _counts(answer: object) -> dict[str, Any]:
    """Return the study's counts in an answer, for an entry."""
    study = getattr(answer, "study", answer)
    return {"revision": study.revision, "counts": study.counts} if isinstance(study, StudySummary) else {}
