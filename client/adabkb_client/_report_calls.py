"""The calls that report intermediate values of trials, one procedure each."""

import logging
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsFloat, SupportsIndex

from adabkb_client._calls import BATCH, Call, Listing, Param, Steps
from adabkb_client._decoding import decode
from adabkb_client._leased import Leased
from adabkb_client._models import Answer, CurvePoint, Reported, Trial
from adabkb_client._plain import WrongResult, finite
from adabkb_client._trial_calls import TrialCalls
from adabkb_client.errors import AdaBKBError, ConnectionFailed, Unavailable

log = logging.getLogger("adabkb_client")

REPORT_PATIENCE = 5.0
"""Seconds for which a report is retried while the evaluation waits."""


class ReportCalls(TrialCalls):
    """The calls of one study that concern the curves of its trials."""

    def report(
        self,
        trial: Leased | Trial | int,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> Steps[Reported]:
        """Report an intermediate value of a trial, and renew its lease; the answer says whether to stop.

        Sending a report again changes nothing. If the trial is stopped, end the evaluation without a result.

        Args:
            trial: the trial, or its number.
            step: number of steps done so far; 0 before the first step. It must be larger than in the previous report.
            value: value of the objective after this step; a finite number.
            cost: what the attempt has cost so far, in a study with ``cost="told"``. Required if ``early_stopping``
                compares trials.
            lease_seconds: duration of the lease from now on; by default as before.
            attempt: the attempt of a trial that is given by its number; by default the current one.

        Raises:
            ValueError: the value is not finite, or the trial belongs to another study.
            TypeError: the step is not a whole number, or the value is not a number.
            Invalid: the step is larger than ``max_steps``, or smaller than the previous one.
            Conflict: this attempt has reported another value at the step, or no longer holds the trial, or the trial
                has ended.
        """
        return self._report([report_of(step, value, cost)], trial, lease_seconds, attempt)

    def report_many(
        self,
        trial: Leased | Trial | int,
        reports: Sequence[tuple[SupportsIndex, SupportsFloat] | tuple[SupportsIndex, SupportsFloat, SupportsFloat]],
        *,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> Steps[Reported]:
        """Report several intermediate values of a trial, each as (step, value) or (step, value, cost): see ``report``.
        Either all of them are stored or none."""
        return self._report([report_of(*each) for each in reports], trial, lease_seconds, attempt)

    def _report(
        self,
        reports: Sequence[Mapping[str, Any]],
        trial: Leased | Trial | int,
        lease_seconds: float | None,
        attempt: int | None,
    ) -> Steps[Reported]:
        reference = self._reference(trial, attempt)
        body: dict[str, Any] = {"reports": reports}
        body |= {} if lease_seconds is None else {"lease_seconds": lease_seconds}
        path = f"{self._path}/trials/{reference.pop('trial')}/reports"
        call = Call("POST", path, {**reference, **body}, key=None)  # the request is idempotent
        answer: Reported = self._decode(Reported, (yield call))
        return answer

    def deliver_reports(self, trial: Leased, told: Sequence[Mapping[str, Any]] = ()) -> Steps[bool]:
        """Send the reports of a leased trial, and return whether it should stop.

        Reports that cannot be delivered wait in memory, and are sent with the next one.

        Raises:
            Invalid, Conflict: as ``report``.
        """
        was_away = bool(trial.unsent)
        trial.unsent += told
        reference = self._reference(trial)
        path = f"{self._path}/trials/{reference.pop('trial')}/reports"
        while trial.unsent and not trial.should_stop():
            body = {**reference, "reports": trial.unsent[:BATCH]}
            call = Call("POST", path, body, key=None, retry_for=0.0 if was_away else REPORT_PATIENCE)
            try:
                answer: Reported = self._decode(Reported, (yield call))
            except (ConnectionFailed, Unavailable) as error:
                if not was_away:
                    log.warning("trial %d of study %r: reports wait for the server: %s", trial.number, self.id, error)
                return False
            except AdaBKBError:
                trial.unsent.clear()
                raise
            del trial.unsent[:BATCH]
            if answer.stop:
                log.info("trial %d of study %r is stopped: %s", trial.number, self.id, answer.reason)
                trial.outcome = Answer(answer.study, answer.trial)
        return trial.should_stop()

    def curve(self, trial: Leased | Trial | int, attempt: int | None = None) -> Listing[CurvePoint]:
        """Yield the reports of an attempt of a trial, by step; by default the current attempt."""
        params: dict[str, Param] = {"attempt": attempt}
        path = f"{self._path}/trials/{self._reference(trial)['trial']}/reports"
        return Listing(path, lambda report: decode(CurvePoint, report), params)


def report_of(step: SupportsIndex, value: SupportsFloat, cost: SupportsFloat | None = None) -> dict[str, Any]:
    """Return a report in wire form.

    Raises:
        WrongResult: the step is not a whole number, or the value or the cost is not a number.
        ValueError: the value or the cost is not finite.
    """
    try:
        number = index(step)
    except TypeError:
        raise WrongResult(f"step must be a whole number, not {step!r}") from None
    found = {"step": number, "value": finite("value", value, "; report a failed run with fail()")}
    return found if cost is None else {**found, "cost": finite("cost", cost)}
