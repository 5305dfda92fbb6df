"""The facts in a study's report, for the printed page and for Markdown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection

from adabkb_service.contract import answers
from adabkb_service.contract.access import AuditEntry
from adabkb_service.contract.assessment import Assessment
from adabkb_service.contract.context import context_of
from adabkb_service.contract.front import Front, FrontEstimate
from adabkb_service.contract.model import Recommendation
from adabkb_service.contract.parameters import FloatParameter, IntParameter
from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import Unavailable
from adabkb_service.operations.data import table
from adabkb_service.operations.data.export import event_line
from adabkb_service.operations.model import assessment, predict
from adabkb_service.operations.model.front import front
from adabkb_service.operations.model.in_context import LATEST, Context
from adabkb_service.operations.service import Service
from adabkb_service.operations.words.ending import EndedEarly, ended_early
from adabkb_service.storage import audit, events, files, grants, observations, overview, result_table, studies
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.overview import WorkerRow
from adabkb_service.storage.result_table import Repeats
from adabkb_service.storage.rows import EventKind, EventRow, StudyRow, as_values
from adabkb_service.study import lifecycle, render

CHANGES: tuple[EventKind, ...] = (
    "created",
    "updated",
    "edited",
    "corrected",
    "retried",
    "withdrawn",
    "paused",
    "resumed",
    "plate_closed",
    "completed",
)
"""Kinds of events that a report lists as changes."""
MAX_CHANGES = 500
"""The maximum number of changes, and of audit log entries, in a report. The latest ones are listed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table of results: a result with its trial, a result without a trial, or a trial without a result."""

    trial: answers.Trial | None
    result: answers.Observation | None
    repeats: Repeats | None = None
    """The results at its point; None if there is only one."""


@dataclass(frozen=True, slots=True)
class StudyReport:
    """The facts about a study, read in one transaction, except the model's answers."""

    study: answers.Study
    assessment: Assessment
    recommendation: Recommendation
    """The best point; with several objectives, only the reason why the model gives no front."""
    front: Front | None
    """The best compromises; None with a single objective, and if the model does not answer."""
    measured_at: list[list[str]]
    """For each point on the model's front: the names of the results there, in any context."""
    is_now: bool
    """Whether the recommendation is for the context of the latest result. It is if a context parameter is a number,
    such as the day; with several objectives, if there is any context parameter."""
    owner: str | None
    """The user who owns the study; None if no token is required, or if the study has no owner."""
    workers: list[WorkerRow]
    changes: list[EventRow]
    ended: EndedEarly | None
    """How a user ended the study before its budget was used up; None if no user did."""
    trials_of_corrected: dict[int, int]
    """Number of a corrected result -> its trial. Results without a trial are left out."""
    acts: list[AuditEntry] | None
    """Entries of the audit log; None for a reader who may not see it."""
    files: list[FileRow]
    """Files of the study's trials and results."""
    notes_of_files: dict[int, str]
    """Number of a file -> the note of its trial or result. Files without a note are left out."""
    digest: str
    """SHA-256 of the log: of the lines that its events have in an export, in hexadecimal digits."""
    made_at: datetime
    made_by: str
    """The version of the server that made the report."""
    lines: Iterator[Line]
    """The results and the trials without a result, ordered by trial. They can be read only while the report is open."""


