"""The audit log: what is written into it, and reading it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from adabkb_service.access.caller import Caller
from adabkb_service.contract.access import AuditEntry
from adabkb_service.operations.service import Service
from adabkb_service.storage import audit
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.rows import as_values

DAYS = 400
"""Days for which entries are kept."""


def note(connection: Connection, caller: Caller, now: datetime, action: str, subject: str, **detail: Any) -> None:
    """Write down an act, in the transaction that performs it. Of somebody who has logged in as a person, the entry has
    the subject and the shown name and address as they are now."""
    if (person := caller.person) is not None:
        detail = {**detail, "person": {"subject": person.subject, "name": person.name, "email": person.email}}
    audit.add(connection, [AuditRow(now, action, subject, caller.user, caller.token, caller.address, detail)])


def page(service: Service, before: int, limit: int) -> list[AuditEntry]:
    """Entries, newest first, before a number, unless it is 0."""
    with service.database.reading() as connection:
        found = audit.page(connection, before, limit)
    return [AuditEntry(number=number, **as_values(row)) for number, row in found]
