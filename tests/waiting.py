"""Waiting for what another thread or process brings about: no test relies on how fast that is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which something will never happen."""


def wait_for(is_so: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Until it is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.01)
