"""The transition function: how each event of the log changes the rows of its study.

Every change of a study is an event. Only ``begin`` (the first event) and ``apply`` (all others) turn events into rows.
Live requests apply their events to a ``Draft``. Replay, ``adabkb data doctor``, ``adabkb data import`` and ``/why``
apply stored events to a ``ReplayState``. The log does not hold the times at which leases end: a heartbeat is an event
only if it renews an expired lease. Nor does it hold the model's statistics. The study's state follows from its row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypedDict, cast, get_args

from adabkb_service.contract.attributes import merged
from adabkb_service.contract.cost import cost_of
from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.stored import StoredDefinition, definition_of, edited, first_stored, with_display_changes
from adabkb_service.engine.early_stopping import extended
from adabkb_service.storage import event_payloads as payloads
from adabkb_service.storage.columns import BestResult, LastPlate, ModelStats
from adabkb_service.storage.rows import EventKind, EventOf, EventRow, ObservationRow, ReportRow, StudyRow, TrialRow
from adabkb_service.study.best import as_best, counting, decided, has_several_objectives, rank


class Rows(Protocol):
    """Read and replace the rows of one study."""

    study: StudyRow

    @property
    def definition(self) -> StoredDefinition:
        """The study's current definition."""

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


def begin(study_id: str, event: EventOf[EventKind, payloads.Created]) -> StudyRow:
    """Return the row of a study after its first event, ``created``."""
    definition, seed = first_stored(event.payload["definition"]), event.payload["seed"]
    parsed = definition_of(definition)
    values = parsed.model_dump(mode="json")
    limits = {name: values[name] for name in IN_COLUMNS}
    if parsed.cost_budget is not None:  # a cost, not a number of trials
        limits["budget"] = None
    row = StudyRow.new(study_id, definition, seed, event.created_at, **limits)
    return replace(row, study_seq=event.seq, log_bytes=payloads.payload_bytes(event.payload))


def apply(rows: Rows, event: EventRow, *, finds_best: bool = True) -> None:
    """Bring the rows from the state before an event to the state after it.

    Args:
        rows: the rows of the study.
        event: the event.
        finds_best: whether a changed result updates the columns ``best`` and ``results_since_best``, which may need all
            results of the study. For each of several changed results, only the last one need do so; after that,
            ``find_best`` does the same.

    Raises:
        TrialNotFound, ObservationNotFound: the event refers to a row that does not exist.
        LookupError, AttributeError, TypeError, ValueError: the event or a value in it is invalid.
    """
    changed = _changed_columns(rows, event)
    if finds_best and event.kind in CHANGES_OF_RESULTS:
        changed |= _best_columns(rows)
    size = rows.study.log_bytes + payloads.payload_bytes(event.payload)
    rows.study = replace(rows.study, study_seq=event.seq, log_bytes=size, updated_at=event.created_at, **changed)


def find_best(rows: Rows) -> None:
    """Update the columns ``best`` and ``results_since_best``."""
    rows.study = replace(rows.study, **_best_columns(rows))


CHANGES_OF_RESULTS: Sequence[EventKind] = ("corrected", "measured")
"""Kinds of events that change a stored result."""
Correctable = Literal["value", "std_error", "metrics", "std_errors", "excluded"]
CORRECTABLE: Sequence[Correctable] = get_args(Correctable)
"""Columns of an observation that an event ``corrected`` or ``measured`` may change; ``metrics`` and ``std_errors``
exist only in studies with metrics."""


class Columns(TypedDict, total=False):
    """New values of the study's columns; those that do not change are absent."""

    definition: dict[str, Any]
    title: str | None
    description: str | None
    tags: dict[str, str]
    paused: bool
    budget: int | dict[str, int] | None
    tolerance: float | None
    pending_limit: int | None
    lease_seconds: float
    max_attempts: int
    failure_limit: int | None
    max_runtime_seconds: float | None
    stop: dict[str, Any] | None
    model: ModelStats
    model_error: str | None
    active: int
    queued: int
    released: int
    expired: int
    completed: int
    failed: int
    stopped: int
    withdrawn: int
    observations: int
    failures: int
    own_failures: int
    best: BestResult | None
    results_since_best: int
    steps_saved: int
    cost_spent: float
    plate: LastPlate | None


