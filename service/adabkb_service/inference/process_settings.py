"""The settings of a model process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSettings:
    """What a server passes to each of its model processes."""

    database_url: str
    lock_seconds: float
    """How long a query waits for a lock of the database."""
    capacity: int
    """Size, in bytes, up to which the process keeps models in memory."""
    blas_threads: int
    memory_megabytes: int
    """The memory limit of the process."""
    decision_seconds: float
    """The time limit for a decision on points; see ``ModelHost``."""
    saving_seconds: float
    """How long the process may store its models when it ends."""