@contextmanager
def study_report(service: Service, study_id: str, *, with_audit: bool) -> Iterator[StudyReport]:
    """Open the report of a study. The model's answers may not include the latest results.

    Args:
        service: the running service.
        study_id: the study's id.
        with_audit: whether the reader may see the audit log.

    Raises:
        StudyNotFound: the study does not exist.
        Busy: too many requests wait for the model.
    """
    definition = definition_of(predict.row(service, study_id).definition)
    is_now = any(
        each.name in context_of(definition.parameters)
        and (definition.objectives or isinstance(each, FloatParameter | IntParameter))
        for each in definition.parameters
    )
    assessed = assessment.assessment(service, study_id)
    best, compromises = _best(service, study_id, LATEST if is_now else None, has_several=bool(definition.objectives))
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        changes = _changes(connection, study_id)
        yield StudyReport(
            study=lifecycle.full_view(row),
            assessment=assessed,
            recommendation=best,
            front=compromises,
            measured_at=_measured_at(connection, row, [] if compromises is None else compromises.model),
            is_now=is_now,
            owner=grants.owner(grants.of_study(connection, study_id)),
            workers=overview.workers(connection, study_id),
            changes=[render.shortened(each) for each in changes],
            ended=ended_early(connection, row) if lifecycle.no_more_points_reason(row) == "budget" else None,
            trials_of_corrected=_trials(connection, study_id, changes),
            acts=_acts(connection, row) if with_audit else None,
            files=files.page(connection, study_id, 0),
            notes_of_files=files.notes(connection, study_id),
            digest=_digest(connection, row),
            made_at=service.clock(),
            made_by=version("adabkb-service"),
            lines=_lines(connection, row),
        )


def _best(
    service: Service, study_id: str, context: Context, *, has_several: bool
) -> tuple[Recommendation, Front | None]:
    """Return the best point or, with several objectives, the front. If the model does not answer, the reason is given
    instead."""
    try:
        if not has_several:
            return predict.recommendation(service, study_id, context=context), None
        found = front(service, study_id, context=context)
    except Unavailable as error:
        reason = predict.model_reason(service, predict.row(service, study_id), error)
        return Recommendation(model=None, observed=None, gap=None, reason=reason), None
    return Recommendation(model=None, observed=None, gap=None, reason="several_objectives"), found


def _measured_at(connection: Connection, study: StudyRow, points: Sequence[FrontEstimate]) -> list[list[str]]:
    left_out = set(context_of(definition_of(study.definition).parameters))

    def key(parameters: Mapping[str, Any]) -> str:
        return json.dumps({name: parameters[name] for name in sorted(parameters) if name not in left_out})

    found: dict[str, list[str]] = {key(each.parameters): [] for each in points}
    if found:
        for seq, result in observations.every(connection, study.id).items():
            if not result.excluded and (there := found.get(key(result.parameters))) is not None:
                there.append(f"own result R{seq}" if result.trial is None else f"trial {result.trial}")
    return [found[key(each.parameters)] for each in points]


def _acts(connection: Connection, study: StudyRow) -> list[AuditEntry]:
    found = audit.of_study(connection, study.id, study.created_at, MAX_CHANGES)
    return [AuditEntry(number=number, **as_values(row)) for number, row in found]


def _digest(connection: Connection, study: StudyRow) -> str:
    found = hashlib.sha256()
    for event in events.all_rows(connection, study.id):
        found.update(event_line(event).encode())
    return found.hexdigest()


def _changes(connection: Connection, study_id: str) -> list[EventRow]:
    """Return the events that changed the study, with the lost attempts: failures that were tried again, and trials
    that a person released with a reason."""
    changes = events.of_kinds(connection, study_id, CHANGES, MAX_CHANGES)
    retried = {each.trial for each in changes if each.kind == "retried"}
    lost = [
        each
        for each in events.of_kinds(connection, study_id, ("failed", "released"), MAX_CHANGES)
        if each.trial in retried or (each.kind == "released" and each.payload.get("reason"))
    ]
    return sorted([*changes, *lost], key=lambda each: each.seq)


def _trials(connection: Connection, study_id: str, changes: list[EventRow]) -> dict[int, int]:
    seqs = list(dict.fromkeys(each.payload["observation"] for each in changes if each.kind == "corrected"))
    found = observations.of_numbers(connection, study_id, seqs)
    return {each.seq: each.trial for each in found if each.trial is not None}


def _lines(connection: Connection, study: StudyRow) -> Iterator[Line]:
    definition = definition_of(study.definition)
    space = definition.space()
    repeats = result_table.repeats(connection, study.id)
    for trial, result in table.pairs(connection, study):
        yield Line(
            None if trial is None else render.trial(trial, definition),
            None if result is None else render.observation(result, definition, space),
            None if result is None else repeats.get(result.seq),
        )
