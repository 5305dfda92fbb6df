"""Wait for another thread or process. No test relies on its speed."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT_SECONDS = 120.0
"""Timeout in seconds."""


def wait_for(is_so: Callable[[], object], seconds: float = TIMEOUT_SECONDS) -> None:
    """Wait until a condition is true.

    Conditions that take long are checked less often: many of them are requests, which take processor time from the
    awaited work. This makes a wait longer by at most a twentieth.
    """
    begun = time.monotonic()
    while not is_so():
        waited = time.monotonic() - begun
        assert waited < seconds, "timeout"
        time.sleep(max(0.01, waited / 20))
