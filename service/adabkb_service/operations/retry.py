"""Doing an operation again that met another one in the database."""

from __future__ import annotations

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random_exponential

from adabkb_service.errors import Contention

SECONDS = 5.0

retried = retry(
    retry=retry_if_exception_type(Contention),
    stop=stop_after_delay(SECONDS),
    wait=wait_random_exponential(multiplier=0.01, max=0.2),
    reraise=True,
)
"""Decorates an operation whose transaction the database may undo for another's sake: nothing was written then, so it is
done again, for some seconds, before anyone is told."""
