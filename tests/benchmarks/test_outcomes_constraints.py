"""The benchmark of constraints on parameters: a short form of it, and its problems."""

from __future__ import annotations

import numpy as np
import pytest

from adabkb_service.engine.slices import Slice
from benchmarks.outcomes.constraints import PROBLEMS, compared, ranks


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_feasible_value_is_below_the_optimum(name: str) -> None:
    problem = PROBLEMS[name]
    feasible = Slice(problem.space, {}).feasible
    assert feasible is not None
    points = [problem.space.decode(position) for position in feasible.sample((0, 0), 1000)]
    lowest = min(problem.function(**point) for point in points if not problem.space.violated(point))
    assert lowest >= problem.optimum - 1e-6 * problem.unit
    assert np.isfinite(lowest)


def test_a_short_form_runs_and_ranks_the_methods() -> None:
    found = compared({"G6": PROBLEMS["G6"]}, ("auto", "random", "tpe"), 1, 8)
    assert {name: runs[0]["violations"] == 0 for name, runs in found["G6"].items()} == {
        "auto": True,
        "random": True,
        "tpe": False,
    }
    assert ranks(found, 8)["auto"] == 1.0
