"""Wait for another thread or process. No test relies on its speed."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Timeout in seconds."""


def wait_for(is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Until it is so. What takes long is asked for seldom: many conditions are requests, which take processor time from
    what they wait for. A wait is a twentieth longer by that at most."""
    begun = time.monotonic()
    while not is_so():
        waited = time.monotonic() - begun
        assert waited < seconds, "timeout"
        time.sleep(max(0.01, waited / 20))
