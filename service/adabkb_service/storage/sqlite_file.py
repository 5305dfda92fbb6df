"""The file of a SQLite database, which somebody may delete or replace under a running server.

Connections that are open go on with the old file, which has no name any more: what they commit is lost when the last of
them is closed. SQLite does not notice.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress

from adabkb_service.errors import Unavailable

logger = logging.getLogger(__name__)


class SqliteFile:
    """Notices that a file is not the one that was opened.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: tuple[int, int] | None = None
        self._is_missing = False
        """Whether the last look found it gone."""

    def create(self) -> None:
        """Create the file if there is none, so that others of the machine cannot read it. SQLite gives those beside it
        the same permissions."""
        if self._path and self._identity() is None:
            with suppress(OSError):  # SQLite says what is wrong
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def opened(self) -> None:
        """A connection has opened the file, which is the right one from now on if it is the first."""
        self._opened = self._opened or self._identity()

    def check(self) -> None:
        """Takes two microseconds.

        Raises:
            Unavailable: it is gone, or another one has its name.
        """
        if self._opened is None or self._identity() == self._opened:
            self._is_missing = False
            return
        if not self._is_missing:  # the path is for the log: users of other machines need not know it
            logger.error("the SQLite file %s was deleted or replaced: nothing is stored until it is back", self._path)
            self._is_missing = True
        raise Unavailable(
            "The server's SQLite file was deleted or replaced while it is in use; nothing is stored. Whoever runs the "
            "server: put the file back, or restore a backup in its place and start the server again; its log has the "
            "path."
        )

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
