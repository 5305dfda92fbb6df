"""Services of the process that the owner of a study uses."""

from __future__ import annotations

from dataclasses import dataclass

from adabkb_service.inference.pool import Inference
from adabkb_service.storage.database import Database
from adabkb_service.study.changes import Changes
from adabkb_service.study.clock import Clock
from adabkb_service.study.scheduler import Scheduler
from adabkb_service.telemetry.metrics import Metrics
from adabkb_service.telemetry.traces import Traces
from adabkb_service.timeouts import Timeouts


@dataclass(frozen=True)
class Dependencies:
    """The services."""

    database: Database
    clock: Clock
    inference: Inference
    """Runs the models."""
    timeouts: Timeouts
    """How long requests may wait."""
    metrics: Metrics
    traces: Traces | None
    """None if tracing is off."""
    scheduler: Scheduler
    """Schedules the studies that have work to do."""
    changes: Changes
    """Wakes the requests that wait for a change of a study."""
