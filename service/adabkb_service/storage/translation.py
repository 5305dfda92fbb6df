"""Errors of the databases as errors of the service, which say whether a repetition may succeed."""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError

from adabkb_service.errors import AdaBKBError, Busy, Contention, RowRefused, Unavailable

MET_ANOTHER = {"40001", "40P01", "25P03"}
"""SQLSTATE of a serialization failure, of a deadlock, and of a transaction that was idle for too long."""
LOCK_TIMEOUT = "55P03"
CANCELED = "57014"
READ_ONLY = "25006"


def translated(error: DBAPIError) -> AdaBKBError | None:
    """The service's error for an error of the database; None for a mistake of the service itself."""
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(error, IntegrityError):
        return RowRefused("Another request wrote the same at the same moment; try again.")
    if state in MET_ANOTHER:
        return Contention("Another request wrote the same at the same moment; try again.")
    if state == LOCK_TIMEOUT or "database is locked" in str(error.orig):
        return Busy("The database is busy with other writers; try again.")
    if state == CANCELED:
        return Busy("The database took too long; try again.")
    # SQLite has no class of its own for a damaged file.
    if isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError:
        cause = _told(str(error.orig)) or type(error.orig).__name__
        return Unavailable(f"The database cannot be used ({cause}); try again later.")
    return None


def replace_if_read_only(context: ExceptionContext) -> None:
    """Let the pool open its connections anew if one of them only reads. SQLite opens a file so that may not be written
    at that moment, PostgreSQL is so while it is a standby, and a connection stays as it was opened."""
    error = context.original_exception
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    if (code & 0xFF) == sqlite3.SQLITE_READONLY or getattr(error, "sqlstate", None) == READ_ONLY:
        if context.connection is not None:
            context.connection.connection.rollback()  # SQLite keeps the locks of a closed one while its cursors live
        context.is_disconnect = True


def _told(error: str) -> str:
    """What may be told to anybody: without addresses and names, which PostgreSQL has before the cause, and quotes."""
    first = (error.splitlines() or [""])[0].rpartition(" failed: ")[2]
    return re.sub(r'"[^"]*"', "it", first)
