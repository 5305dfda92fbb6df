"""A warning if another server of this machine serves the same SQLite file."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from io import FileIO
from typing import Any

import portalocker
import typer
from sqlalchemy import URL

ENDING = ".servers"
"""The ending of the file that all servers of a database lock. The system releases the lock of a killed process."""
FREE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
SHARED = portalocker.LockFlags.SHARED | portalocker.LockFlags.NON_BLOCKING


def warn_of_other_servers(database: URL) -> AbstractContextManager[Any]:
    """Warn if another server has a lock on the file beside a SQLite database, and lock it too, until the end of the
    returned context."""
    if database.get_backend_name() != "sqlite" or not database.database:
        return nullcontext()
    try:
        file = FileIO(f"{database.database}{ENDING}", "a+")
    except OSError:  # a folder that cannot be written
        return nullcontext()
    try:
        portalocker.lock(file, FREE)
    except portalocker.AlreadyLocked:
        typer.echo(
            f"warning: another server serves {database.database}. If that is not intended, use its address, and stop "
            "this server. Both work, but each computes its own models; several servers are faster on PostgreSQL: "
            "--database postgresql://...",
            err=True,
        )
    except portalocker.LockException:  # a file system without locks
        return file
    with suppress(portalocker.LockException):  # another server checks for others at this moment
        portalocker.lock(file, SHARED)
    return file
