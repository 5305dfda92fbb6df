"""Doing an operation again that met another one in the database."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from adabkb_service.errors import Contention

P = ParamSpec("P")
R = TypeVar("R")

SECONDS = 5.0
# Called as it is: what tenacity makes of a decorated function shares its statistics among the threads.
_AGAIN = Retrying(
    retry=retry_if_exception_type(Contention),
    stop=stop_after_delay(SECONDS),
    wait=wait_random_exponential(multiplier=0.01, max=0.2),
    reraise=True,
)


def retried(operation: Callable[P, R]) -> Callable[P, R]:
    """An operation whose transaction the database may undo for another's sake: nothing was written then, so it is
    done again, for some seconds, before anyone is told."""

    @wraps(operation)
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        return _AGAIN(operation, *args, **kwargs)

    return again
