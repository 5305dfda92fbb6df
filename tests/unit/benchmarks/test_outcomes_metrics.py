"""The benchmark of outcome constraints: its problems match the literature, and a short run produces a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.outcomes import metrics
from benchmarks.outcomes.metric_problems import PROBLEMS

BEST: dict[str, dict[str, Any]] = {
    "gramacy": {"a": 0.19542, "b": 0.40456},
    "welded_beam": {"h": 0.20573, "l": 3.47049, "t": 9.03663, "b": 0.20573},
    "pressure_vessel": {"shell": 13, "head": 7, "radius": 42.098445, "length": 176.636597},
    "speed_reducer": {"b": 3.5, "m": 0.7, "z": 17, "l1": 7.3, "l2": 7.71532, "d1": 3.350215, "d2": 5.286655},
}
"""The best points in the literature, to a few digits."""


@pytest.mark.parametrize("name", list(BEST))
def test_problems_have_the_published_optimum(name: str) -> None:
    problem = PROBLEMS[name]
    value, measured = problem.evaluate(BEST[name], 0)
    assert value == pytest.approx(problem.minimum, rel=1e-3)
    assert {metric.name for metric in problem.metrics} == measured.keys()
    for metric in problem.metrics:
        assert metric.relative_violation(measured[metric.name]) <= 2e-3, metric.name


@pytest.mark.long
def test_short_run_produces_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.json"
    for seed in range(2):
        for method in ("auto", "cobyla", "tpe", "random"):
            job = metrics.Job("gramacy", method, seed, 25)
            run = job.run()
            assert len(run["best"]) == 25
            metrics.benchmark().keep(file, ("gramacy", method, seed), run)
    monkeypatch.setattr(
        metrics, "METHODS", {name: metrics.METHODS[name] for name in ("auto", "cobyla", "tpe", "random")}
    )
    arguments = ["--problems", "gramacy", "--seeds", "1", "--out", str(file)]
    assert metrics.benchmark().main(arguments) == 0, "all runs are complete"
    assert "mean rank" in capsys.readouterr().out
