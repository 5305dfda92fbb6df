"""What every operation is given."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from adabkb_service.inference.models import Models
from adabkb_service.inference.pool import Here, Host
from adabkb_service.operations.metrics import Metrics
from adabkb_service.storage.database import Database
from adabkb_service.study.clock import Clock, utc_now


@dataclass(frozen=True)
class Service:
    """The database, the models in memory, the metrics and the time."""

    database: Database
    models: Models
    metrics: Metrics
    clock: Clock
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to stop: what goes on without end ends then."""


def service(
    database: Database, *, model_cache_size: int = 32, clock: Clock = utc_now, host: Host | None = None
) -> Service:
    """A service on a database whose schema is ready; its models live in this process if there is no other host."""
    metrics = Metrics()
    return Service(database, Models(database, metrics, clock, host or Here(), model_cache_size), metrics, clock)
