"""The statements on the page about the coverage of intervals follow from the cells."""

from __future__ import annotations

from typing import Any

from benchmarks.calibration import ranges, summary

COUNTS = (5, 20)


def cell(coverage: list[float], *, region: str = "near", noise: float = 0.2, above: float = 0.05) -> dict[str, Any]:
    kind = {"region": region, "design": "suggested", "noise": noise, "declared": False}
    return {**kind, "coverage": coverage, "below": [0.04, 0.06], "above": [above, above]}


def test_summary_counts_cells_beyond_the_target_and_one_sided_rows() -> None:
    cells = [cell([0.80, 0.85]), cell([0.95, 0.96], noise=0.05, above=0.11), cell([0.84, 0.83], noise=0.001)]
    assert summary(COUNTS, cells) == (
        "2 of the 6 cells are within 85% to 95%, 1 above and 3 below; the lowest has 80%, the highest 96%. Of those "
        "below, 2 have 5 or 10 results, and 1 have noise of 0.2 and more. In 2 of 3 rows, misses on one side are at "
        "most twice those on the other."
    )


def test_ranges_match_their_cells() -> None:
    cells = [
        cell([0.80, 0.99], region="box"),
        cell([0.90, 0.92], noise=0.05),
        cell([0.70, 0.75]),
        cell([0.77, 0.88], noise=0.5),
        {**cell([0.1, 0.1]), "design": "random"},
    ]
    assert [share for *_, share in ranges(COUNTS, cells)] == ["80% to 99%", "90% to 92%", "70% to 77%", "75% to 88%"]
