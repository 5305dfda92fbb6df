"""The transition function: how each event of the log changes the rows of its study.

Every change of a study is an event. Only ``begin`` (the first event) and ``apply`` (all others) turn events into rows.
Live requests apply their events to a ``Draft``. Replay, ``adabkb data doctor``, ``adabkb data import`` and ``/why``
apply stored events to a ``ReplayState``. The log does not hold the times at which leases end: a heartbeat is an event
only if it renews an expired lease. Nor does it hold the model's statistics. The study's state follows from its row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, Protocol

from adabkb_service.contract.attributes import merged
from adabkb_service.contract.cost import cost_of
from adabkb_service.contract.stored import definition_of, edited, first_stored, with_display_changes
from adabkb_service.contract.study import CHANGEABLE
from adabkb_service.engine.early_stopping import extended
from adabkb_service.storage.rows import EventKind, EventRow, ObservationRow, ReportRow, StudyRow, TrialRow
from adabkb_service.study.best import as_best, counting, decided, has_several_objectives, rank


class Rows(Protocol):
    """Read and replace the rows of one study."""

    study: StudyRow

    def trial(self, number: int) -> TrialRow:
        """Return a trial.

        Raises:
            TrialNotFound: the trial does not exist.
        """

    def put_trial(self, row: TrialRow) -> None:
        """Add or replace a trial."""

    def observation(self, seq: int) -> ObservationRow:
        """Return an observation.

        Raises:
            ObservationNotFound: the observation does not exist.
        """

    def trials_on_plate(self, plate: int) -> int:
        """Return the number of trials on a plate that are not withdrawn."""

    def put_observation(self, row: ObservationRow) -> None:
        """Add or replace an observation."""

    def observations_of(self, trial: int) -> list[ObservationRow]:
        """Return the observations of a trial, in order."""

    def put_report(self, row: ReportRow) -> None:
        """Add a report."""

    def best_observation(self) -> ObservationRow | None:
        """Return the best observation that counts (see ``best.best_of``), the first one in a tie."""

    def counting_after(self, seq: int) -> int:
        """Return the number of observations that count and have a number larger than ``seq``."""


def begin(study_id: str, event: EventRow) -> StudyRow:
    """Return the row of a study after its first event, ``created``."""
    definition, seed = first_stored(event.payload["definition"]), event.payload["seed"]
    parsed = definition_of(definition)
    values = parsed.model_dump(mode="json")
    limits = {name: values[name] for name in CHANGEABLE}
    if parsed.cost_budget is not None:  # a cost, not a number of trials
        limits["budget"] = None
    row = StudyRow.new(study_id, definition, seed, event.created_at, **limits)
    return replace(row, study_seq=event.seq, log_bytes=_size(event))


def apply(rows: Rows, event: EventRow) -> None:
    """Bring the rows from the state before an event to the state after it.

    Raises:
        TrialNotFound, ObservationNotFound: the event refers to a row that does not exist.
        LookupError, AttributeError, TypeError, ValueError: the event or a value in it is invalid.
    """
    changed = _TRANSITIONS[event.kind](rows, event)
    size = rows.study.log_bytes + _size(event)
    rows.study = replace(rows.study, study_seq=event.seq, log_bytes=size, updated_at=event.created_at, **changed)


CORRECTABLE = ("value", "std_error", "metrics", "std_errors", "excluded")
"""Columns of an observation that an event ``corrected`` or ``measured`` may change; ``metrics`` and ``std_errors``
exist only in studies with metrics."""
Columns = dict[str, Any]
"""New values of the study's columns."""
INITIAL_MODEL_STATS: Mapping[str, Any] = {
    "gap": None, "gap_share": None, "beta": 0.0, "leaves": 1, "depth": 0, "dictionary": 0, "basis": 0,
    "effective_dimension": 0.0, "points": 0, "observations": 0, "offset": 0.0, "scale": 1.0, "clipped": 0,
    "stopped": False, "exhausted": False,
}  # fmt: skip
"""The model's statistics after an edit of the space, which makes the previous ones obsolete."""


def _unchanged(_: Rows, __: EventRow) -> Columns:
    return {}


