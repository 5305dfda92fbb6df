"""What the service measures, as Prometheus metrics in a registry of its own."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram

from adabkb_service.storage.rows import EventRow


class Metrics:
    """Counters and histograms; one set per server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "adabkb_http_requests_total",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "adabkb_http_request_seconds",
            "Time to answer a request.",
            ["method", "route"],
            registry=self.registry,
        )
        self.suggest_seconds = Histogram(
            "adabkb_suggest_seconds", "Time of a suggest, all retries included.", registry=self.registry
        )
        self.observe_seconds = Histogram(
            "adabkb_observe_seconds", "Time of an observe, from its arrival to its answer.", registry=self.registry
        )
        self.model_fold_seconds = Histogram(
            "adabkb_model_fold_seconds", "Time to fold new events into a model.", registry=self.registry
        )
        self.leases_expired = Counter("adabkb_leases_expired_total", "Leases that ran out.", registry=self.registry)
        self.observations = Counter("adabkb_observations_total", "Results stored.", ["status"], registry=self.registry)

    def count(self, log: Iterable[EventRow]) -> None:
        """Count events that were committed."""
        for event in log:
            if event.kind == "observed":
                self.observations.labels("completed").inc()
            elif event.kind == "failed" and event.payload["attempt"] is not None:
                self.observations.labels("failed").inc()
            elif event.kind == "expired":
                self.leases_expired.inc()
