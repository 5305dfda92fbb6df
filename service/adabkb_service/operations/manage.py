"""Studies: create, get, list, change, delete."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from adabkb_service.errors import Collision, PreconditionFailed, StudyExists
from adabkb_service.operations import idempotency, lifecycle, views
from adabkb_service.operations.definitions import StudyDefinition
from adabkb_service.operations.idempotency import Key, Outcome
from adabkb_service.operations.model import NEW_TREE
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage.model import write_cells
from adabkb_service.storage.rows import StudyRow

PATCHABLE = ("budget", "tags", "lease_seconds", "max_attempts", "pending_limit", "tolerance")


@dataclass(frozen=True, slots=True)
class Page:
    """Some studies, and where the next page starts: (created_at, id) of the last."""

    items: list[views.Study]
    last: tuple[datetime, str] | None


def create(service: Service, definition: StudyDefinition, key: Key | None = None) -> Outcome[views.Study]:
    """Create a study; the same definition under the same id again gives the existing one.

    Raises:
        StudyExists: the id is taken by another definition; the message says what differs.
    """
    with suppress(Collision):  # the same id or key, in another process at the same moment: now it is there
        return _create_in_transaction(service, definition, key)
    return _create_in_transaction(service, definition, key)


def _create_in_transaction(service: Service, definition: StudyDefinition, key: Key | None) -> Outcome[views.Study]:
    now = service.clock()
    with service.database.writing() as connection:
        if known := idempotency.recall(connection, key, views.Study):
            return known
        outcome = _create(connection, definition, now)
        idempotency.store(connection, outcome.view.id, key, outcome, now)
    return outcome


def _create(connection: Connection, definition: StudyDefinition, now: datetime) -> Outcome[views.Study]:
    existing = None if definition.id is None else studies.find(connection, definition.id)
    if existing is not None:
        _check_same(existing, definition)
        return Outcome(lifecycle.full(connection, existing))
    row = StudyRow(
        id=definition.id or f"study-{secrets.token_hex(6)}",
        definition=definition.model_dump(mode="json"),
        seed=secrets.randbelow(2**31) if definition.seed is None else definition.seed,
        state="running",
        paused=False,
        budget=definition.budget,
        tolerance=definition.tolerance,
        pending_limit=definition.pending_limit,
        lease_seconds=definition.lease_seconds,
        max_attempts=definition.max_attempts,
        tags=definition.tags,
        head=0,
        folded=0,
        model=None,
        model_error=None,
        created_at=now,
        updated_at=now,
    )
    studies.create(connection, row)
    events.append(connection, row.id, "created", {"definition": row.definition, "seed": row.seed}, now=now)
    write_cells(connection, row.id, NEW_TREE)
    return Outcome(lifecycle.full(connection, studies.get(connection, row.id)), created=True)


def _check_same(existing: StudyRow, definition: StudyDefinition) -> None:
    """The definition as first given counts, whatever was changed since."""
    differing = ", ".join(_differences("", existing.definition, definition.model_dump(mode="json")))
    if differing:
        raise StudyExists(f"Study {existing.id!r} exists with another definition: {differing}."[:2000])


def _differences(name: str, was: Any, given: Any) -> Iterator[str]:
    """Field by field, down to single constants."""
    if isinstance(was, dict) and isinstance(given, dict):
        for field in sorted(was.keys() | given.keys()):
            yield from _differences(f"{name}.{field}".lstrip("."), was.get(field), given.get(field))
    elif was != given:
        yield f"{name} is {was!r}, not {given!r}"


def get(service: Service, study_id: str) -> views.Study:
    """A study.

    Raises:
        StudyNotFound: there is none.
    """
    with service.database.reading() as connection:
        return lifecycle.full(connection, studies.get(connection, study_id))


def page(service: Service, after: tuple[datetime, str] | None, limit: int) -> Page:
    """Studies, newest first."""
    with service.database.reading() as connection:
        rows = studies.page(connection, after, limit)
        counts = lifecycle.counts_of(connection, [row.id for row in rows])
        items = [lifecycle.full(connection, row, counts[row.id]) for row in rows]
    return Page(items, (rows[-1].created_at, rows[-1].id) if len(rows) == limit else None)


def change(
    service: Service, study_id: str, changes: dict[str, Any], revisions: frozenset[int] | None = None
) -> views.Study:
    """Change a study's limits and tags, pause or resume it.

    Args:
        service: the service.
        study_id: which study.
        changes: new values of ``PATCHABLE`` fields, and ``state``: "paused" or "running".
        revisions: refuse unless the study is at one of these; None for any.

    Raises:
        StudyNotFound: there is none.
        PreconditionFailed: the study is at another revision.
    """
    now = service.clock()
    with service.models.lock(study_id), service.database.writing() as connection:
        study = studies.get(connection, study_id, lock=True)
        _check_revision(study, revisions)
        paused = changes["state"] == "paused" if "state" in changes else study.paused
        if paused != study.paused:
            studies.change(connection, study_id, paused=paused)
            events.append(connection, study_id, "paused" if paused else "resumed", {}, now=now)
        new = {name: changes[name] for name in PATCHABLE if name in changes and changes[name] != getattr(study, name)}
        if new:
            studies.change(connection, study_id, **new)
            events.append(connection, study_id, "updated", {"changes": new}, now=now)
        return lifecycle.full(connection, lifecycle.settle(connection, study_id, now))


def delete(service: Service, study_id: str, revisions: frozenset[int] | None = None) -> None:
    """Delete a study and everything below it.

    Raises:
        StudyNotFound: there is none.
        PreconditionFailed: the study is at another revision.
    """
    with service.models.lock(study_id), service.database.writing() as connection:
        _check_revision(studies.get(connection, study_id, lock=True), revisions)
        studies.remove(connection, study_id)
        service.models.drop(study_id)


def _check_revision(study: StudyRow, revisions: frozenset[int] | None) -> None:
    if revisions is not None and study.head not in revisions:
        raise PreconditionFailed(f"Study {study.id!r} is at revision {study.head} by now; read it again.")