def _updated(rows: Rows, event: EventRow) -> Columns:
    changes = event.payload["changes"]
    columns = {name: value for name, value in changes.items() if name in CHANGEABLE}
    if len(columns) == len(changes):
        return columns
    return {**columns, "definition": with_display_changes(rows.study.definition, changes)}


def _paused(_: Rows, __: EventRow) -> Columns:
    return {"paused": True}


def _resumed(_: Rows, __: EventRow) -> Columns:
    return {"paused": False, "failures": 0}


def _model_failed(_: Rows, event: EventRow) -> Columns:
    return {"model_error": event.payload["error"]}


def _model_recovered(_: Rows, __: EventRow) -> Columns:
    return {"model_error": None}


def _suggested(rows: Rows, event: EventRow) -> Columns:
    payload = event.payload
    cell = None if payload["cell"] is None else payload["cell"]["key"]
    return _add_trial(
        rows,
        event,
        state="active",
        origin=payload["origin"],
        phase=payload["phase"],
        expected=payload["expected"],
        cell=cell,
        worker=payload["worker"],
        attempt=1,
        started_at=event.created_at,
        plate=payload.get("plate"),
    ) | _on_plate(rows.study, payload)


def _on_plate(study: StudyRow, payload: Mapping[str, Any]) -> Columns:
    """Return the column ``plate``, updated for a trial on the plate; empty in a study without plates."""
    number, plates = payload.get("plate"), definition_of(study.definition).plates
    if number is None or plates is None:
        return {}
    before = study.plate or {}
    is_new = before.get("number") != number
    trials, begun = (1 if is_new else before["trials"] + 1), before.get("begun", 0) + is_new
    shared = {name: payload["parameters"][name] for name in plates.shared}
    return {"plate": {**before, "number": number, "trials": trials, "shared": shared, "begun": begun}}


def _with_named_plate(study: StudyRow, payload: Mapping[str, Any]) -> Columns:
    """Return the column ``plate``, updated for a result that names a plate: later plates get larger numbers."""
    number = payload.get("plate")
    if number is None or definition_of(study.definition).plates is None:
        return {}
    before = study.plate or {"number": 0, "trials": 0, "shared": None}
    return {"plate": {**before, "named": max(number, before.get("named", 0))}}


def _queued(rows: Rows, event: EventRow) -> Columns:
    payload = event.payload
    origin = "own" if payload.get("origin") == "own" else "queued"
    return _add_trial(rows, event, origin=origin, plate=payload.get("plate")) | _on_plate(rows.study, payload)


def _leased(rows: Rows, event: EventRow) -> Columns:
    trial, payload = _trial(rows, event), event.payload
    if payload["renewed"]:  # a heartbeat renewed an expired lease, so the expiry no longer counts
        return _change_trial(rows, trial, state="active", expirations=trial.expirations - 1)
    begun = {"attempt": payload["attempt"], "worker": payload["worker"], "started_at": event.created_at, "curve": None}
    return _change_trial(rows, trial, state="active", **begun)


def _expired(rows: Rows, event: EventRow) -> Columns:
    trial = _trial(rows, event)
    return _change_trial(rows, trial, state="expired", expirations=trial.expirations + 1)


def _released(rows: Rows, event: EventRow) -> Columns:
    return _change_trial(rows, _trial(rows, event), state="released")


def _failed(rows: Rows, event: EventRow) -> Columns:
    payload, trial = event.payload, _trial(rows, event)
    moved = _change_trial(
        rows,
        trial,
        state="failed",
        failed_attempt=payload["attempt"],
        reason=payload["reason"],
        finished_at=event.created_at,
        seconds=payload.get("seconds"),
        reported_by=payload.get("user"),
    )
    if trial.state == "withdrawn":
        moved |= _with_place(rows, trial, 1)
    return moved if trial.origin == "own" else {**moved, "failures": rows.study.failures + 1}


def _withdrawn(rows: Rows, event: EventRow) -> Columns:
    trial, end = _trial(rows, event), {"reason": event.payload["reason"], "finished_at": event.created_at}
    return _change_trial(rows, trial, state="withdrawn", **end) | _with_place(rows, trial, -1)


