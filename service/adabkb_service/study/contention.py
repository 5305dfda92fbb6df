"""Doing something again that another server was faster with."""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from adabkb_service.errors import Contention

CONTENTION_SECONDS = 5.0
"""How long it is tried again."""

# Called with a function, and not used as a decorator: the decorated function would share its statistics among threads.
again = Retrying(
    retry=retry_if_exception_type(Contention),
    stop=stop_after_delay(CONTENTION_SECONDS),
    wait=wait_random_exponential(multiplier=0.01, max=0.2),
    reraise=True,
)
