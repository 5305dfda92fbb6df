"""Write and read the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from adabkb_service.access.caller import Caller
from adabkb_service.contract.access import AuditEntry
from adabkb_service.operations.service import Service
from adabkb_service.storage import audit
from adabkb_service.storage.audit import EVERYTHING, AuditRow, Filter
from adabkb_service.storage.rows import as_values

DAYS = 400
"""Days for which entries are kept."""


def note(connection: Connection, caller: Caller, now: datetime, action: str, subject: str, **detail: Any) -> None:
    """Add an entry to the audit log, in the transaction of the recorded action. If the caller's token is a session, the
    entry includes the person's subject, name and email."""
    if (person := caller.person) is not None:
        detail = {**detail, "person": {"subject": person.subject, "name": person.name, "email": person.email}}
    audit.add(connection, [AuditRow(now, action, subject, caller.user, caller.token, caller.address, detail)])


def page(service: Service, before: int, limit: int, only: Filter = EVERYTHING) -> list[AuditEntry]:
    """Return up to ``limit`` entries, newest first. If ``before`` is not 0, only entries with numbers below it."""
    with service.database.reading() as connection:
        found = audit.page(connection, before, limit, only)
    return [AuditEntry(number=number, **as_values(row)) for number, row in found]
