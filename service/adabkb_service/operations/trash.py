"""Deleting a study, and the trash, where deleted studies can be restored from for 30 days.

What goes into the trash is the study's export, and restoring it is an import: the same as when a study moves to another
database. So its id is free at once, and no other table knows of deleted studies.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.access.quotas import check_new_study
from adabkb_service.contract import answers as views
from adabkb_service.contract.access import Deletion
from adabkb_service.errors import Contention, DeletionNotFound, shown
from adabkb_service.operations import audit, export, manage
from adabkb_service.operations.importing import import_study
from adabkb_service.operations.service import Service
from adabkb_service.storage import grants, idempotency, studies, tokens, trash
from adabkb_service.storage.rows import StudyRow
from adabkb_service.storage.tables import trash as table
from adabkb_service.storage.trash import TrashRow
from adabkb_service.study import lifecycle
from adabkb_service.study.contention import repeating
from adabkb_service.study.request import Key, Outcome, kept, recall

DAYS = 30
"""For which a study stays in the trash."""


def delete(
    service: Service,
    study_id: str,
    revisions: frozenset[int] | None = None,
    caller: Caller = ANYBODY,
    *,
    purge: bool = False,
) -> None:
    """Delete a study and everything below it.

    Args:
        service: the service.
        study_id: which study.
        revisions: refuse unless the study is at one of these; None for any.
        caller: who does so.
        purge: for good, and not into the trash.

    Raises:
        StudyNotFound: there is none.
        PreconditionFailed: the study is at another revision.
        Busy: other servers kept writing to the study.
    """
    with service.closed(study_id):
        repeating(service.timeouts.contention)(_delete, service, study_id, revisions, caller, purge)
    service.forget(study_id)


def _delete(service: Service, study_id: str, revisions: frozenset[int] | None, caller: Caller, purge: bool) -> None:
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        manage.check_revision(study, revisions)
        packed = b"" if purge else _packed(connection, study)  # takes long: other studies are written meanwhile
    with service.database.writing() as connection:
        if not studies.commit_if_unchanged(connection, study):
            raise Contention(f"Study {study_id!r} changed meanwhile; try again.")
        now = service.clock()
        if not purge:
            rights = grants.of_study(connection, study_id)
            row = TrashRow(None, study_id, grants.owner(rights), rights, study.observations, caller.user, now)
            trash.add(connection, row, packed)
        tokens.revoke_links(connection, study_id, now)
        studies.remove(connection, study_id)
        audit.note(connection, caller, now, "study purged" if purge else "study deleted", study_id)


def page(service: Service, caller: Caller, before: int, limit: int) -> list[Deletion]:
    """The caller's deleted studies, those deleted last first; an administrator's are all."""
    with service.database.reading() as connection:
        return [_shown(row) for row in trash.page(connection, before, limit, *_of(caller))]


def restore(
    service: Service, caller: Caller, study_id: str, number: int | None, key: Key | None = None
) -> Outcome[views.Study]:
    """Bring a deleted study back: it goes on where it was.

    Args:
        service: the service.
        caller: who does so.
        study_id: which study.
        number: of its deletion; None for the last one.
        key: of the request; with it, a repetition gets the answer of the first time.

    Raises:
        DeletionNotFound: there is none of this id and number in the trash.
        StudyExists: there is a study of this id again.
        QuotaExceeded: the caller has as many studies as the token allows, or as much in them.
    """
    with service.database.reading() as connection:
        if known := recall(connection, key, views.Study):
            return known
        of_study = (*_of(caller), table.c.study_id == study_id)
        found = trash.page(connection, 0, 1, *of_study, *([] if number is None else [table.c.id == number]))
        if not found:
            which = "" if number is None else f" with the number {number}"
            raise DeletionNotFound(f"There is no study {shown(study_id)}{which} in your trash.")
        row, content = found[0], trash.content(connection, found[0].id or 0)

    def finish(connection: Connection, restored: StudyRow) -> None:
        if not trash.remove(connection, row.id or 0):
            raise DeletionNotFound(f"Study {study_id!r} was restored or purged at this moment.")
        check_new_study(connection, caller.user, caller.quotas, restored.log_bytes)
        grants.replace(connection, study_id, row.rights)
        now = service.clock()
        audit.note(connection, caller, now, "study restored", study_id, deletion=row.id)
        if key is not None:
            idempotency.add(connection, [kept(key, study_id, Outcome(lifecycle.full(restored)), now)])

    restored = import_study(service.database, _lines(content), finish)
    service.forget(study_id)
    return Outcome(restored)


def purge(service: Service, caller: Caller, number: int) -> None:
    """Delete a study in the trash for good.

    Raises:
        DeletionNotFound: there is none of this number.
    """
    with service.database.writing() as connection:
        found = trash.page(connection, 0, 1, *_of(caller), table.c.id == number)
        if not found:
            raise DeletionNotFound(f"There is no deletion {number} in your trash.")
        trash.remove(connection, number)
        audit.note(connection, caller, service.clock(), "study purged", found[0].study_id, deletion=number)


def _of(caller: Caller) -> list[ColumnElement[bool]]:
    """The conditions that a study in the trash is the caller's."""
    if caller.is_admin:
        return []
    restriction = [] if caller.studies is None else [grants.named(table.c.study_id, caller.studies)]
    return [table.c.owner == caller.user, *restriction]


def _packed(connection: Connection, study: StudyRow) -> bytes:
    packed = io.BytesIO()
    with gzip.open(packed, "wt", encoding="utf-8") as file:
        export.write_json(connection, study, file)
    return packed.getvalue()


def _lines(content: bytes) -> Iterator[str]:
    with gzip.open(io.BytesIO(content), "rt", encoding="utf-8") as file:
        yield from file


def _shown(row: TrashRow) -> Deletion:
    return Deletion(
        deletion=row.id or 0,
        study=row.study_id,
        owner=row.owner,
        results=row.results,
        deleted_by=row.deleted_by,
        deleted_at=row.deleted_at,
        purged_at=row.deleted_at + timedelta(days=DAYS),
    )
