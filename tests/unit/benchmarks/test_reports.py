"""A short run of the benchmark of intermediate results."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.outcomes import reports
from benchmarks.outcomes.curves import MAX_STEPS, TASKS


@pytest.mark.long
def test_all_methods_use_the_budget_and_stopped_trials_cost_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EVALUATIONS", 3)
    monkeypatch.setattr(reports, "SEEDS", 1)
    out, task = tmp_path / "reports.json", "magic, linear on features"
    trained = reports.Training(TASKS[task], 0)
    with pytest.raises(reports.UsedUp):
        reports.METHODS["auto, asha"](trained)
    assert len(trained.best) == 3 * MAX_STEPS
    for method in ("auto", "auto, asha", "tpe, hyperband"):
        job = reports.Job(task, method, 0)
        run = job.run()
        assert len(run["best"]) == 3
        reports.benchmark().keep(out, (task, method, 0), run)
    (table,) = reports.tables(out)
    assert table.title.endswith("1 problems, 1 seeds")
    assert [row[0] for row in table.rows] == ["auto", "auto, asha", "tpe, hyperband"]
