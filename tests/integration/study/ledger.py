"""The reference for the transition function: an earlier way to compute a study's rows from its log.

It was written independently and shares no code with ``study/transitions.py``, so a common error is unlikely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.storage import event_payloads as payloads
from adabkb_service.storage.rows import EventKind, EventOf, EventRow, ObservationRow, TrialRow, TrialState


@dataclass
class Ledger:
    """The rows after the events so far."""

    study_id: str
    definition: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    limits: dict[str, Any] = field(default_factory=dict)
    """The changeable columns of the study."""
    paused: bool = False
    failures: int = 0
    """Consecutive failures."""
    study_seq: int = 0
    parameters: list[dict[str, Any]] | None = None
    """The parameters of the edited space; None if it was not edited."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """The defaults of added parameters."""
    trials: dict[int, TrialRow] = field(default_factory=dict)
    """By number, without the ends of leases."""
    observations: dict[int, ObservationRow] = field(default_factory=dict)
    """By seq."""
    reports: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """Values by trial, attempt and step."""
    faults: list[str] = field(default_factory=list)
    """Events that contradict earlier ones."""

    def apply(self, event: EventRow) -> None:
        """Apply the next event."""
        if event.seq != self.study_seq + 1:
            self.faults.append(f"event {event.seq} follows event {self.study_seq}")
        self.study_seq = event.seq
        try:
            getattr(self, f"_{event.kind}", self._ignore)(event)
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            self.faults.append(f"event {event.seq} ({event.kind}) cannot be applied: {type(error).__name__} {error}")

    def best(self) -> ObservationRow | None:
        """The best result that counts, the earliest one in a tie."""
        counted = [row for row in self.observations.values() if self.counts(row) and row.value is not None]
        sign = 1.0 if self.definition["direction"] == "maximize" else -1.0
        return max(counted, key=lambda row: (sign * (row.value or 0.0), -row.seq), default=None)

    def counts(self, row: ObservationRow) -> bool:
        """Whether a result is neither excluded nor outside the edited space."""
        return not row.excluded and self.is_inside(row.parameters)

    def is_inside(self, parameters: dict[str, Any]) -> bool:
        """Whether a point is in the edited space; only for numbers without conditions."""
        given = {**self.defaults, **parameters}
        return all(each["low"] <= given[each["name"]] <= each["high"] for each in self.parameters or [])

    def states(self) -> dict[str, int]:
        """The number of trials in each state."""
        count = Counter(trial.state for trial in self.trials.values())
        return {state: count[state] for state in get_args(TrialState)}

    def pending_and_failed(self) -> tuple[list[int], list[int]]:
        """Numbers of the trials without a result: pending ones, and failed ones."""
        with_result = {row.trial for row in self.observations.values()}
        with_result |= {trial.number for trial in self.trials.values() if trial.state == "stopped"}
        inside = [trial for trial in self.trials.values() if self.is_inside(trial.parameters)]
        without = [trial for trial in inside if trial.number not in with_result]
        failed = [trial.number for trial in without if trial.state == "failed"]
        return [trial.number for trial in without if trial.state != "failed"], failed

    def _ignore(self, event: EventRow) -> None:
        """Ignore an event that does not change rows."""

    def _created(self, event: EventOf[EventKind, payloads.Created]) -> None:
        self.definition, self.seed = event.payload["definition"], event.payload["seed"]
        parsed = StudyDefinition.model_validate(self.definition)
        values = parsed.model_dump(mode="json")
        self.limits = {name: values[name] for name in IN_COLUMNS if name in self.definition}

    def _updated(self, event: EventOf[EventKind, payloads.Updated]) -> None:
        self.limits.update(event.payload["changes"])

    def _edited(self, event: EventOf[EventKind, payloads.Edited]) -> None:
        self.parameters = event.payload["parameters"]
        self.defaults.update(event.payload["defaults"])

    def _paused(self, _: EventRow) -> None:
        self.paused = True

    def _resumed(self, _: EventRow) -> None:
        self.paused, self.failures = False, 0

    def _suggested(self, event: EventOf[EventKind, payloads.Suggested]) -> None:
        payload = event.payload
        cell = None if payload["cell"] is None else payload["cell"]["key"]
        self._add(
            event,
            state="active",
            origin=payload["origin"],
            cell=cell,
            worker=payload["worker"],
            attempt=1,
            started_at=event.created_at,
            phase=payload.get("phase"),
            expected=payload.get("expected"),
            plate=payload.get("plate"),
        )

    def _queued(self, event: EventOf[EventKind, payloads.Queued]) -> None:
        self._add(event, plate=event.payload.get("plate"))

    def _leased(self, event: EventOf[EventKind, payloads.Leased]) -> None:
        trial = self._trial(event)
        if event.payload["renewed"]:
            self._move(trial, state="active", expirations=trial.expirations - 1)
            return
        if event.payload["attempt"] != trial.attempt + 1 or trial.state not in ("queued", "released", "expired"):
            self.faults.append(f"event {event.seq} leases trial {trial.number}, which was {trial.state}")
        self._move(
            trial,
            state="active",
            attempt=event.payload["attempt"],
            worker=event.payload["worker"],
            started_at=event.created_at,
            curve=None,
        )

    def _expired(self, event: EventRow) -> None:
        trial = self._trial(event)
        self._move(trial, state="expired", expirations=trial.expirations + 1)

    def _released(self, event: EventRow) -> None:
        self._move(self._trial(event), state="released")

    def _failed(self, event: EventOf[EventKind, payloads.Failed]) -> None:
        trial, payload = self._trial(event), event.payload
        if trial.state in ("completed", "failed", "stopped"):
            self.faults.append(f"event {event.seq} fails trial {trial.number}, which was {trial.state}")
        values = {"state": "failed", "reason": payload["reason"], "finished_at": event.created_at}
        self._move(trial, failed_attempt=payload["attempt"], seconds=payload.get("seconds"), **values)
        self.failures += trial.origin != "own"

    def _withdrawn(self, event: EventOf[EventKind, payloads.Withdrawn]) -> None:
        trial = self._trial(event)
        if trial.state in ("completed", "failed", "stopped", "withdrawn"):
            self.faults.append(f"event {event.seq} (withdrawn) changes trial {trial.number}, which was {trial.state}")
        self._move(trial, state="withdrawn", reason=event.payload["reason"], finished_at=event.created_at)

    def _retried(self, event: EventRow) -> None:
        trial = self._trial(event)
        if trial.state not in ("failed", "withdrawn"):
            self.faults.append(f"event {event.seq} retries trial {trial.number}, which was {trial.state}")
        values = {"failed_attempt": None, "reason": None, "finished_at": None, "seconds": None}
        self._move(trial, state="released", expirations=0, **values)

    def _reported(self, event: EventOf[EventKind, payloads.Reported]) -> None:
        trial, attempt = self._trial(event), event.payload["attempt"]
        for step, value in event.payload["reports"]:
            self.reports[trial.number, attempt, step] = value
        points = {key[2]: value for key, value in self.reports.items() if key[:2] == (trial.number, attempt)}
        self._move(trial, curve=self._summarized(sorted(points.items())))

    def _summarized(self, points: list[tuple[int, float]]) -> dict[str, Any]:
        """The summary of a complete curve with ascending steps."""
        maximizes = self.definition["direction"] == "maximize"
        least = (self.definition.get("early_stopping") or {}).get("min_gain", 0.0)
        gained = points[0]
        for step, value in points:
            if (value - gained[1] if maximizes else gained[1] - value) > least:
                gained = step, value
        values = [value for _, value in points]
        best = max(values) if maximizes else min(values)
        last = {"step": points[-1][0], "value": points[-1][1]}
        return {"reports": len(points), **last, "best": best, "gain_step": gained[0], "gain_value": gained[1]}

    def _stopped(self, event: EventOf[EventKind, payloads.Stopped]) -> None:
        trial, payload = self._trial(event), event.payload
        over = {"reason": payload["reason"], "estimate": payload["estimate"], "finished_at": event.created_at}
        self._move(trial, state="stopped", seconds=payload.get("seconds"), **over)
        self.failures = 0

    def steps_saved(self) -> int:
        """The number of steps that stopped trials did not take."""
        curves = [trial.curve for trial in self.trials.values() if trial.state == "stopped" and trial.curve]
        return sum(self.definition["early_stopping"]["max_steps"] - curve["step"] for curve in curves)

    def _annotated(self, event: EventOf[EventKind, payloads.Annotated]) -> None:
        trial = self._trial(event)
        self._move(trial, attributes=_patched(trial.attributes, event.payload["attributes"]))

    def _observed(self, event: EventOf[EventKind, payloads.Observed]) -> None:
        payload = event.payload
        row = ObservationRow(
            study_id=self.study_id,
            seq=payload["observation"],
            trial=event.trial,
            attempt=payload["attempt"],
            parameters=payload["parameters"],
            value=payload.get("value"),
            metrics=payload.get("metrics"),
            std_errors=payload.get("std_errors"),
            std_error=payload.get("std_error"),
            excluded=False,
            observed_at=event.created_at,
            plate=payload.get("plate"),
            seconds=payload.get("seconds"),
        )
        if row.seq != len(self.observations) + 1:
            count = len(self.observations)
            self.faults.append(f"event {event.seq} adds observation {row.seq} to a study with {count} observations")
        self.observations[row.seq] = row
        if event.trial is None:
            return
        trial = self._trial(event)
        if trial.state == "stopped":
            self._move(trial, value=row.value)
        elif trial.state != "completed":
            outcome = {"value": row.value, "seconds": row.seconds, "reason": None, "finished_at": event.created_at}
            self._move(trial, state="completed", **outcome)
            self.failures = 0

    def _corrected(self, event: EventOf[EventKind, payloads.Changed]) -> None:
        payload = event.payload
        row = self.observations[payload["observation"]]
        fields = ("value", "std_error", "metrics", "std_errors", "excluded")
        changed: dict[str, Any] = {name: value for name, value in payload.items() if name in fields}
        self.observations[row.seq] = replace(row, **changed)
        if row.trial is not None:
            first = next(known for known in self.observations.values() if known.trial == row.trial)
            self._move(self.trials[row.trial], value=first.value)

    _measured = _corrected

    def _trial(self, event: EventOf[EventKind, object]) -> TrialRow:
        return self.trials[event.trial or 0]

    def _add(self, event: EventOf[EventKind, payloads.Suggested | payloads.Queued], **values: Any) -> None:
        number = event.trial or 0
        budget, saved = self.limits.get("budget"), self.steps_saved()
        used = len(self.trials) - (saved and saved / self.definition["early_stopping"]["max_steps"])
        if number != len(self.trials) + 1:
            self.faults.append(f"event {event.seq} adds trial {number} to a study with {len(self.trials)} trials")
        if isinstance(budget, int) and used > budget - 1:
            self.faults.append(f"event {event.seq} adds trial {number} to a budget of {budget}")
        parameters = event.payload["parameters"]
        self.trials[number] = TrialRow.new(self.study_id, number, parameters, event.created_at, **values)

    def _move(self, trial: TrialRow, **values: Any) -> None:
        self.trials[trial.number] = replace(trial, **values)


def _patched(target: Any, patch: Any) -> Any:
    """The pseudo-code of RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            if name in target:
                del target[name]
        else:
            target[name] = _patched(target.get(name), value)
    return target


def read(study_id: str, log: Iterable[EventRow]) -> Ledger:
    """Compute the rows of a study from its log."""
    ledger = Ledger(study_id)
    for event in log:
        ledger.apply(event)
    return ledger
