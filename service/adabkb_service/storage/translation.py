"""Translate errors of the databases into errors of the service, whose classes say whether a retry may succeed."""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError

from adabkb_service.errors import (
    AdaBKBError,
    Busy,
    Contention,
    DatabaseForbidden,
    DatabaseFull,
    DatabaseUnavailable,
    RowRefused,
)

CONFLICTS = {"40001", "40P01", "25P03"}
"""SQLSTATE of a serialization failure, a deadlock, and an idle transaction that timed out."""
LOCK_TIMEOUT = "55P03"
CANCELED = "57014"
READ_ONLY = "25006"
KINDS = {"53100": DatabaseFull, "42501": DatabaseForbidden}
"""SQLSTATE of a full disk and of a missing privilege -> error of the service."""


def translated(error: DBAPIError) -> AdaBKBError | None:
    """The service's error for an error of the database; None for a bug of the service."""
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(error, IntegrityError):
        return RowRefused("Another request wrote the same row at the same time; try again.")
    if state in CONFLICTS:
        return Contention("Another request wrote the same row at the same time; try again.")
    if state == LOCK_TIMEOUT or "database is locked" in str(error.orig):
        return Busy("The database is busy with other writers; try again.")
    if state == CANCELED:
        return Busy("The database took too long; try again.")
    # SQLite has no separate class for a damaged file.
    is_of_database = (
        isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError
    )
    if is_of_database or state in KINDS:
        cause = _public(str(error.orig)) or type(error.orig).__name__
        return KINDS.get(state or "", DatabaseUnavailable)(f"The database cannot be used ({cause}); try again later.")
    return None


def replace_if_read_only(context: ExceptionContext) -> None:
    """Make the pool reopen its connections if one of them is read-only. A connection stays read-only if it was opened
    while the SQLite file was not writable, or while PostgreSQL was a standby."""
    error = context.original_exception
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    if (code & 0xFF) == sqlite3.SQLITE_READONLY or getattr(error, "sqlstate", None) == READ_ONLY:
        if context.connection is not None:
            # SQLite keeps the locks of a closed connection as long as its cursors exist
            context.connection.connection.rollback()
        context.is_disconnect = True


def _public(error: str) -> str:
    """The part of an error that users may see: without quoted texts, and without the addresses and names that
    PostgreSQL puts before the cause."""
    first = (error.splitlines() or [""])[0].rpartition(" failed: ")[2]
    return re.sub(r'"[^"]*"', '"..."', first)