def _with_place(rows: Rows, trial: TrialRow, change: Literal[-1, 1]) -> Columns:
    """Return the column ``plate``, updated for a trial that was withdrawn (-1) or reinstated (1); empty unless the
    trial is on a plate. Call this after the change of the trial's row."""
    last = rows.study.plate
    if last is None or trial.plate is None:
        return {}
    trials = last["trials"] + change if trial.plate == last["number"] else last["trials"]
    # Its first trial begins a plate, and a plate whose trials are all withdrawn does not count.
    is_alone = rows.trials_on_plate(trial.plate) == max(change, 0)
    return {"plate": {**last, "trials": trials, "begun": last["begun"] + (change if is_alone else 0)}}


def _retried(rows: Rows, event: EventRow) -> Columns:
    trial = _trial(rows, event)
    cleared: dict[str, Any] = dict.fromkeys(("failed_attempt", "reason", "finished_at", "seconds", "reported_by"))
    if trial.origin == "own":  # from now on, it counts as a queued trial
        cleared["origin"] = "queued"
    moved = _change_trial(rows, trial, state="released", expirations=0, **cleared)
    return moved | (_with_place(rows, trial, 1) if trial.state == "withdrawn" else {})


def _reported(rows: Rows, event: EventRow) -> Columns:
    trial, attempt, definition = _trial(rows, event), event.payload["attempt"], definition_of(rows.study.definition)
    rule, curve = definition.stopping_rule, trial.curve
    sign, min_gain = definition.sign_of_reports, 0.0 if rule is None else rule.min_gain
    for step, value in event.payload["reports"]:
        mark = None if rule is None else rule.mark(-1 if curve is None else curve["step"], step)
        rows.put_report(ReportRow(trial.study_id, trial.number, attempt, step, value, mark, event.created_at))
        curve = extended(curve, step, value, sign, min_gain)
    return _change_trial(rows, trial, curve=curve)


def _stopped(rows: Rows, event: EventRow) -> Columns:
    payload, study = event.payload, rows.study
    end = {name: payload.get(name) for name in ("reason", "estimate", "seconds")} | {"finished_at": event.created_at}
    saved = study.definition["early_stopping"]["max_steps"] - payload["step"]
    moved = _change_trial(rows, _trial(rows, event), state="stopped", **end)
    spent = study.cost_spent + payload.get("cost", 0.0)  # only a stopped trial without a result has a cost here
    return {**moved, "failures": 0, "steps_saved": study.steps_saved + saved, "cost_spent": spent}


def _annotated(rows: Rows, event: EventRow) -> Columns:
    if event.trial is None:
        result = rows.observation(event.payload["observation"])
        rows.put_observation(replace(result, attributes=merged(result.attributes, event.payload["attributes"])))
        return {}
    trial = _trial(rows, event)
    return _change_trial(rows, trial, attributes=merged(trial.attributes, event.payload["attributes"]))


def _observed(rows: Rows, event: EventRow) -> Columns:
    payload, study = event.payload, rows.study
    row = ObservationRow(
        study_id=study.id,
        seq=payload["observation"],
        trial=event.trial,
        attempt=payload["attempt"],
        parameters=payload["parameters"],
        value=payload.get("value"),  # value and std_error are absent with several objectives
        std_error=payload.get("std_error"),
        excluded=False,
        observed_at=event.created_at,
        metrics=payload.get("metrics"),  # metrics and std_errors are absent without metrics
        std_errors=payload.get("std_errors"),
        plate=payload.get("plate"),  # only a result without a trial names one
        seconds=payload.get("seconds"),
        reported_by=payload.get("user"),
    )
    rows.put_observation(row)
    spent = study.cost_spent + cost_of(study.definition, row.metrics)
    changed: Columns = {"observations": study.observations + 1, "cost_spent": spent}
    changed |= _with_observation(study, row) | _with_named_plate(study, payload)
    if event.trial is None:
        return changed
    trial = _trial(rows, event)
    if trial.state == "completed":  # a replicate
        return changed
    if trial.state == "stopped":  # the early-stopping rule uses the last report as the result
        columns = {"value": row.value, "metrics": row.metrics, "reported_by": row.reported_by}
        return {**changed, **_change_trial(rows, trial, **columns)}
    outcome = {"value": row.value, "metrics": row.metrics, "seconds": row.seconds, "reported_by": row.reported_by}
    finished = {"state": "completed", **outcome, "reason": None, "finished_at": event.created_at}
    changed |= _change_trial(rows, trial, **finished)
    if trial.state == "withdrawn":
        changed |= _with_place(rows, trial, 1)
    return {**changed, "failures": 0}


