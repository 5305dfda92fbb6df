"""The benchmark of many workers: it counts their calls, and missing and duplicate results."""

from __future__ import annotations

import pytest

from benchmarks.service import fleet
from benchmarks.service.fleet import Fleet


def test_missing_and_duplicate_results_are_counted_per_study() -> None:
    found = fleet.kept({"a": 4, "b": 2}, {"a": 3, "b": 3})
    assert (found["results"], found["results lost"], found["surplus results"]) == (6, 1, 1)


@pytest.mark.long
def test_small_fleet_loses_nothing_and_renews_its_leases() -> None:
    small = Fleet(workers=8, studies=2, seconds=4.0, evaluation=(0.3, 0.9), renewal=0.1)
    found = fleet.measure("sqlite", small)
    assert found["results"] >= small.workers
    assert found["heartbeats per second"] > 0
    for name in ("quasi-random points", "leases lost", "results lost", "surplus results"):
        assert found[name] == 0, name
    assert all(name for name, *_ in fleet.rows({"sqlite": found, "postgresql": found}))
