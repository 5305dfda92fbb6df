"""Lists of the stored rows of a study."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from adabkb_service.contract import answers, history
from adabkb_service.contract.answers import CatalogueRow
from adabkb_service.contract.attributes import as_text, sought
from adabkb_service.contract.catalogue import catalogues_of
from adabkb_service.contract.curves import CurvePoint
from adabkb_service.contract.entity_tags import identity_tag
from adabkb_service.contract.stored import definition_of
from adabkb_service.operations.attempts import known_attempt
from adabkb_service.operations.service import Service
from adabkb_service.storage import bounded_pages, events, observations, reports, studies, trials
from adabkb_service.storage.bounded_pages import BoundedPage
from adabkb_service.storage.rows import EventKind, TrialRow, TrialState
from adabkb_service.study import render

Item = TypeVar("Item")
Position = TypeVar("Position")
MAX_SEARCH_LENGTH = 200
"""The maximum length of a value that the database searches for, since databases limit the length of patterns."""

MAX_NUMBERS = 30_000
"""The maximum number of numbers on a page of rows."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item, Position]):
    """A page of a list. It may have fewer items than the limit if items are large."""

    items: list[Item]
    after: Position | None
    """The position after which the next page begins; None on the last page."""


def trial(service: Service, study_id: str, number: int) -> answers.Trial:
    """Return a trial.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        return render.trial(trials.get(connection, study_id, number), definition_of(study.definition))


def list_trials(
    service: Service,
    study_id: str,
    *,
    state: TrialState | None,
    attributes: Collection[tuple[str, str]],
    after: int,
    limit: int,
) -> Page[answers.Trial, int]:
    """Return trials with numbers above ``after`` that have all of the given attributes (name and value as text),
    ordered by number.

    Raises:
        StudyNotFound: the study does not exist.
    """
    texts = [_texts(name, value) for name, value in attributes]
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
        items: list[answers.Trial] = []

        def page(last: int) -> BoundedPage[TrialRow]:
            return trials.bounded_page(connection, study_id, state=state, after=last, limit=limit, texts=texts)

        for found in bounded_pages.pages(page, after, lambda row: row.number):
            items += (render.trial(row, definition) for row in found.rows if _has(row, attributes))
            if len(items) > limit:
                return Page(items[:limit], items[limit - 1].number)
            is_full = len(items) == limit or (items and len(found.rows) < limit)
            if is_full and not found.is_last:
                return Page(items, found.rows[-1].number)
        return Page(items, None)


def _texts(name: str, value: str) -> list[str]:
    """Return texts to search for in the stored JSON of attributes. If a trial has this name and value, its JSON
    contains at least one of the texts. The converse does not hold: a text may match below the top level, and for a
    value of unusual form or length, the text is the name alone."""
    named = f"{json.dumps(name)}: "
    if not 0 < len(value) <= MAX_SEARCH_LENGTH or value[0] in "[{" or not value.isprintable():
        return [named]
    return [f"{named}{shown}{end}" for shown in (json.dumps(value), value) for end in ",}"]


def _has(row: TrialRow, attributes: Collection[tuple[str, str]]) -> bool:
    return all(name in row.attributes and as_text(row.attributes[name]) == sought(value) for name, value in attributes)


def list_observations(service: Service, study_id: str, after: int, limit: int) -> Page[answers.Observation, int]:
    """Return observations with a seq above ``after``, ordered by seq.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
        found = observations.bounded_page(connection, study_id, after, limit)
    space = definition.space()
    items = [render.observation(row, definition, space) for row in found.rows]
    return Page(items, None if found.is_last else found.rows[-1].seq)


def list_rows(service: Service, study_id: str, containing: str, after: int, limit: int) -> Page[CatalogueRow, int]:
    """Return the rows of a study's catalogue in the order of its table; none in a study without a catalogue.

    Args:
        service: the service.
        study_id: the study's id.
        containing: only rows whose names contain this text, in upper or lower case.
        after: the number of the last row of the previous page, from 1; 0 for the first page.
        limit: the maximum number of rows. A page has fewer if they have many numbers.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
    items: list[CatalogueRow] = []
    sought_name = containing.casefold()
    for catalogue in catalogues_of(definition.parameters):  # at most one
        table = catalogue.rows_of()
        most = min(limit, max(MAX_NUMBERS // (len(table.columns) or 1), 1))
        for index in range(after, len(table.names)):
            if sought_name not in table.names[index].casefold():
                continue
            if len(items) == most:
                return Page(items, after)
            numbers = dict(zip(table.columns, table.numbers[index].tolist(), strict=True))
            is_withdrawn = not table.is_offered[index]
            items.append(CatalogueRow(name=table.names[index], numbers=numbers, withdrawn=is_withdrawn))
            after = index + 1
    return Page(items, None)


def list_reports(
    service: Service, study_id: str, number: int, *, attempt: int | None, first: int, limit: int
) -> list[CurvePoint]:
    """Return the curve of an attempt of a trial, by default of the current one, from the step ``first``.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        Invalid: the trial has had no such attempt.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        wanted = known_attempt(trials.get(connection, study_id, number), attempt, "?attempt")
        found = reports.of_attempt(connection, study_id, number, wanted, first, limit)
    return [render.curve_point(row) for row in found]


def identity(service: Service, study_id: str) -> str:
    """Return the ``identity_tag`` of a study.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
    return identity_tag(study.created_at, study.seed)


def list_events(
    service: Service, study_id: str, after: int, limit: int, kinds: Collection[EventKind] = ()
) -> Page[history.Event, int]:
    """Return the events with a seq above ``after``, ordered by seq; with ``kinds``, only those of these kinds. Of each
    catalogue's table, they contain only the first rows.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = events.bounded_page(connection, study_id, after, limit, kinds)
    return Page([render.event_in_brief(row) for row in found.rows], None if found.is_last else found.rows[-1].seq)
