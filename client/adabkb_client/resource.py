"""The calls of a study, one method each; ``study.py`` has the methods that are built on them."""

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from operator import index
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeVar, overload
from urllib.parse import quote

from adabkb_client.errors import Conflict, NoTrialAvailable, StudyComplete
from adabkb_client.lease import LeasedTrial
from adabkb_client.models import (
    Answer,
    BatchItem,
    Best,
    Event,
    Observation,
    Parameters,
    Prediction,
    Recommendation,
    StudyInfo,
    Suggestions,
    Trial,
    TrialState,
    decode,
    decode_batch_item,
)
from adabkb_client.plain import as_text, finite, point
from adabkb_client.transport import Transport

BATCH = 1000
"""Items the server takes in one batch."""
RELEASE_PATIENCE = 5.0
"""Seconds for which a release is repeated. It is sent while a program ends, and the lease expires anyway."""

T = TypeVar("T")


class StudyResource:
    """The calls of one study."""

    def __init__(self, transport: Transport, study_id: str) -> None:
        self.id = study_id
        self._transport = transport
        self._path = study_path(study_id)

    def __repr__(self) -> str:
        return f"<Study {self.id!r}>"

    # The study itself

    def info(self) -> StudyInfo:
        """Return the study's definition and state."""
        return decode(StudyInfo, self._transport.get(self._path))

    @property
    def best(self) -> Best | None:
        """The best observation so far (asks the server)."""
        return self.info().best

    def update(self, **changes: Any) -> StudyInfo:
        """Change ``budget``, ``tolerance``, ``tags``, ``lease_seconds``, ``max_attempts``, ``max_runtime_seconds``,
        ``failure_limit``, ``pending_limit``, ``stop``.

        None removes a limit. A study whose budget is used up runs again when it is raised, and one that has stopped
        because there was no gain runs again when ``stop`` is removed or allows more results.
        """
        return decode(StudyInfo, self._transport.patch(self._path, changes))

    def pause(self) -> StudyInfo:
        """Hand out nothing until ``resume``; results are still accepted."""
        return self.update(state="paused")

    def resume(self) -> StudyInfo:
        """Hand out trials again."""
        return self.update(state="running")

    def delete(self) -> None:
        """Delete the study and everything in it."""
        self._transport.delete(self._path)

    # Trials

    @overload
    def suggest(
        self, count: None = None, *, worker: str | None = None, lease_seconds: float | None = None
    ) -> Trial: ...
    @overload
    def suggest(self, count: int, *, worker: str | None = None, lease_seconds: float | None = None) -> list[Trial]: ...
    def suggest(
        self, count: int | None = None, *, worker: str | None = None, lease_seconds: float | None = None
    ) -> Trial | list[Trial]:
        """Lease a trial or, with ``count``, a list of up to so many.

        Args:
            count: how many; None for a single trial instead of a list.
            worker: a name to recognise this worker by; host and process if not given.
            lease_seconds: for how long; the study's default if not given.

        Raises:
            StudyComplete: there is none and there will be none.
            NoTrialAvailable: there is none at the moment.
        """
        body = {"count": 1 if count is None else count, "worker": worker or f"{socket.gethostname()}:{os.getpid()}"}
        if lease_seconds is not None:
            body["lease_seconds"] = lease_seconds
        answer = self._decode(Suggestions, self._transport.post(f"{self._path}/suggest", body))
        if not answer.trials:
            nothing = StudyComplete if answer.study.state == "complete" else NoTrialAvailable
            raise nothing(self.id, answer.reason, answer.retry_after)
        return answer.trials[0] if count is None else list(answer.trials)

    def observe(
        self,
        trial: LeasedTrial | Trial | int,
        value: SupportsFloat,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
    ) -> Answer:
        """Report a trial's result. It is stored durably when this returns; sending it again changes nothing.

        Args:
            trial: the trial, or its number (then its current attempt is meant). In a ``with study.trial()`` block
                this is the block's result.
            value: the objective; a finite number.
            std_error: the standard error of ``value``, if known.
            parameters: what was actually run, if that is not what was suggested.

        Raises:
            ValueError: the value or its error is not finite, or the trial is another study's.
            TypeError: the value or its error is no number.
            Conflict: this attempt of the trial already has another value.
            ResultKept: the server stayed away for longer than the client's ``retry_for``. The result is kept on disk,
                and is sent when a client on this machine next reaches the server.
        """
        return self._settle(trial, {**_result(value, std_error), **_point(parameters)})

    def observe_point(
        self, parameters: Parameters, value: SupportsFloat, std_error: SupportsFloat | None = None
    ) -> Answer:
        """Report a result at a point that nobody suggested; it does not count towards the budget."""
        return self._observe({**_point(parameters), **_result(value, std_error)})

    def observe_many(self, items: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> list[BatchItem]:
        """Report many results in wire form, and return the outcome of each.

        An item is what ``observe`` and ``observe_point`` send: ``{"trial": 3, "value": 0.1}`` or
        ``{"parameters": {...}, "value": 0.1, "std_error": 0.01}``. A refused item does not stop the others.
        With ``dry_run`` nothing is stored.
        """
        fates: list[BatchItem] = []
        for start in range(0, len(items), BATCH):
            batch = [dict(item) for item in items[start : start + BATCH]]
            answer = self._transport.post(f"{self._path}/observations", {"items": batch, "dry_run": dry_run})
            fates.extend(decode_batch_item(item, study_id=self.id) for item in answer["items"])
        return fates

    def fail(self, trial: LeasedTrial | Trial | int, reason: str | None = None) -> Answer:
        """Report that a trial cannot be evaluated; it is not handed out again."""
        failure = {"status": "failed"}
        return self._settle(trial, failure if reason is None else {**failure, "reason": reason})

    def heartbeat(self, trial: LeasedTrial | Trial | int) -> Answer:
        """Renew a trial's lease.

        Raises:
            Conflict: the lease is lost, because another worker holds the trial or it is finished.
        """
        return self._lease("heartbeat", trial)

    def release(self, trial: LeasedTrial | Trial | int) -> Answer:
        """Give a trial back unevaluated; it is the next to be handed out."""
        return _noted(trial, self._lease("release", trial, RELEASE_PATIENCE))

    def retry(self, trial: LeasedTrial | Trial | int, reason: str | None = None) -> Answer:
        """Let a failed trial be handed out again, before any new point, at no cost to the budget.

        Nothing changes if the trial is to be evaluated anyway. The log keeps the reason.

        Raises:
            Conflict: the trial has a result.
        """
        number = self._reference(trial)["trial"]
        body = {} if reason is None else {"reason": reason}
        return self._decode(Answer, self._transport.post(f"{self._path}/trials/{number}/retry", body))

    def retry_failed(self, reason: str | None = None) -> list[Trial]:
        """Let all failed trials be handed out again, and return them. A paused study also needs ``resume``."""
        retried = []
        for trial in list(self.trials("failed")):
            with suppress(Conflict):  # a late result has completed it
                self.retry(trial, reason)
                retried.append(trial)
        return retried

    def set_attributes(self, trial: LeasedTrial | Trial | int, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of a trial, whatever state it is in. They are your own; the model has no part in them.

        Args:
            trial: the trial, or its number.
            attributes: what JSON has a form for, by name. None removes an attribute, a dict is merged into one that
                is there. A trial has up to 64, of 16,384 bytes together; a name has no colon.

        Raises:
            Invalid: they are too many or too large.
            TypeError, ValueError: JSON has no form for a value.
        """
        number = self._reference(trial)["trial"]
        body = {"attributes": dict(attributes)}
        return self._decode(Answer, self._transport.patch(f"{self._path}/trials/{number}", body))

    def queue(self, parameters: Parameters) -> Trial:
        """Queue a point that you choose. It is handed out before any suggestion, and counts towards the budget."""
        return self._decode(Trial, self._transport.post(f"{self._path}/trials", _point(parameters)))

    def trials(self, state: TrialState | None = None, attributes: Mapping[str, Any] | None = None) -> Iterator[Trial]:
        """Yield the trials by number: all, or those in one state, or those that have all of some attributes."""
        wanted = [f"{name}:{as_text(value)}" for name, value in (attributes or {}).items()]
        for trial in self._transport.pages(f"{self._path}/trials", state=state, attribute=wanted or None):
            yield self._decode(Trial, trial)

    def why(self, trial: LeasedTrial | Trial | int) -> dict[str, Any]:
        """Return what a trial was decided on, and all events about it, in wire form: see docs/http.md."""
        document: dict[str, Any] = self._transport.get(f"{self._path}/trials/{self._reference(trial)['trial']}/why")
        return document

    # Results

    def observations(self) -> Iterator[Observation]:
        """Yield the observations in the order in which they were stored."""
        for observation in self._transport.pages(f"{self._path}/observations"):
            yield decode(Observation, observation)

    def correct(
        self, seq: int, value: SupportsFloat, std_error: SupportsFloat | None = None, reason: str | None = None
    ) -> Answer:
        """Replace the value of an observation. The model is rebuilt; the log keeps both values and the reason."""
        return self._amend(seq, {**_result(value, std_error), "reason": reason})

    def exclude(self, seq: int, reason: str | None = None) -> Answer:
        """Exclude an observation from the model; it stays in the log."""
        return self._amend(seq, {"excluded": True, "reason": reason})

    def include(self, seq: int, reason: str | None = None) -> Answer:
        """Include an excluded observation again."""
        return self._amend(seq, {"excluded": False, "reason": reason})

    def recommendation(self) -> Recommendation:
        """Return the best point by the model and the best observed one."""
        return decode(Recommendation, self._transport.get(f"{self._path}/recommendation"))

    def predict(self, points: Sequence[Parameters]) -> list[Prediction]:
        """Return the model's prediction of the objective at each point."""
        body = {"points": [point(parameters) for parameters in points]}
        answer = self._transport.post(f"{self._path}/predict", body)
        return [decode(Prediction, prediction) for prediction in answer["predictions"]]

    # The model and the log, in wire form: see docs/http.md for the fields

    def model(self) -> dict[str, Any]:
        """Return the model's constants and size."""
        document: dict[str, Any] = self._transport.get(f"{self._path}/model")
        return document

    def tree(self) -> Iterator[dict[str, Any]]:
        """Yield the cells of the partition tree."""
        return self._transport.pages(f"{self._path}/tree")

    def dictionary(self) -> Iterator[dict[str, Any]]:
        """Yield the points of the dictionary, which the sketch is built on."""
        return self._transport.pages(f"{self._path}/dictionary")

    def events(self) -> Iterator[Event]:
        """Yield the study's log in order."""
        for event in self._transport.pages(f"{self._path}/events"):
            yield decode(Event, event)

    def export(self, format: Literal["jsonl", "csv"] = "jsonl") -> str:
        """Return everything about the study (jsonl) or a table of its observations (csv)."""
        return self._transport.text(f"{self._path}/export", format=format)

    def _decode(self, kind: type[T], document: Any) -> T:
        return decode(kind, document, study_id=self.id)

    def _amend(self, seq: int, body: Mapping[str, Any]) -> Answer:
        return self._decode(Answer, self._transport.patch(f"{self._path}/observations/{seq}", body))

    def _settle(self, trial: LeasedTrial | Trial | int, fate: Mapping[str, Any]) -> Answer:
        return _noted(trial, self._observe({**self._reference(trial), **fate}, _created_at(trial)))

    def _observe(self, body: Mapping[str, Any], created_at: datetime | None = None) -> Answer:
        return self._decode(Answer, self._transport.tell(f"{self._path}/observe", body, created_at))

    def _lease(self, verb: str, trial: LeasedTrial | Trial | int, retry_for: float | None = None) -> Answer:
        reference = self._reference(trial)
        path = f"{self._path}/trials/{reference.pop('trial')}/{verb}"
        return self._decode(Answer, self._transport.post(path, reference, retry_for))

    def _reference(self, trial: LeasedTrial | Trial | int) -> dict[str, Any]:
        """Name the trial, and the attempt if the lease is known."""
        if isinstance(trial, SupportsIndex):  # numpy's integers too
            return {"trial": index(trial)}
        if isinstance(trial, LeasedTrial):
            trial = trial.trial
        if trial.study_id != self.id:
            remedy = f"tell it to study {trial.study_id!r}"
            raise ValueError(f"trial {trial.number} is of study {trial.study_id!r}, not of {self.id!r}: {remedy}")
        return {"trial": trial.number, "attempt": trial.attempt}


def study_path(study_id: str) -> str:
    """Return a study's path under the API's root."""
    return f"/studies/{quote(study_id, safe='')}"


def _created_at(trial: LeasedTrial | Trial | int) -> datetime | None:
    if isinstance(trial, LeasedTrial):
        trial = trial.trial
    return trial.created_at if isinstance(trial, Trial) else None


def _noted(trial: LeasedTrial | Trial | int, answer: Answer) -> Answer:
    """Let a leased trial know its outcome, so that its end reports nothing else."""
    if isinstance(trial, LeasedTrial):
        trial.outcome = answer
    return answer


def _result(value: SupportsFloat, std_error: SupportsFloat | None) -> dict[str, float]:
    result = {"value": finite("value", value, "; report a failed run with fail()")}
    if std_error is not None:
        result["std_error"] = finite("std_error", std_error)
    return result


def _point(parameters: Parameters | None) -> dict[str, Any]:
    return {} if parameters is None else {"parameters": point(parameters)}