NO_PLATE: LastPlate = {"number": 0, "trials": 0, "shared": None}
"""The last plate of a study whose plates have no trials yet."""


def stats_of_empty_model(rests_on: int) -> ModelStats:
    """Return the model's statistics after an edit of the space, which makes the previous ones obsolete."""
    return {
        "gap": None,
        "gap_share": None,
        "beta": 0.0,
        "leaves": 1,
        "depth": 0,
        "dictionary": 0,
        "basis": 0,
        "effective_dimension": 0.0,
        "points": 0,
        "observations": 0,
        "offset": 0.0,
        "scale": 1.0,
        "clipped": 0,
        "stopped": False,
        "exhausted": False,
        "rests_on": rests_on,
    }


def _changed_columns(rows: Rows, event: EventRow) -> Columns:  # noqa: PLR0911, PLR0912 (one case per kind)
    match event.kind:
        case "created" | "completed":  # ``lifecycle.update_state`` derives the state from the row
            return {}
        case "suggested":
            return _suggested(rows, event)
        case "queued":
            return _queued(rows, event)
        case "leased":
            return _leased(rows, event)
        case "expired":
            trial = _trial(rows, event)
            return _change_trial(rows, trial, state="expired", expirations=trial.expirations + 1)
        case "released":
            return _change_trial(rows, _trial(rows, event), state="released", reason=event.payload.get("reason"))
        case "observed":
            return _observed(rows, event)
        case "corrected" | "measured":
            return _corrected(rows, event)
        case "failed":
            return _failed(rows, event)
        case "withdrawn":
            return _withdrawn(rows, event)
        case "retried":
            return _retried(rows, event)
        case "reported":
            return _reported(rows, event)
        case "stopped":
            return _stopped(rows, event)
        case "annotated":
            return _annotated(rows, event)
        case "plate_closed":
            return _plate_closed(rows)
        case "paused":
            return {"paused": True}
        case "resumed":
            return {"paused": False, "failures": 0}
        case "updated":
            return _updated(rows, event.payload["changes"])
        case "edited":
            return _edited(rows, event)
        case "model_failed":
            return {"model_error": event.payload["error"]}
        case "model_recovered":
            return {"model_error": None}


def _suggested(rows: Rows, event: EventOf[EventKind, payloads.Suggested]) -> Columns:
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
    ) | _on_plate(rows, payload)


def _on_plate(rows: Rows, payload: payloads.Suggested | payloads.Queued) -> Columns:
    """Return the column ``plate``, updated for a trial on the plate; empty in a study without plates."""
    number, plates = payload.get("plate"), rows.definition.plates
    if number is None or plates is None:
        return {}
    before = rows.study.plate or NO_PLATE
    is_new = before["number"] != number
    trials, begun = (1 if is_new else before["trials"] + 1), before.get("begun", 0) + is_new
    shared = {name: payload["parameters"][name] for name in plates.shared}
    return {"plate": {**before, "number": number, "trials": trials, "shared": shared, "begun": begun}}


def _with_named_plate(rows: Rows, payload: payloads.Observed) -> Columns:
    """Return the column ``plate``, updated for a result that names a plate: later plates get larger numbers."""
    number = payload.get("plate")
    if number is None or rows.definition.plates is None:
        return {}
    before = rows.study.plate or NO_PLATE
    return {"plate": {**before, "named": max(number, before.get("named", 0))}}


def _queued(rows: Rows, event: EventOf[EventKind, payloads.Queued]) -> Columns:
    payload = event.payload
    origin = "own" if payload.get("origin") == "own" else "queued"
    return _add_trial(rows, event, origin=origin, plate=payload.get("plate")) | _on_plate(rows, payload)


def _leased(rows: Rows, event: EventOf[EventKind, payloads.Leased]) -> Columns:
    trial, payload = _trial(rows, event), event.payload
    if payload["renewed"]:  # a heartbeat renewed an expired lease, so the expiry no longer counts
        return _change_trial(rows, trial, state="active", expirations=trial.expirations - 1)
    begun, attempt, worker = event.created_at, payload["attempt"], payload["worker"]
    return _change_trial(rows, trial, state="active", attempt=attempt, worker=worker, started_at=begun, curve=None)


