"""Repeat transactions that failed because another server wrote first."""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from adabkb_service.errors import Contention


def repeating(seconds: float) -> Retrying:
    """Return an object that calls a function, and repeats the call for up to ``seconds`` while it raises
    ``Contention``.

    Do not use it as a decorator: the decorated function would share its statistics among threads.
    """
    return Retrying(
        retry=retry_if_exception_type(Contention),
        stop=stop_after_delay(seconds),
        wait=wait_random_exponential(multiplier=0.01, max=0.2),
        reraise=True,
    )
