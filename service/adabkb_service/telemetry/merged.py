"""Metrics of this server with those of its model workers, which nobody else can ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL = "model_worker"
"""Of each metric of a model worker: its name."""
OF_SERVERS = ("adabkb_servers", "adabkb_model_workers")
"""What each server says for all."""


class Merged(Collector):
    """A registry's metrics, and ``adabkb_*`` of model workers in the same families.

    Args:
        own: of this server.
        workers: what each model worker says, by its name.
    """

    def __init__(self, own: CollectorRegistry, workers: Mapping[str, str]) -> None:
        self._own = own
        self._workers = workers

    def collect(self) -> Iterator[Metric]:
        """As prometheus_client calls it."""
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
