"""Requests without a good token, counted for the audit log: a flood of them takes neither memory nor the disk."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime

from adabkb_service.storage.audit import AuditRow

MOST_KINDS = 100
"""Kinds of refusals that are told apart between two entries; what exceeds them is counted together."""

Kind = tuple[str, str, str | None]
"""Where it came from, why, and the id in the token."""


class Refusals:
    """Counts refusals until they are stored."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._counts: Counter[Kind] = Counter()

    def note(self, address: str, reason: str, token_id: str | None) -> None:
        """Count one."""
        kind = (address, reason, token_id)
        with self._guard:
            is_known = kind in self._counts or len(self._counts) < MOST_KINDS
            self._counts[kind if is_known else ("many", reason, None)] += 1

    def taken(self, now: datetime) -> list[AuditRow]:
        """The entries for what was counted since the last time."""
        with self._guard:
            counts, self._counts = self._counts, Counter()
        return [
            AuditRow(now, "refused", reason, None, token_id, address, count=count)
            for (address, reason, token_id), count in counts.items()
        ]
