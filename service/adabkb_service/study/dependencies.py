"""What the owner of a study needs of the process that it is in."""

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
    """What an owner needs of the process."""

    @property
    def database(self) -> Database:
        """Where studies are."""

    @property
    def clock(self) -> Clock:
        """What the time is."""

    @property
    def inference(self) -> Inference:
        """Where models are."""

    @property
    def timeouts(self) -> Timeouts:
        """How long requests wait."""

    @property
    def metrics(self) -> Metrics:
        """What is counted."""

    @property
    def traces(self) -> Traces | None:
        """What is traced, if anything is."""

    @property
    def scheduler(self) -> Scheduler:
        """Who is told that a study has something to do."""

    @property
    def changes(self) -> Changes:
        """Who is told that a study has changed."""