def _failed(rows: Rows, event: EventOf[EventKind, payloads.Failed]) -> Columns:
    payload, trial = event.payload, _trial(rows, event)
    moved = _change_trial(
        rows,
        trial,
        state="failed",
        failed_attempt=payload["attempt"],
        reason=payload["reason"],
        finished_at=event.created_at,
        **_of_report(payload),
    )
    if trial.state == "withdrawn":
        moved |= _with_place(rows, trial, 1)
    return moved if trial.origin == "own" else {**moved, "failures": rows.study.failures + 1}


def _of_report(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a trial or a result has from the report of the outcome."""
    return {"seconds": payload.get("seconds"), "reported_by": payload.get("user")}


def _withdrawn(rows: Rows, event: EventOf[EventKind, payloads.Withdrawn]) -> Columns:
    trial, reason = _trial(rows, event), event.payload["reason"]
    moved = _change_trial(rows, trial, state="withdrawn", reason=reason, finished_at=event.created_at)
    return moved | _with_place(rows, trial, -1)


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


def _retried(rows: Rows, event: EventOf[EventKind, payloads.Retried]) -> Columns:
    trial = _trial(rows, event)
    cleared: dict[str, Any] = dict.fromkeys(("failed_attempt", "reason", "finished_at", *_of_report({})))
    if trial.origin == "own":  # from now on, it counts as a queued trial
        cleared["origin"] = "queued"
    moved = _change_trial(rows, trial, state="released", expirations=0, **cleared)
    return moved | _with_place(rows, trial, 1) if trial.state == "withdrawn" else moved


def _reported(rows: Rows, event: EventOf[EventKind, payloads.Reported]) -> Columns:
    trial, attempt, definition = _trial(rows, event), event.payload["attempt"], rows.definition
    rule, curve = definition.stopping_rule, trial.curve
    sign, min_gain = definition.sign_of_reports, 0.0 if rule is None else rule.min_gain
    for step, value in event.payload["reports"]:
        mark = None if rule is None else rule.mark(-1 if curve is None else curve["step"], step)
        rows.put_report(ReportRow(trial.study_id, trial.number, attempt, step, value, mark, event.created_at))
        curve = extended(curve, step, value, sign, min_gain)
    return _change_trial(rows, trial, curve=curve)


def _stopped(rows: Rows, event: EventOf[EventKind, payloads.Stopped]) -> Columns:
    payload, study = event.payload, rows.study
    saved = study.definition["early_stopping"]["max_steps"] - payload["step"]
    moved = _change_trial(
        rows,
        _trial(rows, event),
        state="stopped",
        reason=payload.get("reason"),
        estimate=payload.get("estimate"),
        seconds=payload.get("seconds"),
        finished_at=event.created_at,
    )
    spent = study.cost_spent + payload.get("cost", 0.0)  # only a stopped trial without a result has a cost here
    return {**moved, "failures": 0, "steps_saved": study.steps_saved + saved, "cost_spent": spent}


def _annotated(rows: Rows, event: EventOf[EventKind, payloads.Annotated]) -> Columns:
    if event.trial is None:
        result = rows.observation(event.payload["observation"])
        rows.put_observation(replace(result, attributes=merged(result.attributes, event.payload["attributes"])))
        return {}
    trial = _trial(rows, event)
    return _change_trial(rows, trial, attributes=merged(trial.attributes, event.payload["attributes"]))


def _observed(rows: Rows, event: EventOf[EventKind, payloads.Observed]) -> Columns:
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
        **_of_report(payload),
    )
    rows.put_observation(row)
    spent = study.cost_spent + cost_of(study.definition, row.metrics)
    changed: Columns = {"observations": study.observations + 1, "cost_spent": spent}
    changed |= _with_observation(rows, row) | _with_named_plate(rows, payload)
    if event.trial is None:
        return changed
    trial = _trial(rows, event)
    if trial.state == "completed":  # a replicate
        return changed
    if trial.state == "stopped":  # the early-stopping rule uses the last report as the result
        columns = {"value": row.value, "metrics": row.metrics, "reported_by": row.reported_by}
        return {**changed, **_change_trial(rows, trial, **columns)}
    outcome = {"value": row.value, "metrics": row.metrics, **_of_report(payload)}
    finished = {"state": "completed", **outcome, "reason": None, "finished_at": event.created_at}
    changed |= _change_trial(rows, trial, **finished)
    if trial.state == "withdrawn":
        changed |= _with_place(rows, trial, 1)
    return {**changed, "failures": 0}


def _corrected(rows: Rows, event: EventOf[EventKind, payloads.Changed]) -> Columns:
    payload = event.payload
    changed: dict[str, Any] = {name: payload[name] for name in CORRECTABLE if name in payload}
    was = rows.observation(payload["observation"])
    row = replace(was, **changed)
    rows.put_observation(row)
    before, after = (cost_of(rows.study.definition, each.metrics) for each in (was, row))
    spent = rows.study.cost_spent + (after - before)
    if row.trial is not None:
        first = rows.observations_of(row.trial)[0]
        rows.put_trial(replace(rows.trial(row.trial), value=first.value, metrics=first.metrics))
    return {"cost_spent": spent}


def _updated(rows: Rows, changes: dict[str, Any]) -> Columns:
    columns = cast("Columns", {name: value for name, value in changes.items() if name in IN_COLUMNS})
    if len(columns) == len(changes):
        return columns
    return {**columns, "definition": with_display_changes(rows.study.definition, changes)}


def _edited(rows: Rows, event: EventOf[EventKind, payloads.Edited]) -> Columns:
    definition = edited(rows.study.definition, event.payload)
    rows.study = replace(rows.study, definition=definition)  # the definition decides which results count
    changed: Columns = {**_best_columns(rows), "model": stats_of_empty_model(event.seq)}
    return changed | _plate_closed(rows) if event.payload.get("closes_plate", True) else changed


def _plate_closed(rows: Rows) -> Columns:
    return {"plate": None if rows.study.plate is None else {**rows.study.plate, "shared": None}}


def _trial(rows: Rows, event: EventOf[EventKind, object]) -> TrialRow:
    return rows.trial(event.trial or 0)


def _add_trial(rows: Rows, event: EventOf[EventKind, payloads.Suggested | payloads.Queued], **values: Any) -> Columns:
    study = rows.study
    row = TrialRow.new(study.id, event.trial or 0, event.payload["parameters"], event.created_at, **values)
    rows.put_trial(row)
    added: Columns = {}
    added[row.state] = getattr(study, row.state) + 1
    return added


def _change_trial(rows: Rows, trial: TrialRow, **values: Any) -> Columns:
    row = replace(trial, **values)
    rows.put_trial(row)
    if row.state == trial.state:
        return {}
    counts: Columns = {}
    counts[trial.state] = getattr(rows.study, trial.state) - 1
    counts[row.state] = getattr(rows.study, row.state) + 1
    if trial.origin == "own" and "failed" in counts:
        counts["own_failures"] = rows.study.own_failures + (1 if row.state == "failed" else -1)
    return counts


def _with_observation(rows: Rows, row: ObservationRow) -> Columns:
    """Return the study's columns that a new observation changes; none if it does not count or there are several
    objectives."""
    study = rows.study
    if has_several_objectives(study) or not counting(study, rows.definition)(row):
        return {}
    best = study.best
    changed: Columns = {} if best is None else {"results_since_best": study.results_since_best + 1}
    if not decided(study)(row):
        return changed
    if best is None or rank(study, row.value, row.metrics) > rank(study, best["value"], best.get("metrics")):
        changed |= {"best": as_best(study, rows.definition, row), "results_since_best": 0}
    return changed


def _best_columns(rows: Rows) -> Columns:
    """Return the columns ``best`` and ``results_since_best``, from all observations; empty with several objectives."""
    if has_several_objectives(rows.study):
        return {}
    best = rows.best_observation()
    since = 0 if best is None else rows.counting_after(best.seq)
    return {"best": as_best(rows.study, rows.definition, best), "results_since_best": since}
