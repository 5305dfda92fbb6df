"""Delete studies and restore them. A deleted study is in the trash for 30 days, unless it is purged.

The trash holds the exports of deleted studies. To restore a study, its export is imported, as when a study moves to
another database. Rights and webhooks, which exports do not contain, are stored beside the export. No other table refers
to deleted studies, so their ids can be used again. The links to a deleted study are revoked until it is restored.

However large a study is, one short transaction makes it unreadable. Further transactions remove its rows. The id of the
study cannot be used again until all rows are removed.
"""

from __future__ import annotations

import gzip
import logging
import zlib
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from tempfile import TemporaryFile
from typing import IO

from sqlalchemy import ColumnElement, Connection

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.access.quotas import check_new_study
from adabkb_service.contract import answers as views
from adabkb_service.contract.access import Deletion
from adabkb_service.errors import (
    Busy,
    Contention,
    DeletionNotFound,
    FieldError,
    Invalid,
    RestoreConflict,
    StudyExists,
    Unavailable,
    shown,
)
from adabkb_service.operations.access import audit
from adabkb_service.operations.data import export
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.former import check_revision
from adabkb_service.operations.service import Service
from adabkb_service.storage import containers, grants, idempotency, removal, studies, tokens, trash, webhooks
from adabkb_service.storage.container_writer import container_writer
from adabkb_service.storage.pace import FIRST_ROWS
from adabkb_service.storage.removal import Place
from adabkb_service.storage.rows import StudyRow
from adabkb_service.storage.tables import trash as table
from adabkb_service.storage.trash import TrashRow
from adabkb_service.study import lifecycle
from adabkb_service.study.contention import repeating
from adabkb_service.study.request import Key, Outcome, key_row, stored_answer

logger = logging.getLogger(__name__)

DAYS = 30
"""The number of days for which a study stays in the trash."""
REMOVAL_SECONDS = 2.0
"""Seconds for which the request that deletes a large study removes rows. Sweeps remove the rest."""


def delete(
    service: Service,
    study_id: str,
    revisions: frozenset[str] | None = None,
    caller: Caller = ANYBODY,
    *,
    purge: bool = False,
) -> None:
    """Delete a study with all its data. Rows of a large study may remain after this call, unreadable, until sweeps
    remove them.

    Args:
        service: the service.
        study_id: the study's id.
        revisions: the tags of the revisions of the study at which the deletion is allowed; None for any.
        caller: the user who deletes it.
        purge: delete permanently instead of moving to the trash.

    Raises:
        StudyNotFound: the study does not exist.
        PreconditionFailed: the study is at another revision.
        Busy: other servers kept writing to the study.
    """
    writer = containers.new_writer()
    with service.closed(study_id):
        place = repeating(service.timeouts.contention)(_delete, service, study_id, revisions, caller, purge, writer)
    service.forget(study_id)
    if place is not None:
        with suppress(Busy, Unavailable):  # the study is deleted; sweeps remove its rows
            removal.remove(service.database, study_id, writer, service.clock, REMOVAL_SECONDS, place)


def _delete(
    service: Service, study_id: str, revisions: frozenset[str] | None, caller: Caller, purge: bool, writer: str
) -> Place | None:
    """Delete a study and some of its rows. Return where to continue; None if no rows are left."""
    with TemporaryFile() as packed:
        with service.database.reading() as connection:
            study = studies.get(connection, study_id)
            check_revision(study, revisions)
            if not purge:
                _pack(connection, study, packed)  # takes long, without blocking other writes
        if purge:
            with service.database.writing() as connection:
                _check_unchanged(connection, study)
                return _remove(connection, study_id, caller, writer, "study purged", service.clock())
        container, size = trash.new_container(), packed.tell()
        packed.seek(0)
        with container_writer(service.database, container, service.clock, trash.pace()) as content:
            content.add(partial(trash.add_parts, container=container), trash.divided(packed))
            with content.last_transaction() as connection:
                _check_unchanged(connection, study)
                now = service.clock()
                row = _row(connection, study, caller, now, container, size)
                trash.add(connection, row)
                return _remove(connection, study_id, caller, writer, "study deleted", now)


def _check_unchanged(connection: Connection, study: StudyRow) -> None:
    if not studies.commit_if_unchanged(connection, study):
        raise Contention(f"Study {study.id!r} changed meanwhile; try again.")


def _row(connection: Connection, study: StudyRow, caller: Caller, now: datetime, container: str, size: int) -> TrashRow:
    rights = grants.of_study(connection, study.id)
    return TrashRow(
        id=None,
        study_id=study.id,
        title=study.title,
        owner=grants.owner(rights),
        rights=rights,
        webhooks=list(map(webhooks.as_json, webhooks.of_study(connection, study.id))),
        results=study.observations,
        deleted_by=caller.user,
        deleted_at=now,
        container=container,
        bytes=size,
    )


def _remove(
    connection: Connection, study_id: str, caller: Caller, writer: str, action: str, now: datetime
) -> Place | None:
    tokens.revoke_links(connection, study_id, now)
    studies.remove(connection, study_id, writer, now)
    audit.note(connection, caller, now, action, study_id)
    return removal.remove_some(connection, study_id, removal.START, FIRST_ROWS)


