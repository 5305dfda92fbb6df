"""Waiting for what another thread or process brings about: no test relies on how fast that is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which something will never happen."""


def wait_for(is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Until it is so. What takes long is asked for seldom: many conditions are requests, which take processor time from
    what they wait for. A wait is a twentieth longer by that at most."""
    begun = time.monotonic()
    while not is_so():
        waited = time.monotonic() - begun
        assert waited < seconds, "it never was"
        time.sleep(max(0.01, waited / 20))
