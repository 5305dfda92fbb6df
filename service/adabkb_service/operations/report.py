"""POST /v1/studies/{id}/trials/{n}/reports: store intermediate values of a trial; the answer says whether to stop.

A report renews the lease, as a heartbeat does. The study's early-stopping rule decides at once, from the trial's curve
(a column of its row) and the values of other trials at the same step (found by an index). If the trial should stop, it
is stopped in the same transaction, and its worker need not send a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from adabkb_service.contract.context import measured_of
from adabkb_service.contract.cost import COST
from adabkb_service.contract.reports import MAX_REPORTS, OneReportBody, Report, Reported, ReportsBody, reports_of
from adabkb_service.engine.early_stopping import extended
from adabkb_service.errors import FieldError, Invalid, ReportConflict, TrialFinished
from adabkb_service.operations.lease import check_current, renew
from adabkb_service.operations.record import measured_cost, seconds_of
from adabkb_service.storage.columns import Estimate
from adabkb_service.storage.event_payloads import Observed, Stopped
from adabkb_service.storage.rows import FINISHED, TrialRow
from adabkb_service.study import curves, lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.point_checks import checked_measured
from adabkb_service.study.request import Key, Outcome, Points, Request

Bodies = OneReportBody | ReportsBody

COST_NOT_ALLOWED = 'is not allowed: reports contain costs only in a study with "cost": "told"; leave it out'
COST_REQUIRED = (
    "is required: what the attempt has cost so far, because this report may stop the trial, and a stopped trial has no "
    "result that could give its cost"
)


def report(study_id: str, number: int, body: Bodies, key: Key | None = None) -> Request[Reported]:
    """Return a request to store the reports of a trial, renew its lease, and decide whether it continues.

    Reports of a stopped trial have no effect and raise no error. A worker that missed an answer thus still learns that
    its trial was stopped.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        Invalid: a step is too large, or smaller than the one reported before; a cost or a measured value is missing
            or not allowed; or the attempt has too many reports.
        ReportConflict: the attempt has reported another value at this step.
        TrialFinished: the trial is completed, failed or withdrawn, and a report is new.
        LeaseLost: the attempt has lost its lease, or has exceeded the maximum run time.
    """
    return Request(study_id, Reported, partial(_report, number, body), key)


def _report(number: int, body: Bodies, draft: Draft, _: Points) -> Outcome[Reported]:
    trial = draft.trial(number)
    check_current(trial, body.attempt)
    if trial.state != "stopped":
        new, measured = _new(draft, trial, body)
        if trial.state not in FINISHED:
            renew(draft, trial, body.lease_seconds)
        elif new:
            raise TrialFinished(f"Trial {number} is {trial.state}; it takes no further reports.")
        if new:
            _record(draft, trial, new, measured)
    lifecycle.update_state(draft)
    found, is_stopped = draft.trial(number), draft.trial(number).state == "stopped"
    return Outcome(
        Reported(
            stop=is_stopped,
            reason=found.reason if is_stopped else None,
            rule=draft.study.definition["early_stopping"]["rule"] if is_stopped else None,
            trial=render.trial(found, draft.definition),
            study=lifecycle.summary(draft.study),
        )
    )


def _new(draft: Draft, trial: TrialRow, body: Bodies) -> tuple[list[Report], dict[int, dict[str, Any]]]:
    """Return the reports that are not stored yet, in order, and the values in them of parameters that are measured
    with the result: step -> name -> value."""
    given = reports_of(body)
    last = -1 if trial.curve is None else trial.curve["step"]
    known = curves.values(draft, trial.number, trial.attempt, [each.step for _, each in given if each.step <= last])
    field_errors, new, measured = list[FieldError](), list[Report](), dict[int, dict[str, Any]]()
    for pointer, each in given:
        if known.get(each.step, each.value) != each.value:
            raise ReportConflict(
                f"Attempt {trial.attempt} of trial {trial.number} has reported {known[each.step]} at step {each.step}; "
                f"it cannot report {each.value} there too."
            )
        if each.step in known:
            continue
        if detail := _step_error(draft, each.step, last):
            field_errors.append(FieldError(f"{pointer}/step", detail, "step"))
        if detail := _cost_error(draft, each.cost):
            field_errors.append(FieldError(f"{pointer}/cost", detail, "cost"))
        try:
            measured[each.step] = _measured_values(draft, trial, each, pointer)
        except Invalid as error:
            field_errors += error.errors
        new.append(each)
        known[each.step], last = each.value, max(each.step, last)
    if field_errors:
        raise Invalid(field_errors)
    if (0 if trial.curve is None else trial.curve["reports"]) + len(new) > MAX_REPORTS:
        detail = f"an attempt may report at most {MAX_REPORTS:,} values; report only every tenth step"
        raise Invalid([FieldError("/reports" if isinstance(body, ReportsBody) else "/step", detail, "too_many")])
    return new, measured


def _measured_values(draft: Draft, trial: TrialRow, given: Report, pointer: str) -> dict[str, Any]:
    """Return the values in a report of the parameters that are measured with the result, by name.

    Raises:
        Invalid: a value is not allowed, or is missing in a study that stops trials early.
    """
    if given.parameters is None and draft.study.definition["early_stopping"] is None:
        return {}
    # A trial that was issued before an edit added a parameter lacks it.
    names = [name for name in measured_of(draft.definition.parameters) if name in trial.parameters]
    return checked_measured(draft.space, names, given.parameters or {}, f"{pointer}/parameters")


def _step_error(draft: Draft, step: int, last: int) -> str | None:
    """Return why ``step`` is not allowed after step ``last``; None if it is allowed."""
    rule = draft.study.definition["early_stopping"]
    if rule is not None and step > rule["max_steps"]:
        return f"must be at most max_steps of the study's early_stopping ({rule['max_steps']})"
    if step < last:
        return f"must be more than {last}, the step reported before; report steps in increasing order"
    return None


def _cost_error(draft: Draft, cost: float | None) -> str | None:
    """Return why a report may not have this cost; None if it may."""
    definition = draft.definition
    rule, is_reported = definition.stopping_rule, definition.cost == "told"
    if cost is not None and not is_reported:
        return COST_NOT_ALLOWED
    if cost is None and is_reported and rule is not None and rule.compares:
        return COST_REQUIRED
    return None


def _record(draft: Draft, trial: TrialRow, new: Sequence[Report], measured: Mapping[int, Mapping[str, Any]]) -> None:
    """Record the reports. Stop the trial if the study's early-stopping rule requires this after any of them.
    ``measured`` is as in ``_new``."""
    reports = [(each.step, each.value) for each in new]
    draft.record("reported", {"attempt": trial.attempt, "reports": reports}, trial.number)
    rule, curve = draft.definition.stopping_rule, trial.curve
    if rule is None:
        return
    for each in new:
        mark = rule.mark(-1 if curve is None else curve["step"], each.step)
        curve = extended(curve, each.step, each.value, rule.sign, rule.min_gain)
        if rule.may_stop(each.step) and (mark is not None or not rule.compares):
            values = {} if mark is None else curves.comparable(draft, mark)
            others = [] if mark is None else curves.competitors(draft, mark, trial, values)
            if reason := rule.verdict(curve, others):
                estimate = None if mark is None else curves.estimate(draft, mark, each.value, values, rule.metric)
                _stop(draft, trial, new[-1], measured[new[-1].step], reason, estimate)
                return


def _stop(
    draft: Draft,
    trial: TrialRow,
    last: Report,
    measured: Mapping[str, Any],
    reason: str,
    estimate: Estimate | None,
) -> None:
    """Stop a trial. Without an estimate of its final value, record the last reported value as its result. The worker
    may add other metrics of the study to this result later. ``measured`` are the values of the parameters that are
    measured with the result."""
    definition = draft.definition
    seconds = seconds_of(draft, trial, trial.attempt, None)
    rule, cost = definition.early_stopping, last.cost if definition.cost == "told" else measured_cost(draft, seconds)
    metric = None if rule is None else rule.metric
    parameters = {**trial.parameters, **measured}
    stopped: Stopped = {
        "attempt": trial.attempt,
        "step": last.step,
        "value": last.value,
        "parameters": parameters,
        "reason": reason,
        "estimate": estimate,
    }
    if seconds is not None:
        stopped["seconds"] = seconds
    if metric is not None:
        stopped["metric"] = metric
    if estimate is not None and cost is not None:
        stopped["cost"] = cost
    draft.record("stopped", stopped, trial.number)
    if estimate is not None:
        return
    result: Observed = {
        "observation": draft.study.observations + 1,
        "attempt": trial.attempt,
        "parameters": parameters,
    }
    if metric is None:
        result["value"], result["std_error"] = last.value, None
    if seconds is not None:
        result["seconds"] = seconds
    if definition.metrics_with_bounds:
        of_metric = {} if metric is None else {metric: last.value}
        of_cost = {} if cost is None else {COST: cost}
        result["metrics"], result["std_errors"] = of_metric | of_cost, {}
    draft.record("observed", result, trial.number)
