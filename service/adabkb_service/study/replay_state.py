"""Replay: apply the stored events of a study in order, and collect contradictions between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from adabkb_service.contract import attributes
from adabkb_service.contract.stored import LatestDefinition, StoredDefinition
from adabkb_service.contract.transfer import snapshots_of
from adabkb_service.errors import ObservationNotFound, TrialNotFound
from adabkb_service.storage.rows import FINISHED, EventRow, ObservationRow, ReportRow, StudyRow, TrialRow, created_row
from adabkb_service.study.best import best_of, counting
from adabkb_service.study.transitions import CHANGES_OF_RESULTS, apply, begin, find_best

INAPPLICABLE = (LookupError, AttributeError, TypeError, ValueError, TrialNotFound, ObservationNotFound)
"""Errors of ``apply`` for an event that contradicts the rows, or has an invalid value."""


class Contradiction(NamedTuple):
    """An event that contradicts earlier events, or cannot be applied."""

    place: int
    """Index of the event in the log."""
    sentence: str


@dataclass
class ReplayState:
    """All rows of a study in memory, as derived from its log."""

    study: StudyRow
    trials: dict[int, TrialRow] = field(default_factory=dict)
    """By number; without lease ends, which the log does not hold."""
    observations: dict[int, ObservationRow] = field(default_factory=dict)
    """By seq."""
    reports: dict[tuple[int, int, int], ReportRow] = field(default_factory=dict)
    """By trial, attempt and step."""
    first_definitions: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    """("trial" or "observation", number) -> the study's definition when this row was added."""
    contradictions: list[Contradiction] = field(default_factory=list)
    _definition: LatestDefinition = field(default_factory=LatestDefinition, init=False, repr=False, compare=False)

    @property
    def definition(self) -> StoredDefinition:
        """As in ``Rows``."""
        return self._definition.of(self.study.definition)

    def trial(self, number: int) -> TrialRow:
        """As in ``Rows``."""
        if number not in self.trials:
            raise TrialNotFound(self.study.id, number)
        return self.trials[number]

    def put_trial(self, row: TrialRow) -> None:
        """As in ``Rows``."""
        self.first_definitions.setdefault(("trial", row.number), self.study.definition)
        self.trials[row.number] = row

    def observation(self, seq: int) -> ObservationRow:
        """As in ``Rows``."""
        if seq not in self.observations:
            raise ObservationNotFound(self.study.id, seq)
        return self.observations[seq]

    def trials_on_plate(self, plate: int) -> int:
        """As in ``Rows``."""
        return sum(row.plate == plate and row.state != "withdrawn" for row in self.trials.values())

    def put_observation(self, row: ObservationRow) -> None:
        """As in ``Rows``."""
        self.first_definitions.setdefault(("observation", row.seq), self.study.definition)
        self.observations[row.seq] = row

    def observations_of(self, trial: int) -> list[ObservationRow]:
        """As in ``Rows``."""
        return [row for row in self.observations.values() if row.trial == trial]

    def put_report(self, row: ReportRow) -> None:
        """As in ``Rows``."""
        self.reports[row.trial, row.attempt, row.step] = row

    def best_observation(self) -> ObservationRow | None:
        """As in ``Rows``."""
        return best_of(self.study, self.definition, self.observations.values())

    def counting_after(self, seq: int) -> int:
        """As in ``Rows``."""
        return sum(row.seq > seq for row in self.counting())

    def counting(self) -> list[ObservationRow]:
        """Return the observations that count, in order."""
        counts = counting(self.study, self.definition)
        return [row for _, row in sorted(self.observations.items()) if counts(row)]

    def awaited(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the trials that are inside the current space and have neither a result nor an estimate:
        first those that have not failed (also withdrawn ones), then the failed ones."""
        space = self.definition.space()
        with_result = {row.trial for row in self.observations.values()}
        with_result |= {trial.number for trial in self.trials.values() if trial.estimate is not None}
        unknown = [trial for trial in self.trials.values() if trial.number not in with_result]
        inside = [trial for trial in unknown if space.present(trial.parameters) is not None]
        failed = [trial.number for trial in inside if trial.state == "failed"]
        return [trial.number for trial in inside if trial.state != "failed"], failed


def replayed(study_id: str, log: Sequence[EventRow]) -> ReplayState:
    """Replay a log. Collect contradictions between events. An event that cannot be applied is skipped, and counts as a
    contradiction.

    Raises:
        ValueError: the log does not begin with a readable ``created`` event.
    """
    first = created_row(log)
    try:
        state = ReplayState(begin(study_id, first))
        snapshots_of(first.payload)
    except (KeyError, TypeError) as error:
        raise ValueError(f"event 1 (created) cannot be read: {error}") from error
    for place, (event, following) in enumerate(zip_longest(log[1:], log[2:]), 1):
        state.contradictions.extend(Contradiction(place, sentence) for sentence in _contradictions(state, event))
        changes_another = following is not None and following.kind in CHANGES_OF_RESULTS
        try:
            apply(state, event, finds_best=not changes_another)
        except INAPPLICABLE as error:
            problem = f"event {event.seq} ({event.kind}) cannot be applied: {type(error).__name__} {error}"
            state.contradictions.append(Contradiction(place, problem))
            state.study = replace(state.study, study_seq=event.seq)
            if event.kind in CHANGES_OF_RESULTS:
                with suppress(*INAPPLICABLE):
                    find_best(state)
    return state


def _contradictions(state: ReplayState, event: EventRow) -> Iterator[str]:
    """Yield sentences on how an event contradicts earlier events."""
    study, payload = state.study, event.payload
    if event.seq != study.study_seq + 1:
        yield f"event {event.seq} follows event {study.study_seq}"
    if event.kind in ("suggested", "queued"):
        if event.trial != study.trials + 1:
            yield f"event {event.seq} adds trial {event.trial} to a study with {study.trials} trials"
        if study.budget_left is not None and study.budget_left <= 0 and payload.get("origin") != "own":
            yield f"event {event.seq} adds trial {event.trial} to a budget of {_budget(study)}"
    if not isinstance(payload.get("user", ""), str):
        yield f"event {event.seq} ({event.kind}) has a user that is not a text"
    yield from _plate_problem(state, event)
    if event.kind == "observed" and payload.get("observation") != study.observations + 1:
        count = study.observations
        yield f"event {event.seq} adds observation {payload.get('observation')} to a study with {count} observations"
    yield from _attribute_problem(state, event)
    trial = state.trials.get(event.trial or 0)
    if trial is None:
        return
    if event.kind == "leased" and not payload.get("renewed"):
        is_waiting = trial.state in ("queued", "released", "expired")
        if payload.get("attempt") != trial.attempt + 1 or not is_waiting:
            yield f"event {event.seq} leases trial {trial.number}, which was {trial.state}"
    is_over = event.kind == "withdrawn" and trial.state in FINISHED
    if is_over or (event.kind in ("reported", "stopped") and trial.state != "active"):
        yield f"event {event.seq} ({event.kind}) changes trial {trial.number}, which was {trial.state}"
    if event.kind == "failed" and trial.state in ("completed", "failed", "stopped"):
        yield f"event {event.seq} fails trial {trial.number}, which was {trial.state}"
    if event.kind == "retried" and trial.state not in ("failed", "withdrawn"):
        yield f"event {event.seq} retries trial {trial.number}, which was {trial.state}"


def _plate_problem(state: ReplayState, event: EventRow) -> Iterator[str]:
    study = state.study
    if event.payload.get("plate") is not None and state.definition.plates is None:
        yield f"event {event.seq} ({event.kind}) names a plate, but the study has none"
    elif event.kind in ("suggested", "queued") and event.payload.get("plate") is not None:
        is_new = study.plate is None or study.plate["number"] != event.payload["plate"]
        if is_new and study.plates_left == 0 and study.places_left:
            yield f"event {event.seq} begins plate {event.payload['plate']} in a budget of {_budget(study)}"


def _budget(study: StudyRow) -> str:
    if not isinstance(study.budget, dict):
        return str(study.budget)
    plates = study.budget["plates"]
    return "1 plate" if plates == 1 else f"{plates} plates"


def _attribute_problem(state: ReplayState, event: EventRow) -> Iterator[str]:
    """Yield sentences on what is wrong with the attributes of a trial, or of a result without a trial, after an
    event. Changes that are not an object are not checked here: ``apply`` rejects them."""
    if event.kind != "annotated":
        return
    changes, number = event.payload.get("attributes"), event.payload.get("observation")
    if not isinstance(changes, dict):
        return
    annotated = state.trials.get(event.trial) if event.trial is not None else state.observations.get(number or 0)
    if annotated is None:
        return
    subject = f"observation {number}" if isinstance(annotated, ObservationRow) else f"trial {event.trial}"
    if problem := attributes.error_in(attributes.merged(annotated.attributes, changes)):
        yield f"event {event.seq} gives {subject} attributes that {problem}"
    if isinstance(annotated, ObservationRow) and annotated.trial is not None:
        yield f"event {event.seq} gives {subject} attributes, but it is the result of a trial"
