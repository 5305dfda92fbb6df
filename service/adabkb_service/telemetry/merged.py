"""Merge the metrics of this server with those of its model workers, which cannot be scraped directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL = "model_worker"
"""Label with the model worker's name on each of its metrics."""
OF_SERVERS = ("adabkb_servers", "adabkb_model_workers")
"""Metrics that each server reports for the whole deployment."""


class Merged(Collector):
    """A registry's metrics, with the ``adabkb_*`` metrics of model workers in the same families.

    Args:
        own: registry of this server.
        workers: metrics of each model worker in text format, by name.
    """

    def __init__(self, own: CollectorRegistry, workers: Mapping[str, str]) -> None:
        self._own = own
        self._workers = workers

    def collect(self) -> Iterator[Metric]:
        """Override of ``Collector.collect``."""
        families = {family.name: family for family in self._own.collect()}
        for worker, text in self._workers.items():
            for family in text_string_to_metric_families(text):
                name = family.name
                if not name.startswith("adabkb_") or name.endswith("_created") or name in OF_SERVERS:
                    continue
                merged = families.setdefault(name, Metric(name, family.documentation, family.type))
                for sample in family.samples:
                    merged.add_sample(sample.name, {**sample.labels, LABEL: worker}, sample.value)
        yield from families.values()