def _corrected(rows: Rows, event: EventRow) -> Columns:
    payload = event.payload
    changed = {name: payload[name] for name in CORRECTABLE if name in payload}
    was = rows.observation(payload["observation"])
    row = replace(was, **changed)
    rows.put_observation(row)
    before, after = (cost_of(rows.study.definition, each.metrics) for each in (was, row))
    spent = rows.study.cost_spent + (after - before)
    if row.trial is not None:
        first = rows.observations_of(row.trial)[0]
        rows.put_trial(replace(rows.trial(row.trial), value=first.value, metrics=first.metrics))
    return {**_best_columns(rows), "cost_spent": spent}


def _edited(rows: Rows, event: EventRow) -> Columns:
    definition = edited(rows.study.definition, event.payload)
    rows.study = replace(rows.study, definition=definition)  # the definition decides which results count
    changed = {**_best_columns(rows), "model": {**INITIAL_MODEL_STATS, "rests_on": event.seq}}
    return changed | (_plate_closed(rows, event) if event.payload.get("closes_plate", True) else {})


def _plate_closed(rows: Rows, _: EventRow) -> Columns:
    return {"plate": None if rows.study.plate is None else {**rows.study.plate, "shared": None}}


_TRANSITIONS: dict[EventKind, Callable[[Rows, EventRow], Columns]] = {
    "created": _unchanged,
    "suggested": _suggested,
    "queued": _queued,
    "leased": _leased,
    "expired": _expired,
    "released": _released,
    "observed": _observed,
    "failed": _failed,
    "withdrawn": _withdrawn,
    "plate_closed": _plate_closed,
    "retried": _retried,
    "annotated": _annotated,
    "paused": _paused,
    "resumed": _resumed,
    "updated": _updated,
    "completed": _unchanged,  # ``lifecycle.update_state`` derives the state from the row
    "corrected": _corrected,
    "measured": _corrected,
    "model_failed": _model_failed,
    "model_recovered": _model_recovered,
    "reported": _reported,
    "stopped": _stopped,
    "edited": _edited,
}


def _size(event: EventRow) -> int:
    """Return the size of the stored payload in bytes."""
    return len(json.dumps(event.payload))


def _trial(rows: Rows, event: EventRow) -> TrialRow:
    return rows.trial(event.trial or 0)


def _add_trial(rows: Rows, event: EventRow, **values: Any) -> Columns:
    study = rows.study
    row = TrialRow.new(study.id, event.trial or 0, event.payload["parameters"], event.created_at, **values)
    rows.put_trial(row)
    return {row.state: getattr(study, row.state) + 1}


def _change_trial(rows: Rows, trial: TrialRow, **values: Any) -> Columns:
    row = replace(trial, **values)
    rows.put_trial(row)
    if row.state == trial.state:
        return {}
    counts: Columns = {trial.state: getattr(rows.study, trial.state) - 1, row.state: getattr(rows.study, row.state) + 1}
    if trial.origin == "own" and "failed" in counts:
        counts["own_failures"] = rows.study.own_failures + (1 if row.state == "failed" else -1)
    return counts


def _with_observation(study: StudyRow, row: ObservationRow) -> Columns:
    """Return the study's columns that a new observation changes; none if it does not count or there are several
    objectives."""
    if has_several_objectives(study) or not counting(study)(row):
        return {}
    best = study.best
    changed: Columns = {} if best is None else {"results_since_best": study.results_since_best + 1}
    if not decided(study)(row):
        return changed
    if best is None or rank(study, row.value, row.metrics) > rank(study, best["value"], best.get("metrics")):
        changed |= {"best": as_best(study, row), "results_since_best": 0}
    return changed


def _best_columns(rows: Rows) -> Columns:
    """Return the columns ``best`` and ``results_since_best``, from all observations; empty with several objectives."""
    if has_several_objectives(rows.study):
        return {}
    best = rows.best_observation()
    since = 0 if best is None else rows.counting_after(best.seq)
    return {"best": as_best(rows.study, best), "results_since_best": since}
