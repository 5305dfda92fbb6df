"""Services of the process that the owner of a study uses."""

from __future__ import annotations

from typing import Protocol

from adabkb_service.inference.pool import Inference
from adabkb_service.storage.database import Database
from adabkb_service.study.changes import Changes
from adabkb_service.study.clock import Clock
from adabkb_service.study.scheduler import Scheduler
from adabkb_service.telemetry.metrics import Metrics
from adabkb_service.telemetry.traces import Traces
from adabkb_service.timeouts import Timeouts


class Dependencies(Protocol):
    """The services."""

    @property
    def database(self) -> Database:
        """The database of the studies."""

    @property
    def clock(self) -> Clock:
        """The clock of the process."""

    @property
    def inference(self) -> Inference:
        """The models."""

    @property
    def timeouts(self) -> Timeouts:
        """How long requests may wait."""

    @property
    def metrics(self) -> Metrics:
        """The server's metrics."""

    @property
    def traces(self) -> Traces | None:
        """The server's traces; None if tracing is off."""

    @property
    def scheduler(self) -> Scheduler:
        """Schedules the studies that have work to do."""

    @property
    def changes(self) -> Changes:
        """Wakes the requests that wait for a change of a study."""
