"""The public BBOB functions in the quality benchmark, without the package that computes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from benchmarks.quality import report
from benchmarks.quality.bbob import BBOB_PROBLEMS, DIMENSIONS, EVALUATIONS, TARGETS, reached
from benchmarks.quality.runs import COUNTS
from benchmarks.quality.store import Results


@pytest.mark.parametrize(
    ("regret", "count"), [(1e3, 0), (100.0, 1), (63.2, 1), (63.0, 2), (1.0, 11), (1.01e-8, 50), (1e-8, 51), (0.0, 51)]
)
def test_share_counts_the_targets_from_100_to_1e_8(regret: float, count: int) -> None:
    """There are five targets per power of ten."""
    assert len(TARGETS) == 51
    assert reached(regret) == count / 51


def test_suite_has_24_functions_per_dimension_and_records_both_budgets() -> None:
    assert len(BBOB_PROBLEMS) == 24 * len(DIMENSIONS)
    for problem in BBOB_PROBLEMS.values():
        assert {factor * problem.dimension for factor in EVALUATIONS} <= set(COUNTS)
        assert problem.budget == 50 * problem.dimension


def test_table_has_the_mean_share_over_functions_and_instances_and_leaves_out_incomplete_methods() -> None:
    """With ``good``, one of two instances reaches every target and the other one half of them."""

    def run(regret: float) -> Mapping[str, Any]:
        return {"observed": [regret] * len(COUNTS), "recommended": []}

    runs = {
        (name, "good", seed): run(regret) for name in BBOB_PROBLEMS for seed, regret in enumerate((1e-8, 10.0**-2.9))
    } | {(name, "bad", 0): run(1e9) for name in list(BBOB_PROBLEMS)[1:]}
    assert np.isclose(reached(10.0**-2.9), 25 / 51)
    text = report.public(Results(runs, {}))
    assert text.count("| good | 0.75 | 0.75 | 0.75 | 0.75 |") == len(EVALUATIONS)
    assert "bad" not in text
