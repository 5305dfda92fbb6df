"""Detect that the file of a SQLite database was deleted or replaced while a server uses it.

Open connections then continue with the old, unlinked file. Their commits are lost when the last of them is closed.
SQLite does not notice this.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress

from adabkb_service.errors import DatabaseUnavailable

logger = logging.getLogger(__name__)


class SqliteFile:
    """Checks whether a path still refers to the file that was opened.

    Args:
        path: the path of the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: tuple[int, int] | None = None
        self._is_missing = False
        """Whether the last check failed."""

    def create(self) -> None:
        """Create a missing file, readable only by its owner. SQLite copies the permissions to the files beside it."""
        if self._path and self._identity() is None:
            with suppress(OSError):  # SQLite reports the error
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def opened(self) -> None:
        """Call this when a connection has opened the file. The first call records the file's identity."""
        self._opened = self._opened or self._identity()

    def check(self) -> None:
        """Check that the path still refers to the opened file. This takes 2 us.

        Raises:
            Unavailable: the file was deleted or replaced.
        """
        if self._opened is None or self._identity() == self._opened:
            self._is_missing = False
            return
        if not self._is_missing:  # the path is only in the server's log, since users must not learn it
            logger.error("the SQLite file %s was deleted or replaced: nothing is stored until it is back", self._path)
            self._is_missing = True
        raise DatabaseUnavailable(
            "The server's SQLite file was deleted or replaced while it is in use; nothing is stored. The server's "
            "operator must put the file back, or restore a backup in its place and restart the server. The path is in "
            "the server's log."
        )

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
