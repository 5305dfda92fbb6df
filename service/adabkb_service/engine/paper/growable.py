"""A matrix that grows by rows and columns, and is immutable for its readers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class GrowableMatrix:
    """A persistent matrix: ``append_rows`` and ``append_columns`` return a new version and leave the old one valid.

    The engine's states are immutable: an older state must remain usable when a decision is discarded. Copying a matrix
    of 20,000 x 300 for each new row would take longer than the rest of the step, so versions share one buffer. The
    newest version writes new rows and columns into the part of the buffer that no version reads; an older version
    copies the buffer first. Two threads must not append to the same version at the same time. (Decisions of a study are
    made one after the other.)
    """

    __slots__ = ("_buffer", "_columns", "_newest", "_rows")

    def __init__(self, data: Array) -> None:
        self._rows, self._columns = data.shape
        self._buffer = data
        self._newest = [data.shape]

    @property
    def array(self) -> Array:
        """The matrix, shape (rows, columns): a view of the buffer, not to be written to."""
        return self._buffer[: self._rows, : self._columns]

    def append_rows(self, block: Array) -> GrowableMatrix:
        """This matrix with ``block``, shape (k, columns), below it. Amortized cost O(k columns)."""
        grown = self._with_room(self._rows + len(block), self._columns)
        grown._buffer[self._rows : grown._rows, : self._columns] = block
        return grown

    def append_columns(self, block: Array) -> GrowableMatrix:
        """This matrix with ``block``, shape (rows, k), to its right. Amortized cost O(rows k)."""
        grown = self._with_room(self._rows, self._columns + block.shape[1])
        grown._buffer[: self._rows, self._columns : grown._columns] = block
        return grown

    def _with_room(self, rows: int, columns: int) -> GrowableMatrix:
        capacity = self._buffer.shape
        grown = GrowableMatrix.__new__(GrowableMatrix)
        grown._rows, grown._columns = rows, columns
        if self._newest[0] == (self._rows, self._columns) and rows <= capacity[0] and columns <= capacity[1]:
            grown._buffer, grown._newest = self._buffer, self._newest
        else:
            room = (
                rows if rows <= capacity[0] else rows + rows // 2 + 8,
                columns if columns <= capacity[1] else columns + columns // 4 + 8,
            )
            grown._buffer = np.empty((max(room[0], capacity[0]), max(room[1], capacity[1])))
            grown._buffer[: self._rows, : self._columns] = self.array
            grown._newest = [(rows, columns)]
        grown._newest[0] = (rows, columns)
        return grown
