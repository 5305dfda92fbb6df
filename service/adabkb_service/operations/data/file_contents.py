"""The contents of the files of an export while it is imported. They may be larger than the memory."""

from __future__ import annotations

import os
from typing import IO


class FileContents:
    """Keeps contents in a temporary file.

    Args:
        file: an empty file, which this object alone uses.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[int, tuple[int, int]] = {}
        """Number of a file -> where its content starts, and its size, in bytes."""

    def add(self, number: int, content: bytes) -> None:
        """Keep the content of the file with this number."""
        self._places[number] = (self._file.seek(0, os.SEEK_END), len(content))
        self._file.write(content)

    def of(self, number: int) -> bytes:
        """Return the content of the file with this number."""
        start, size = self._places[number]
        self._file.seek(start)
        return self._file.read(size)
