"""A trial that this process has leased, and the calls about it, from the suggestion through reports to the result, one
procedure each."""

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from operator import index
from time import monotonic
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeVar

from adabkb_client._calls import BATCH, Call, Listing, Param, Steps, batch, read_trial, study_path
from adabkb_client._records import (
    OPTUNAS,
    Answer,
    BatchItem,
    CurvePoint,
    Explanation,
    Hinting,
    Parameters,
    Reported,
    ResultItem,
    Shown,
    StudyInfo,
    Suggestions,
    Trial,
    TrialState,
    decode,
    for_optuna,
    of_point,
)
from adabkb_client._values import Numbers, as_text, encoded, finite, finite_metrics, point, shown
from adabkb_client.errors import (
    AdaBKBError,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFinite,
    NotFound,
    NoTrialAvailable,
    StudyComplete,
    Unavailable,
    WorkerDied,
    WorkerLost,
    WrongFunction,
    WrongResult,
)

log = logging.getLogger("adabkb_client")

REPORT_SECONDS = 5.0
"""Seconds for which a report is retried while the evaluation waits."""
REASON_LENGTH = 1000
MISTAKES = (ImportError, NameError, SyntaxError)
"""Errors that are always programming errors. They release the trial instead of failing it."""
MISTAKES_AT_FIRST = (AttributeError, KeyError, TypeError, Invalid)
"""Errors that count as programming errors until the function has returned a first result. Later, such an error may be
specific to a point, so it fails the trial. (``WrongResult`` is a TypeError.)"""
EVALUATION_ERRORS = (Invalid, NotFinite, WorkerDied, WorkerLost, WrongFunction, WrongResult)
"""Errors of this client that are caused by the evaluation, and not by the server or the connection."""
PRUNED = "TrialPruned"
STOP_VARIABLE = "ADABKB_STOP_SECONDS"
DEFAULT_STOP_SECONDS = 5.0

T = TypeVar("T")


class Active(dict[str, Any]):
    """The values of the active parameters by name. The error for another name explains why it may be missing."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(
            f"{name!r} is not a parameter of this trial; it has {', '.join(self)}. A parameter with `when` is missing "
            f"while it is inactive: use parameters.get({name!r})"
        )


class Leased(Shown, Hinting):
    """A trial leased by this process, with its outcome once reported."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        """The trial as the server issued it."""
        self.outcome: Answer | None = None
        """The server's answer to the result, the failure or the release, or to the report at which the trial was
        stopped; None before."""
        self._is_outcome_sent = False
        """Whether this process has sent an outcome, which the server may have before the answer arrives."""
        self._unsent: list[Mapping[str, Any]] = []
        """Reports, as JSON, that could not be sent yet."""
        self._attributes: Mapping[str, Any] = trial.attributes
        self._begun = monotonic()

    def _hint(self, name: str) -> str | None:
        if name.startswith(OPTUNAS):
            return f"the trial otherwise: {for_optuna()}"
        trial = vars(self).get("trial")  # missing while the object is being unpickled
        return None if trial is None else of_point("trial", name, trial.parameters)

    @property
    def seconds(self) -> float:
        """Seconds since this process got the trial."""
        return monotonic() - self._begun

    @property
    def should_stop(self) -> bool:
        """Whether the server has stopped the trial, which then needs no result: ``if trial.should_stop: return``."""
        return self._is("stopped")

    @property
    def number(self) -> int:
        """The trial's number."""
        return self.trial.number

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters at which to evaluate the objective, by name, without those that are inactive: see ``when`` of
        ``Float``. Use ``parameters.get("momentum", 0.0)`` for these."""
        return Active(self.trial.parameters)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the trial, as they were when it was issued or when this object last changed them."""
        return dict(self._attributes)

    def _note_lost_lease(self, refusal: Conflict) -> None:
        """Log why the lease is no longer renewed, unless this process has ended the trial itself."""
        if not self._is_outcome_sent:
            log.info(
                "trial %d of study %r: %s Another worker has it, or it has ended. The evaluation here "
                "continues, and its result is sent.",
                self.number,
                self.trial.study,
                refusal.detail,
            )

    def _continue_as(self, other: "Leased") -> None:
        """Continue with the outcome, the attributes and the unsent reports of an object for the same trial."""
        self.outcome, self._is_outcome_sent = other.outcome, other._is_outcome_sent
        self._attributes, self._unsent = other._attributes, other._unsent

    def _is(self, state: TrialState) -> bool:
        """Return whether the outcome of the trial, if any, is this state."""
        return self.outcome is not None and self.outcome.trial is not None and self.outcome.trial.state == state

    def _set_here(self, answer: Answer) -> None:
        if answer.trial is not None:
            self._attributes = answer.trial.attributes


