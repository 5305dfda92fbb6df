"""Collectors of the current state for /metrics: queues, connections, models and processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from prometheus_client import ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adabkb_service.inference.pool import Inference
from adabkb_service.storage.database import Database
from adabkb_service.study.changes import Changes
from adabkb_service.study.scheduler import Scheduler


class RunningService(Protocol):
    """The parts of a running service that the collectors measure."""

    database: Database
    inference: Inference
    scheduler: Scheduler
    changes: Changes
    servers: Callable[[], int]
    model_workers: Callable[[], int]

    @property
    def unfinished(self) -> int:
        """The number of requests to studies that have no outcome yet."""


class ServiceCollector(Collector):
    """Metrics of a running service."""

    def __init__(self, running: RunningService) -> None:
        self._running = running

    def describe(self) -> Iterator[Metric]:
        """Return nothing, since the metrics need a running service."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (called by prometheus_client)."""
        running, load = self._running, self._running.inference.load
        yield _gauge("requests_waiting", "Requests to studies that have no answer yet.", running.unfinished)
        yield _gauge(
            "suggestions_waiting",
            "Requests waiting for a trial under Prefer: wait=.",
            running.changes.waiting_for_trial,
        )
        yield _gauge("studies_in_line", "Studies waiting for a thread.", running.scheduler.queue_length)
        yield _gauge("database_connections", "Database connections in use.", running.database.connections)
        yield _gauge("writers_waiting", "Writes waiting for other writes (SQLite).", running.database.waiting_writers)
        yield _gauge("model_messages_waiting", "Messages to models that have no reply yet.", load.waiting)
        yield _gauge("model_cache_bytes", "Total memory of the models in all model processes.", load.cache_bytes)
        yield _gauge(
            "servers",
            "Live servers on the PostgreSQL database, including this one; 0 if it has lost contact with the others.",
            running.servers(),
        )
        yield _gauge(
            "model_workers",
            "Live model workers (adabkb work) on the PostgreSQL database; 0 without contact with them.",
            running.model_workers(),
        )
        yield from _processes(load.pids)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"adabkb_{name}", text, value)


def _processes(pids: list[int]) -> Iterator[Metric]:
    """Yield prometheus_client's process metrics for each model process."""
    families: dict[str, Metric] = {}
    for number, pid in enumerate(pids):
        for each in ProcessCollector("adabkb_model", pid=partial(str, pid), registry=None).collect():
            family = families.setdefault(each.name, Metric(each.name, each.documentation, each.type))
            for sample in each.samples:
                family.add_sample(sample.name, {"process": str(number)}, sample.value)
    yield from families.values()
