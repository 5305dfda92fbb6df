"""The list of events on the page of a study: each event with a sentence."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.contract.answers import Answer
from adabkb_service.contract.stored import definition_of
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.read import Page
from adabkb_service.operations.webhooks.notifications import notification_of
from adabkb_service.operations.words.ending import ended_early
from adabkb_service.operations.words.sentences import sentence
from adabkb_service.storage import events, studies
from adabkb_service.storage.rows import EventKind, EventRow, StudyRow


class EventInWords(Answer):
    """An event with a sentence about it."""

    seq: int
    kind: EventKind
    trial: int | None
    created_at: datetime
    subject: str
    """The trial that the sentence is about, such as "Trial 3"; empty if it is about something else."""
    in_words: str
    """The sentence after its subject."""
    notifies: bool
    """Whether browsers notify of the event."""


def list_in_words(service: Service, study_id: str, after: int, limit: int) -> Page[EventInWords, int]:
    """Return the events with a seq above ``after``, ordered by seq.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        found = events.bounded_page(connection, study_id, after, limit)
        items = [_in_words(connection, study, row) for row in found.rows]
    return Page(items, None if found.is_last else found.rows[-1].seq)


def _in_words(connection: Connection, study: StudyRow, row: EventRow) -> EventInWords:
    is_by_budget = row.kind == "completed" and row.payload.get("reason") == "budget"
    is_ended = is_by_budget and ended_early(connection, study, row.seq) is not None
    words = sentence(definition_of(study.definition).quantities, row, is_ended_by_user=is_ended)
    is_renewal = row.kind == "leased" and row.payload.get("renewed", False)
    notifies = notification_of(row) is not None and not is_renewal
    return EventInWords(
        seq=row.seq,
        kind=row.kind,
        trial=row.trial,
        created_at=row.created_at,
        subject=words.subject,
        in_words=words.text,
        notifies=notifies,
    )