def page(service: Service, caller: Caller, before: int, limit: int, owner: str | None = None) -> list[Deletion]:
    """Return a page of deleted studies, latest deletion first: the caller's; for an administrator, those of all
    users, or with ``owner`` those of one user."""
    conditions = [*_of(caller), *([] if owner is None else [table.c.owner == owner])]
    with service.database.reading() as connection:
        return [_view(row) for row in trash.page(connection, before, limit, *conditions)]


def restore(
    service: Service, caller: Caller, study_id: str, number: int | None, key: Key | None = None
) -> Outcome[views.Study]:
    """Restore a deleted study. It continues in the state in which it was deleted, with its rights, webhooks and links.
    Links that were revoked before or after the deletion stay revoked.

    Args:
        service: the service.
        caller: the user who restores it.
        study_id: the study's id.
        number: the number of the deletion; None for the latest deletion of this study.
        key: the idempotency key of the request.

    Raises:
        DeletionNotFound: the trash has no study with this id, or no deletion of it with this number.
        Invalid: its content is damaged.
        RestoreConflict: a study with this id exists.
        QuotaExceeded: the caller's quota of studies or storage is used up.
        Contention: another request is creating, deleting or restoring this study.
    """
    with TemporaryFile(prefix="adabkb-") as packed:
        with service.database.reading() as connection:
            if known := stored_answer(connection, key, views.Study):
                return known
            row = _latest(connection, caller, study_id, number)
            packed.writelines(trash.content(connection, row.container))
        packed.seek(0)
        finish = partial(_finish_restore, service, caller, row, key)
        try:
            with gzip.open(packed, "rt", encoding="utf-8") as lines:
                restored = import_study(service.database, lines, finish, from_trash=True)
        except StudyExists as error:
            detail = f"There is another study {shown(study_id)} now, so deletion {row.id} cannot be restored."
            raise RestoreConflict(detail) from error
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, Invalid) as error:
            logger.exception("the content of a study in the trash is damaged")
            remedy = "the server's operator can get the study out of a backup"
            raise Invalid([FieldError("The study in the trash", f"is damaged; {remedy}", "invalid_export")]) from error
    service.forget(study_id)
    return Outcome(restored)


def _latest(connection: Connection, caller: Caller, study_id: str, number: int | None) -> TrashRow:
    """Return the latest deletion of a study, or the one with this number."""
    of_study = (*_of(caller), table.c.study_id == study_id)
    found = trash.page(connection, 0, 1, *of_study, *([] if number is None else [table.c.id == number]))
    if not found:
        which = "" if number is None else f" with the number {number}"
        raise DeletionNotFound(f"There is no study {shown(study_id)}{which} in your trash.")
    return found[0]


def _finish_restore(
    service: Service, caller: Caller, row: TrashRow, key: Key | None, connection: Connection, restored: StudyRow
) -> None:
    """Add to a restored study what exports do not contain, and remove it from the trash."""
    study_id = row.study_id
    if not trash.remove(connection, row):
        raise DeletionNotFound(f"Study {study_id!r} was restored or purged at this moment.")
    check_new_study(connection, caller.user, caller.quotas, restored.log_bytes)
    grants.replace(connection, study_id, row.rights)
    now = service.clock()
    for stored in row.webhooks:
        webhooks.add(connection, webhooks.from_json(stored, study_id, now))
    links = tokens.restore_links(connection, study_id, row.deleted_at)
    details = {"deletion": row.id, "links": links, "webhooks": len(row.webhooks)}
    audit.note(connection, caller, now, "study restored", study_id, **details)
    if key is not None:
        idempotency.add(connection, [key_row(key, study_id, Outcome(lifecycle.full_view(restored)), now)])


def purge(service: Service, caller: Caller, number: int) -> None:
    """Permanently delete a study that is in the trash.

    Raises:
        DeletionNotFound: the trash has no deletion with this number.
    """
    with service.database.writing() as connection:
        found = trash.page(connection, 0, 1, *_of(caller), table.c.id == number)
        if not found:
            raise DeletionNotFound(f"There is no deletion {number} in your trash.")
        trash.remove(connection, found[0])
        audit.note(connection, caller, service.clock(), "study purged", found[0].study_id, deletion=number)


def _of(caller: Caller) -> list[ColumnElement[bool]]:
    """Return the SQL conditions that select the caller's studies in the trash."""
    if caller.is_admin:
        return []
    restriction = [] if caller.studies is None else [grants.named(table.c.study_id, caller.studies)]
    return [table.c.owner == caller.user, *restriction]


def _pack(connection: Connection, study: StudyRow, packed: IO[bytes]) -> None:
    with gzip.open(packed, "wt", encoding="utf-8") as file:
        export.write_json(connection, study, file)


def _view(row: TrashRow) -> Deletion:
    return Deletion(
        deletion=row.id or 0,
        study=row.study_id,
        title=row.title,
        owner=row.owner,
        results=row.results,
        deleted_by=row.deleted_by,
        deleted_at=row.deleted_at,
        purged_at=row.deleted_at + timedelta(days=DAYS),
    )
