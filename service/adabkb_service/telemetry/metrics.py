"""The service's Prometheus metrics, in a separate registry."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, PlatformCollector, ProcessCollector

from adabkb_service.storage.rows import EventRow

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram buckets: most requests take some milliseconds. Only event streams and requests with
``Prefer: wait`` usually take longer than 10 s."""


class Metrics:
    """Counters and histograms; one set per server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, GCCollector, PlatformCollector):
            collector(registry=self.registry)
        self._requests = self._counter("http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = self._histogram("http_request_seconds", "Time to answer a request.", "method", "route")
        self._phase_seconds = self._histogram(
            "phase_seconds",
            "Phases of a request: queue (waiting for its batch), decide (waiting for the model to decide on points), "
            "commit (the transaction) and, after the response to an observe, learn (the model processes the results).",
            "operation",
            "phase",
        )
        self.suggest_seconds = self._histogram(
            "suggest_seconds",
            "Time of a suggest, including retries, excluding the time that Prefer: wait= waits for a trial.",
        )
        self.observe_seconds = self._histogram("observe_seconds", "Time of an observe, from arrival to response.")
        self.leases_expired = self._counter("leases_expired", "Leases that expired.")
        self.observations = self._counter("observations", "Outcomes reported.", "status")
        self.late_results = self._counter(
            "late_results", "Results stored after their lease had expired or another attempt had begun."
        )
        self.repeated_results = self._counter("repeated_results", "Results that were stored already.")
        self.degraded_answers = self._counter(
            "degraded_answers",
            "Degraded answers to suggest: the model did not decide in time, or could not process the log.",
        )
        # Looking up a metric by its labels takes longer than incrementing it.
        self._request = cache(self._requests.labels)
        self._request_time = cache(self._request_seconds.labels)
        self._phase = cache(self._phase_seconds.labels)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._request(method, route, str(status)).inc()
        self._request_time(method, route).observe(seconds)

    def phase(self, operation: str, phase: str, seconds: float) -> None:
        """Record the duration of a phase of an operation."""
        self._phase(operation, phase).observe(seconds)

    def count(self, log: Iterable[EventRow]) -> None:
        """Count committed events."""
        for event in log:
            if event.kind == "observed":
                self.observations.labels("completed").inc()
            elif event.kind == "failed" and event.payload["attempt"] is not None:
                self.observations.labels("failed").inc()
            elif event.kind == "expired":
                self.leases_expired.inc()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"adabkb_{name}_total", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"adabkb_{name}", text, labels, registry=self.registry, buckets=SECONDS)
