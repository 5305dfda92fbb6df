"""Metrics of each study for /metrics, if the setting ``study_metrics`` is on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adabkb_service.access.caller import Caller
from adabkb_service.operations.studies.manage import readable
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow, TrialState
from adabkb_service.study import lifecycle

MAX_STUDIES = 1000
"""The maximum number of studies with metrics; the newest are chosen. Each study has a dozen time series."""
STATES = get_args(TrialState)


class StudyCollector(Collector):
    """Metrics of the studies that a caller may read."""

    def __init__(self, database: Database, caller: Caller) -> None:
        self._database = database
        self._caller = caller

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (called by prometheus_client)."""
        with self._database.reading() as connection:
            rows = studies.bounded_page(connection, None, MAX_STUDIES, *readable(self._caller)).rows
        yield from of_studies(rows)


def of_studies(rows: list[StudyRow]) -> Iterator[Metric]:
    """Yield the metrics of these studies."""
    trials = GaugeMetricFamily("adabkb_study_trials", "Trials of a study, by state.", labels=["study", "state"])
    state = GaugeMetricFamily("adabkb_study_state", "1 for the state of a study.", labels=["study", "state"])
    results = GaugeMetricFamily("adabkb_study_results", "Results of a study.", labels=["study"])
    best = GaugeMetricFamily("adabkb_study_best", "The best result of a study.", labels=["study"])
    gap = GaugeMetricFamily(
        "adabkb_study_gap",
        "Bound on the gain of further trials (probability: 90% under the profile auto).",
        labels=["study"],
    )
    for row, summary in lifecycle.full_views(rows):
        for name in STATES:
            trials.add_metric([row.id, name], getattr(summary.counts, name))
        state.add_metric([row.id, summary.state], 1)
        results.add_metric([row.id], summary.counts.observations)
        if summary.best is not None:
            best.add_metric([row.id], summary.best.value)
        if summary.gap is not None:
            gap.add_metric([row.id], summary.gap)
    yield from (trials, state, results, best, gap)
