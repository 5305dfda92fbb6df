"""The benchmark of constraints on parameters: a short run, and its problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adabkb_service.engine.slices import Slice
from benchmarks.outcomes.constraints import PROBLEMS, Job, benchmark, tables


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_feasible_value_is_below_the_optimum(name: str) -> None:
    problem = PROBLEMS[name]
    feasible = Slice(problem.space, {}).feasible
    assert feasible is not None
    points = [problem.space.decode(position) for position in feasible.sample((0, 0), 1000)]
    lowest = min(problem.function(**point) for point in points if not problem.space.violated(point))
    assert lowest >= problem.optimum - 1e-6 * problem.unit
    assert np.isfinite(lowest)


def test_short_run_ranks_the_methods(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    found = {method: Job("G6", method, 0, 50).run() for method in ("auto", "random", "tpe")}
    for method, run in found.items():
        benchmark().keep(file, ("G6", method, 0), run)
    assert {name: run["violations"] == 0 for name, run in found.items()} == {"auto": True, "random": True, "tpe": False}
    (table,) = tables(file)
    assert table.header == ["problem", "auto", "random", "tpe"]
    assert table.rows[-1][:2] == ["mean rank", "1.00"]