def this_worker() -> str:
    """Return the default name of this process as a worker: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_of_evaluation(error: AdaBKBError) -> bool:
    """Return whether an error of this package is one of the evaluation: it fails or releases the trial. A report that
    contradicts an earlier one is such an error. Other conflicts are not, such as a trial that another worker holds."""
    return isinstance(error, EVALUATION_ERRORS) or (isinstance(error, Conflict) and error.code == "report_conflict")


def is_mistake(error: BaseException, *, has_succeeded: bool) -> bool:
    """Return whether an error of a function is a programming error, which releases its trial instead of failing it.

    Args:
        error: the exception of the function, or the error in its result.
        has_succeeded: whether the function has returned a result in this run before.
    """
    return isinstance(error, MISTAKES) or (not has_succeeded and isinstance(error, MISTAKES_AT_FIRST))


def ends_stopped(error: BaseException, catch: type[Exception] | tuple[type[Exception], ...]) -> bool:
    """Return whether an exception of a function ends a stopped trial as a ``return`` would: an exception named
    ``TrialPruned``, such as Optuna's, or one of ``catch``. Any other exception counts as a failure, as without a
    stop."""
    return isinstance(error, catch) or any(kind.__name__ == PRUNED for kind in type(error).__mro__)


def in_words(error: BaseException) -> str:
    """Return the failure reason for an exception."""
    return printable(f"{type(error).__name__}: {error}")


def printable(reason: str) -> str:
    """Return the reason in a form that the server accepts: no NUL, no lone surrogate, not too long."""
    return reason.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:REASON_LENGTH]


def stop_seconds() -> float:
    """Return the seconds within which a stopped program must release trials and end worker processes:
    ``ADABKB_STOP_SECONDS``, or 5.

    Raises:
        ValueError: the variable is not a positive number.
    """
    text = os.environ.get(STOP_VARIABLE, "")
    try:
        seconds = float(text) if text else DEFAULT_STOP_SECONDS
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise ValueError(f"the environment variable {STOP_VARIABLE} must be a positive number of seconds, not {text!r}")
    return seconds


class TrialCalls:
    """The calls of one study that concern its trials.

    Args:
        id: the study's id.
        server: the server, as messages name it. Trials remember it; empty means that it is not known.
    """

    def __init__(self, id: str, server: str = "") -> None:
        self.id = id
        self._server = server
        self._path = study_path(id)
        self._is_without_model = False

    def ask(
        self,
        count: int | None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
        skip_released: bool = False,
    ) -> Steps[Suggestions]:
        """Ask for up to ``count`` trials: see ``suggest``. If there is none, the answer says why. ``worker`` is None if
        the trials are for no worker. With ``skip_released``, trials that this worker has released for a reason are
        left to others, as long as there is another trial."""
        body: dict[str, Any] = {} if count is None else {"count": count}
        body["worker"] = worker
        if skip_released:
            body["skip_released"] = True
        if plate is not None:
            body["plate"] = plate
        if lease_seconds is not None:
            body["lease_seconds"] = lease_seconds
        if fixed:
            body["fixed"] = point(fixed)
        if context:
            body["context"] = point(context)
        return self._decode(Suggestions, (yield Call("POST", f"{self._path}/suggest", body, wait=wait)))

    def suggest(
        self,
        count: int | None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
    ) -> Steps[list[Trial]]:
        """Lease up to ``count`` trials.

        Args:
            count: the maximum number of trials to lease; None for all of a plate.
            worker: a name for this worker; by default the host and the process.
            lease_seconds: the duration of the lease; by default the study's.
            fixed: values of parameters to fix; the server chooses the other values.
            context: the current values of all context parameters, if the study has any. Those with
                ``context="measured"`` may be missing; for them, give the values that you expect.
            plate: "open" for the rest of the last plate or, if that is full, the next one; "new" for a new plate.
            wait: seconds, up to 60, that the server may wait if there is no trial at once.

        Raises:
            Invalid: a value is outside its parameter's range, the context does not fit the study, or the algorithm
                cannot fix parameters.
            StudyComplete: the study will issue no more trials.
            NoTrialAvailable: there is no trial now, even after ``wait`` seconds.
        """
        answer = yield from self.ask(
            count,
            worker=worker or this_worker(),
            lease_seconds=lease_seconds,
            fixed=fixed,
            context=context,
            plate=plate,
            wait=wait,
        )
        if not answer.trials:
            nothing = StudyComplete if answer.study.state == "complete" else NoTrialAvailable
            raise nothing(self.id, answer.reason, answer.retry_after)
        yield from self._warn_of_missing_model(answer.trials)
        return list(answer.trials)

    def _warn_of_missing_model(self, trials: Sequence[Trial]) -> Steps[None]:
        """Log a warning if the points of trials are quasi-random, unless those of the previous suggestion were, too."""
        quasi_random = [trial for trial in trials if trial.origin == "fallback"]
        is_new, self._is_without_model = bool(quasi_random) and not self._is_without_model, bool(quasi_random)
        if is_new:
            log.warning(
                "study %r: the model did not choose the point of trial %d, which is quasi-random: %s",
                self.id,
                quasi_random[0].number,
                (yield from self._why_without_model()),
            )

    def _why_without_model(self) -> Steps[str]:
        """Say why the model chose no point, and what to do."""
        try:
            info = decode(StudyInfo, (yield Call("GET", self._path, retry_for=0.0)))
        except AdaBKBError:  # the trials are leased, and must be returned
            return "study.info().model says whether it has failed"
        if info.model["error"] is not None:
            return (
                f"it has failed ({info.model['error']}). All points are quasi-random until it works again; the "
                "server tries it after each result. If a result is wrong, correct or exclude it: study.correct(...)"
            )
        return (
            "it did not answer in time (the server's suggestion_seconds). It chooses the next points if it answers in "
            "time; a smaller count needs less time"
        )

    def observe(
        self,
        trial: Leased | Trial | int,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        seconds: SupportsFloat | None = None,
        attempt: int | None = None,
    ) -> Steps[Answer]:
        """Report a trial's result. When this returns, the result is stored durably. Sending it again changes nothing.

        A result may be reported in parts. Each call adds numbers that were missing, and ``answer.observation.missing``
        names those that are still missing.

        Args:
            trial: the trial, or its number. In a ``with study.trial()`` block, this ends the trial; the end of the
                block then changes nothing.
            value: the objective; a finite number. With several objectives, give them as metrics and no value.
            std_error: the standard error of ``value``, if known.
            parameters: the evaluated point, if it differs from the suggested one. Parameters with
                ``context="measured"`` are required; these alone suffice if nothing else differs.
            metrics: every metric of the study by name.
            std_errors: standard errors of metrics, where known.
            partial: whether numbers may be missing, because they will be reported later.
            seconds: how long the evaluation took; by default, the time since this process got the leased trial or, for
                other trials, since the server issued it.
            attempt: the attempt of a trial that is given by its number; by default the current one.

        Raises:
            Invalid: the metrics differ from the study's.
            ValueError, TypeError: a number is not finite, or not a number; or the trial belongs to another study.
            Conflict: this attempt of the trial already has another value or was reported as failed, or the trial was
                stopped.
            ResultKept: the server could not be reached for longer than the client's ``retry_for``, or did not say
                whether it stored the result. The result is kept on disk, and is sent when a client on this machine
                next reaches the server.
        """
        result = result_of(value, std_error, metrics, std_errors, partial=partial)
        return self._settle(trial, {**result, **_point(parameters)}, seconds, attempt)

    def add_result(
        self,
        parameters: Parameters,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        plate: int | None = None,
    ) -> Steps[Answer]:
        """Report a result at your own point. It does not count towards the budget.

        Args:
            parameters: the evaluated point.
            value: the objective, as in ``observe``.
            std_error: the standard error of ``value``, if known.
            metrics: every metric of the study by name.
            std_errors: standard errors of metrics, where known.
            partial: whether numbers may be missing; ``correct`` adds them.
            plate: in a study with plates, the number of the plate on which the point was measured: one of the study's
                plates, or your own number for an earlier plate. The result takes no place on the plate.

        Raises:
            Invalid: the point is not in the space, the plate has other values of the shared parameters, or a plate
                is given, but the study has none.
            ValueError, TypeError: a number is not finite, or not a number.
        """
        result = result_of(value, std_error, metrics, std_errors, partial=partial)
        return self._observe({**_point(parameters), **result, **({} if plate is None else {"plate": index(plate)})})

    def observe_many(self, items: Sequence[ResultItem], *, dry_run: bool = False) -> Steps[list[BatchItem]]:
        """Report many results in as few requests as possible, and return the outcome of each.

        An item is a dict as in docs/http.md: ``{"trial": 3, "value": 0.1}`` or
        ``{"parameters": {...}, "value": 0.1, "std_error": 0.01, "plate": 3}``. An item that the study refuses does not
        stop the others, for example one outside of the space. An item with a wrong form, such as a text as the value or
        an unknown key, is an error of the whole call. With ``dry_run``, nothing is stored.

        Raises:
            TypeError, ValueError: an item is not a dict, or a number is not finite or not a number. Nothing is sent,
                and the message names the item and its key.
            Invalid: the server refuses a request of up to 1,000 items because of the form of an item, which the message
                names with its key. None of these items is stored; a note says which ones are.
        """
        bodies = []
        for position, item in enumerate(items):
            if not isinstance(item, Mapping):
                example = '{"trial": 3, "value": 0.1}'
                raise TypeError(f"items[{position}] must be a dict such as {example}, not {item!r}")
            with _naming(f"items[{position}]", ". Nothing was sent: correct this item, or leave it out"):
                bodies.append(_item_of(item))
        outcomes: list[BatchItem] = []
        for start in range(0, len(items), BATCH):
            try:
                outcomes += yield from batch(self.id, bodies[start : start + BATCH], dry_run=dry_run)
            except Invalid as refusal:
                if not refusal.pointers:  # it is too large
                    raise
                raise _among_all(refusal, start, dry_run=dry_run) from None
        return outcomes

    def fail(
        self,
        trial: Leased | Trial | int,
        reason: str | None = None,
        *,
        seconds: SupportsFloat | None = None,
        attempt: int | None = None,
    ) -> Steps[Answer]:
        """Report that the evaluation of a trial failed. The trial is not issued again, unless you ``retry`` it.

        Args:
            trial: the trial, or its number.
            reason: the reason, for the log.
            seconds: as in ``observe``.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial is completed or was stopped, or the attempt is not the current one.
        """
        failure = {"state": "failed"}
        return self._settle(trial, failure if reason is None else {**failure, "reason": reason}, seconds, attempt)

    def report(
        self,
        trial: Leased | Trial | int,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> Steps[bool]:
        """Report an intermediate value of a trial, renew its lease, and return whether the trial is stopped.

        Sending a report again changes nothing. If the trial is stopped, end the evaluation without a result.

        Args:
            trial: the trial, or its number.
            step: number of steps done so far; 0 before the first step. It must be larger than in the previous report,
                which may be repeated.
            value: value of the objective after this step; a finite number.
            cost: what the attempt has cost so far, in a study with ``cost="told"``. Required if ``early_stopping``
                compares trials.
            parameters: the values so far of the context parameters that are measured with the result. Required if the
                study has ``early_stopping``.
            lease_seconds: duration of the lease from now on; by default as before.
            attempt: the attempt of a trial that is given by its number; by default the current one.

        Raises:
            ValueError: the value is not finite, or the trial belongs to another study.
            TypeError: the step is not a whole number, or the value is not a number.
            Invalid: the step is larger than ``max_steps``, or smaller than that of the previous report.
            Conflict: this attempt has reported another value at the step or has lost its lease, or the trial
                has ended.
        """
        answer = yield from self.send_reports(trial, [report_of(step, value, cost, parameters)], lease_seconds, attempt)
        return answer.stop

    def report_many(
        self,
        trial: Leased | Trial | int,
        reports: Sequence[
            tuple[SupportsIndex, SupportsFloat]
            | tuple[SupportsIndex, SupportsFloat, SupportsFloat]
            | tuple[SupportsIndex, SupportsFloat, SupportsFloat | None, Parameters]
        ],
        *,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> Steps[bool]:
        """Report several intermediate values of a trial, each as (step, value), (step, value, cost) or (step, value,
        cost, parameters): see ``report``. Either all of them are stored or none."""
        bodies = []
        for position, each in enumerate(reports):
            with _naming(f"reports[{position}]", ". Nothing was sent: correct this report, or leave it out"):
                if not isinstance(each, Sequence) or not 2 <= len(each) <= 4:
                    raise WrongResult(f"a report is (step, value), with cost and parameters if needed, not {each!r}")
                bodies.append(report_of(*each))
        return (yield from self.send_reports(trial, bodies, lease_seconds, attempt)).stop

    def send_reports(
        self,
        trial: Leased | Trial | int,
        reports: Sequence[Mapping[str, Any]],
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> Steps[Reported]:
        """Send reports, as ``report_of`` returns them: see ``report``. The answer says why the trial is stopped."""
        reference = yield from self._reference_here(trial, attempt)
        body: dict[str, Any] = {"reports": reports}
        body |= {} if lease_seconds is None else {"lease_seconds": lease_seconds}
        path = f"{self._path}/trials/{reference.pop('trial')}/reports"
        call = Call("POST", path, {**reference, **body}, key=None)  # the request is idempotent
        answer: Reported = self._decode(Reported, (yield call))
        return answer

    def deliver_reports(self, trial: Leased, reports: Sequence[Mapping[str, Any]] = ()) -> Steps[bool]:
        """Send the reports of a leased trial, and return whether it is stopped.

        Reports that cannot be delivered stay in memory, and are sent with the next one.

        Raises:
            Invalid, Conflict: as ``report``.
        """
        was_away = bool(trial._unsent)
        trial._unsent += reports
        reference = self._reference(trial)
        path = f"{self._path}/trials/{reference.pop('trial')}/reports"
        while trial._unsent and not trial.should_stop:
            body = {**reference, "reports": trial._unsent[:BATCH]}
            call = Call("POST", path, body, key=None, retry_for=0.0 if was_away else REPORT_SECONDS)
            try:
                answer: Reported = self._decode(Reported, (yield call))
            except (ConnectionFailed, Unavailable) as error:
                if not was_away:
                    log.warning("trial %d of study %r: reports wait for the server: %s", trial.number, self.id, error)
                return False
            except AdaBKBError:
                trial._unsent.clear()
                raise
            del trial._unsent[:BATCH]
            if answer.stop:
                log.info("trial %d of study %r is stopped: %s", trial.number, self.id, answer.reason)
                trial.outcome = Answer(answer.study, answer.trial)
        return trial.should_stop

    def curve(self, trial: Leased | Trial | int, attempt: int | None = None) -> Listing[CurvePoint]:
        """Yield the reports of an attempt of a trial, by step; by default the current attempt."""
        params: dict[str, Param] = {"attempt": attempt}
        path = f"{self._path}/trials/{self._reference(trial)['trial']}/reports"
        return Listing(path, lambda report: decode(CurvePoint, report), params)

    def heartbeat(
        self, trial: Leased | Trial | int, *, lease_seconds: float | None = None, attempt: int | None = None
    ) -> Steps[Answer]:
        """Renew a trial's lease.

        Args:
            trial: the trial, or its number.
            lease_seconds: duration of the lease from now on; by default as before.
            attempt: as in ``observe``.

        Raises:
            Conflict: the lease is lost: the trial has ended or was released, another worker holds it, or the attempt
                has exceeded ``max_runtime_seconds``.
        """
        lease = {} if lease_seconds is None else {"lease_seconds": lease_seconds}
        return self._lease("heartbeat", trial, attempt, lease, key=None)  # the request is idempotent

    def release(
        self, trial: Leased | Trial | int, reason: str | None = None, *, attempt: int | None = None
    ) -> Steps[Answer]:
        """Release a trial without a result; it is issued again before any new point.

        Args:
            trial: the trial, or its number.
            reason: why the attempt has no result, for the log.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial has ended, or another worker holds it.
        """
        given = {} if reason is None else {"reason": reason}
        _note_sending(trial)
        return _noted(trial, (yield from self._lease("release", trial, attempt, given, retry_for=stop_seconds())))

    def withdraw(
        self, trial: Leased | Trial | int, reason: str | None = None, *, attempt: int | None = None
    ) -> Steps[Answer]:
        """End a trial without a result: decline a suggestion, or remove a queued point.

        This is not a failure, and does not count towards the budget. The next suggestions differ from the trial's
        point. ``retry`` undoes this. Withdrawing a trial again changes nothing.

        Args:
            trial: the trial, or its number.
            reason: why it will not be evaluated.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial has an outcome, or another worker holds it.
        """
        given = {} if reason is None else {"reason": reason}
        _note_sending(trial)
        return _noted(trial, (yield from self._lease("withdraw", trial, attempt, given)))

    def settle(self, trial: Leased, error: BaseException | None) -> Steps[None]:
        """Fail or release a trial at the end of its block, unless its outcome was reported before, or the server or
        the connection caused the error."""
        if trial.outcome is not None:
            return
        if error is None:
            log.warning("trial %d of study %r ended without a result", trial.number, self.id)
            yield from self.fail(trial, "the evaluation ended without a result")
        elif isinstance(error, AdaBKBError) and not is_of_evaluation(error):
            return
        elif isinstance(error, Exception) and not isinstance(error, (*MISTAKES, WrongResult, Invalid, WorkerLost)):
            yield from self.fail(trial, in_words(error))
        else:
            yield from self.release(trial)

    def retry(self, trial: Leased | Trial | int, reason: str | None = None) -> Steps[Answer]:
        """Retry a failed or withdrawn trial: it is issued again before any new point. A failed trial does not count
        towards the budget again.

        Nothing changes if the trial is waiting or active. The log keeps the reason.

        Raises:
            Conflict: the trial has a result or was stopped, it cannot be issued (its point is outside the edited space
                or between steps, or its place on a plate is taken), the study has converged, or the budget has no room
                for the trial.
        """
        number = (yield from self._reference_here(trial))["trial"]
        body = {} if reason is None else {"reason": reason}
        return self._decode(Answer, (yield Call("POST", f"{self._path}/trials/{number}/retry", body)))

    def retry_failed(self, reason: str | None = None) -> Steps[list[Trial]]:
        """Retry all failed trials, and return them. A paused study also needs ``resume``."""
        retried = []
        for trial in (yield from self.trials("failed").all()):
            with suppress(Conflict):  # a late result has completed it
                yield from self.retry(trial, reason)
                retried.append(trial)
        return retried

    def annotate(self, trial: Leased | Trial | int, attributes: Mapping[str, Any]) -> Steps[Answer]:
        """Set attributes of a trial in any state. The model ignores them.

        Args:
            trial: the trial, or its number.
            attributes: JSON values by name. None removes an attribute; a dict is merged into an existing one. A trial
                has up to 64 attributes with 16,384 bytes in total; a name has no colon.

        Raises:
            Invalid: the attributes are too many or too large.
            TypeError, ValueError: a value cannot be written as JSON.
        """
        number = (yield from self._reference_here(trial))["trial"]
        body = {"attributes": dict(attributes)}
        return self._decode(Answer, (yield Call("PATCH", f"{self._path}/trials/{number}", body)))

    def queue(self, parameters: Parameters, *, plate: Literal["open", "new"] | None = None) -> Steps[Trial]:
        """Queue your own point. It is issued before any suggestion, and counts towards the budget.

        Args:
            parameters: the point.
            plate: in a study with plates, "open" for a place on the last plate or, if that is full, on the next one;
                "new" for a place on a new plate. With None, the point is on no plate.

        Raises:
            Invalid: the point is not in the space, the last plate has other values of the shared parameters, or a
                plate is given, but the study has none.
            Conflict: the study is complete, or its budget is used up or allows no other plate.
        """
        body = {**_point(parameters), **({} if plate is None else {"plate": plate})}
        return self._decode(Trial, (yield Call("POST", f"{self._path}/trials", body)))

    def repeat(
        self,
        point: Leased | Trial | int | Parameters,
        times: int = 1,
        *,
        plate: Literal["open", "new"] | None = None,
    ) -> Steps[list[Trial]]:
        """Queue a point again once or several times, to repeat the measurement.

        Args:
            point: a trial or its number; or the parameters of a point. For a trial, the point of its first result or,
                without a result, the suggested point is queued.
            times: number of trials to queue at this point, 1 to 100. They are issued before any suggestion, and
                each counts towards the budget.
            plate: as in ``queue``. All of these trials are on the same plate.

        Raises:
            Invalid: the point is not in the space, the last plate has other values of the shared parameters or not
                enough places, or a plate is given, but the study has none.
            Conflict: the study is complete, or its budget does not allow that many trials or another plate; none is
                queued.
        """
        if isinstance(point, Mapping):
            which = _point(point)
        else:
            which = {"trial": (yield from self._reference_here(point))["trial"]}
        body = {**which, "times": times, **({} if plate is None else {"plate": plate})}
        answer = yield Call("POST", f"{self._path}/trials/repeat", body)
        return [self._decode(Trial, each) for each in answer["trials"]]

    def trials(self, state: TrialState | None = None, attributes: Mapping[str, Any] | None = None) -> Listing[Trial]:
        """Yield the trials by number: all, or only those in a state, or with all of the given attributes, or both."""
        wanted = [f"{name}:{as_text(value)}" for name, value in (attributes or {}).items()]
        params: dict[str, Param] = {"state": state, "attribute": wanted or None}
        return Listing(f"{self._path}/trials", lambda trial: self._decode(Trial, trial), params)

    def why(self, trial: Leased | Trial | int) -> Steps[Explanation]:
        """Return the inputs of a trial's suggestion, and all events about the trial, as JSON: see docs/http.md."""
        number = (yield from self._reference_here(trial))["trial"]
        document: Explanation = yield Call("GET", f"{self._path}/trials/{number}/why")
        return document

    def _decode(self, kind: type[T], document: Any) -> T:
        return decode(kind, document, study=self.id, server=self._server)

    def _settle(
        self,
        trial: Leased | Trial | int,
        outcome: Mapping[str, Any],
        seconds: SupportsFloat | None,
        attempt: int | None,
    ) -> Steps[Answer]:
        body = {**self._reference(trial, attempt), **outcome}
        with suppress(ConnectionFailed, Unavailable):  # then the result is kept, and compared when it is delivered
            yield from self._check_server(trial)
        if seconds is None and isinstance(trial, Leased):
            seconds = trial.seconds
        if seconds is not None:
            body["seconds"] = finite("seconds", seconds)
        _note_sending(trial)
        return _noted(trial, (yield from self._observe(body, _created_at(trial))))

    def _observe(self, body: Mapping[str, Any], created_at: datetime | None = None) -> Steps[Answer]:
        call = Call("POST", f"{self._path}/observe", body, reports_result=True, trial_created_at=created_at)
        return self._decode(Answer, (yield call))

    def _lease(
        self,
        verb: str,
        trial: Leased | Trial | int,
        attempt: int | None,
        body: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Steps[Answer]:
        """Send a request about the lease of a trial. ``options`` are arguments of the ``Call``."""
        reference = {**(yield from self._reference_here(trial, attempt)), **(body or {})}
        path = f"{self._path}/trials/{reference.pop('trial')}/{verb}"
        return self._decode(Answer, (yield Call("POST", path, reference, **options)))

    def _reference(self, trial: Leased | Trial | int, attempt: int | None = None) -> dict[str, Any]:
        """Return the fields that identify the trial and, if it is known, the attempt."""
        if isinstance(trial, SupportsIndex):  # also numpy's integers
            return {"trial": index(trial)} if attempt is None else {"trial": index(trial), "attempt": attempt}
        if isinstance(trial, Leased):
            trial = trial.trial
        if not isinstance(trial, Trial):
            remedy = "add_result(parameters, value) stores a result at a point of your own"
            raise TypeError(f"give a trial or its number, not {shown(trial)}; {remedy}")
        if trial.study != self.id:
            remedy = f"use study {trial.study!r}"
            raise ValueError(f"trial {trial.number} belongs to study {trial.study!r}, not to {self.id!r}: {remedy}")
        return {"trial": trial.number, "attempt": trial.attempt}

    def _reference_here(self, trial: Leased | Trial | int, attempt: int | None = None) -> Steps[dict[str, Any]]:
        """Return ``_reference`` for a change, after ``_check_server``."""
        reference = self._reference(trial, attempt)
        yield from self._check_server(trial)
        return reference

    def _check_server(self, trial: Leased | Trial | int) -> Steps[None]:
        """Refuse a trial of another server whose study has the same id. The time of creation tells trials apart, and
        stays the same when a study or its server moves. It is read only if the server has another name.

        Raises:
            ValueError: this server's trial with the same number is another one, or does not exist.
        """
        if isinstance(trial, Leased):
            trial = trial.trial
        if not isinstance(trial, Trial) or not self._server or trial.server in ("", self._server):
            return
        with suppress(NotFound):
            found = self._decode(Trial, (yield from read_trial(self.id, trial.number)))
            if found.created_at == trial.created_at:
                return
        raise ValueError(
            f"trial {trial.number} of study {self.id!r} was issued by {trial.server}, not by {self._server}: use the "
            "study of a client of that server"
        )


def _created_at(trial: Leased | Trial | int) -> datetime | None:
    if isinstance(trial, Leased):
        trial = trial.trial
    return trial.created_at if isinstance(trial, Trial) else None


def _note_sending(trial: Leased | Trial | int) -> None:
    if isinstance(trial, Leased):
        trial._is_outcome_sent = True


def _noted(trial: Leased | Trial | int, answer: Answer) -> Answer:
    """Record the outcome of a leased trial, so that the end of its block reports nothing else."""
    if isinstance(trial, Leased):
        trial.outcome = answer
    return answer


def result_of(
    value: SupportsFloat | None,
    std_error: SupportsFloat | None,
    metrics: Numbers | None = None,
    std_errors: Numbers | None = None,
    *,
    partial: bool = False,
) -> dict[str, Any]:
    """Return a result as JSON.

    Raises:
        WrongResult: a part of the result is not a number.
        ValueError: a part of the result is not finite.
    """
    number: Any = value  # ``finite`` refuses None
    result = {
        "value": None if value is None and metrics else finite("value", number, "; report a failed run with fail()"),
        "std_error": None if std_error is None else finite("std_error", std_error),
        "metrics": finite_metrics("metrics", metrics),
        "std_errors": finite_metrics("std_errors", std_errors),
        "partial": True if partial else None,
    }
    return {name: part for name, part in result.items() if part is not None}


def _item_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``ResultItem`` as JSON. The server checks what else it has.

    Raises:
        WrongResult, TypeError: a part of it is not a number, or cannot be sent.
        ValueError: a part of it is not finite.
    """
    found: dict[str, Any] = {}
    for name, part in item.items():
        if part is None:
            found[name] = None
        elif name in ("value", "std_error", "cost", "seconds"):
            found[name] = finite(name, part, '; report a failed run with {"state": "failed"}' * (name == "value"))
        elif name in ("metrics", "std_errors"):
            found[name] = finite_metrics(name, part)
        elif name == "parameters":
            found[name] = point(part)
            for parameter, value in found[name].items():
                with _naming(f"parameter {parameter!r}"):
                    encoded({parameter: value})
        else:
            with _naming(name):
                encoded({name: part})
            found[name] = part
    return found


def _among_all(refusal: Invalid, start: int, *, dry_run: bool) -> Invalid:
    """Return the refusal of a batch that begins with ``items[start]``, with pointers to the positions among all
    items."""
    found = Invalid(
        refusal.status,
        refusal.code,
        refusal.detail,
        request_id=refusal.request_id,
        pointers={
            re.sub(r"(?<=^/items/)\d+", lambda position: str(int(position[0]) + start), pointer): problem
            for pointer, problem in refusal.pointers.items()
        },
    )
    found.problem = refusal.problem
    stored = f"items[{start}:] are not stored" if start and not dry_run else "nothing is stored"
    found.add_note(f"{stored}: correct what the error names, or leave these items out, and send the rest again")
    return found


@contextmanager
def _naming(place: str, remedy: str = "") -> Iterator[None]:
    """Let the message of an error of the block begin with its place, and end with a remedy."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.args = (f"{place}: {error}{remedy}",)
        raise


def _point(parameters: Parameters | None) -> dict[str, Any]:
    return {} if parameters is None else {"parameters": point(parameters)}


def report_of(
    step: SupportsIndex,
    value: SupportsFloat,
    cost: SupportsFloat | None = None,
    parameters: Parameters | None = None,
) -> dict[str, Any]:
    """Return a report as JSON.

    Raises:
        WrongResult: the step is not a whole number, or the value or the cost is not a number.
        ValueError: the value, the cost or a parameter is not finite.
        TypeError: the parameters are not given by name.
    """
    try:
        number = index(step)
    except TypeError:
        raise WrongResult(f"step must be a whole number, not {step!r}; the step comes before the value") from None
    found = {"step": number, "value": finite("value", value, "; report a failed run with fail()")}
    return {**found, **({} if cost is None else {"cost": finite("cost", cost)}), **_point(parameters)}
