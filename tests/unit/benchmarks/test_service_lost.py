"""The benchmark of a killed server: it measures latencies since the kill, and counts missing and duplicate results."""

from __future__ import annotations

from benchmarks.service import lost
from benchmarks.service.measured import Pair


def test_latencies_and_fallback_points_count_from_the_kill() -> None:
    studies = [
        [Pair(0, 1, 2, 3, degraded=True), Pair(9, 12, 13, 14, degraded=True), Pair(15, 16, 17, 18)],
        [Pair(0, 1, 2, 11), Pair(11, 13, 14, 15)],
        [Pair(0, 7, 8, 9), Pair(9, 11, 12, 17)],
    ]
    found = lost.cost(studies, killed=10)
    assert (found["next suggestion, longest s"], found["next suggestion of the model, longest s"]) == (3, 6)
    assert (found["quasi-random points"], found["longest call, s"]) == (1, 9)


def test_missing_and_duplicate_results_are_counted() -> None:
    pairs = {"s": [Pair(0, 1, 2, 3)] * 4}
    short = lost.kept(pairs, {"s": {"observations": 3, "trials": 4}})
    twice = lost.kept(pairs, {"s": {"observations": 4, "trials": 5}})
    assert (short["results lost"], short["surplus results or trials"]) == (1, 0)
    assert (twice["results lost"], twice["surplus results or trials"]) == (0, 1)
