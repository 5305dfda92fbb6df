"""Studies: create, get, list, change, delete."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from adabkb_service.contract import answers as views
from adabkb_service.contract.study import CHANGEABLE, StudyDefinition
from adabkb_service.errors import PreconditionFailed, StudyExists, shortened, shown
from adabkb_service.inference.model import NEW_TREE
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage import studies
from adabkb_service.storage.model import write_cells
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import idempotency, lifecycle
from adabkb_service.study.draft import Change, changing
from adabkb_service.study.idempotency import Key, Outcome

MOST_DIFFERENCES = 10
"""Fields that are named where a study exists with another definition."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some studies, and where the next page starts: (created_at, id) of the last."""

    items: list[views.Study]
    last: tuple[datetime, str] | None


@retried
def create(service: Service, definition: StudyDefinition, key: Key | None = None) -> Outcome[views.Study]:
    """Create a study; the same definition under the same id again gives the existing one.

    Raises:
        StudyExists: the id is taken by another definition; the message says what differs.
    """
    with service.database.writing() as connection:
        if known := idempotency.recall(connection, key, views.Study):
            return known
        now = service.clock()
        existing = None if definition.id is None else studies.find(connection, definition.id)
        if existing is not None:
            _check_same(existing, definition)
        change = Change(connection, existing or _new(connection, definition, now), now)
        if existing is None:
            change.note("created", {"definition": change.study.definition, "seed": change.study.seed})
            write_cells(connection, change.study.id, NEW_TREE)
        outcome = Outcome(lifecycle.full(change.study), created=existing is None)
        idempotency.store(change, key, outcome)
        change.write()
    return outcome


def _new(connection: Connection, definition: StudyDefinition, now: datetime) -> StudyRow:
    """The row of a new study.

    A second of the same id makes the transaction end in ``Contention``.
    """
    row = StudyRow.new(
        definition.id or f"study-{secrets.token_hex(6)}",
        definition.model_dump(mode="json"),
        secrets.randbelow(2**31) if definition.seed is None else definition.seed,
        now,
        **{name: getattr(definition, name) for name in CHANGEABLE},
    )
    studies.create(connection, row)
    return row


def _check_same(existing: StudyRow, definition: StudyDefinition) -> None:
    """The definition as first given counts, whatever was changed since; a field that is newer than it was at its
    default."""
    was = lifecycle.definition_of(existing).model_dump(mode="json")
    differences = _differences("", was, definition.model_dump(mode="json"))
    differing = ", ".join(islice(differences, MOST_DIFFERENCES))
    if differing:
        others = sum(1 for _ in differences)
        rest = f", and {others:,} more" if others else ""
        raise StudyExists(f"Study {existing.id!r} exists with another definition: {differing}{rest}.")


def _differences(name: str, was: Any, given: Any) -> Iterator[str]:
    """Field by field, down to single constants and the fields of parameters."""
    if isinstance(was, dict) and isinstance(given, dict):
        for field in sorted(was.keys() | given.keys()):
            yield from _differences(f"{name}.{field}".lstrip("."), was.get(field), given.get(field))
    elif isinstance(was, list) and isinstance(given, list) and len(was) == len(given):
        for index, (one, other) in enumerate(zip(was, given, strict=True)):
            yield from _differences(f"{name}.{index}", one, other)
    elif was != given:
        yield f"{shortened(name, 100)} is {shown(was)}, not {shown(given)}"


def get(service: Service, study_id: str) -> views.Study:
    """A study.

    Raises:
        StudyNotFound: there is none.
    """
    with service.database.reading() as connection:
        return lifecycle.full(studies.get(connection, study_id))


def page(service: Service, after: tuple[datetime, str] | None, limit: int) -> Page:
    """Studies, newest first."""
    with service.database.reading() as connection:
        rows = studies.page(connection, after, limit)
    items = [lifecycle.full(row) for row in rows]
    return Page(items, (rows[-1].created_at, rows[-1].id) if len(rows) == limit else None)


@retried
def change(
    service: Service,
    study_id: str,
    changes: dict[str, Any],
    revisions: frozenset[int] | None = None,
    key: Key | None = None,
) -> Outcome[views.Study]:
    """Change a study's limits and tags, pause or resume it.

    Args:
        service: the service.
        study_id: which study.
        changes: new values of ``CHANGEABLE`` fields, and ``state``: "paused" or "running".
        revisions: refuse unless the study is at one of these; None for any.
        key: of the request.

    Raises:
        StudyNotFound: there is none.
        PreconditionFailed: the study is at another revision.
    """
    with changing(service, study_id) as change:
        if known := idempotency.recall(change.connection, key, views.Study):
            return known
        study = change.study
        _check_revision(study, revisions)
        paused = changes["state"] == "paused" if "state" in changes else study.paused
        if paused != study.paused:
            change.set(paused=paused, failures=study.failures if paused else 0)
            change.note("paused" if paused else "resumed", {})
        new = {name: changes[name] for name in CHANGEABLE if name in changes and changes[name] != getattr(study, name)}
        if new:
            change.set(**new)
            change.note("updated", {"changes": new})
        lifecycle.settle(change)
        outcome = Outcome(lifecycle.full(change.study))
        idempotency.store(change, key, outcome)
    return outcome


@retried
def delete(service: Service, study_id: str, revisions: frozenset[int] | None = None) -> None:
    """Delete a study and everything below it.

    Raises:
        StudyNotFound: there is none.
        PreconditionFailed: the study is at another revision.
    """
    with service.database.writing() as connection:
        _check_revision(studies.get(connection, study_id, lock=True), revisions)
        studies.remove(connection, study_id)
    service.models.drop(study_id)


def _check_revision(study: StudyRow, revisions: frozenset[int] | None) -> None:
    if revisions is not None and study.head not in revisions:
        raise PreconditionFailed(f"Study {study.id!r} is at revision {study.head} by now; read it again.")
