"""Whether a run is stalled: its trials wait for a cluster that evaluates none of them."""

import threading
from collections.abc import Hashable
from time import monotonic

STALL_SECONDS = 30.0
"""Seconds without any evaluation before a run counts as stalled. A worker of a cluster may take some to start."""


class StallDetector:
    """Watches the evaluations of one run on a cluster. Threads may share it."""

    def __init__(self) -> None:
        self._under_way: set[Hashable] = set()
        self._since = monotonic()
        self._told = False
        self._lock = threading.Lock()

    def note(self, task: Hashable, *, is_evaluated: bool) -> None:
        """Note whether a task is being evaluated now."""
        with self._lock:
            if is_evaluated:
                self._under_way.add(task)
                self._told = False
            elif task in self._under_way:
                self._under_way.discard(task)
                self._since = monotonic()

    def due(self, submitted: float) -> float | None:
        """Return the seconds for which the run has been stalled, if it is time to warn: once, until it goes on.

        Args:
            submitted: when the task that asks was submitted, by the monotonic clock.
        """
        with self._lock:
            seconds = monotonic() - max(self._since, submitted)
            if self._told or self._under_way or seconds < STALL_SECONDS:
                return None
            self._told = True
            return seconds
