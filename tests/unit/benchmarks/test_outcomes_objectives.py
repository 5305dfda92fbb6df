"""The benchmark of several objectives: a short run produces a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.outcomes import objectives
from benchmarks.outcomes.objective_problems import PROBLEMS


@pytest.mark.parametrize(
    ("name", "point", "values"),
    [
        ("zdt1", {f"x{k}": 0.25 if k == 1 else 0.0 for k in range(1, 7)}, (0.25, 0.5)),
        ("zdt2", {f"x{k}": 0.5 if k == 1 else 0.0 for k in range(1, 7)}, (0.5, 0.75)),
        ("dtlz2", {f"x{k}": 0.0 if k < 3 else 0.5 for k in range(1, 7)}, (1.0, 0.0, 0.0)),
        ("branin_currin", {"x1": 0.0, "x2": 0.0}, (308.129, 3.0)),
        ("vehicle_safety", dict.fromkeys("abcde", 1.0), (1661.7078, 8.3046, 0.0708)),
    ],
)
def test_problems_return_known_values(name: str, point: dict[str, float], values: tuple[float, ...]) -> None:
    problem = PROBLEMS[name]
    assert problem.evaluate(point) == pytest.approx(values, rel=1e-5, abs=1e-6)
    assert len(problem.objectives) == len(values)


def test_short_run_produces_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, methods = tmp_path / "runs.json", ("auto", "tpe", "nsga2", "random")
    monkeypatch.setattr(objectives, "BUDGETS", (12,))
    monkeypatch.setattr(objectives, "METHODS", {name: objectives.METHODS[name] for name in methods})
    for method in methods:
        job = objectives.Job("branin_currin", method, 0, 12)
        run = job.run()
        assert run["volumes"] == sorted(run["volumes"])
        assert len(run["volumes"]) == 12
        objectives.benchmark().keep(file, ("branin_currin", method, 0), run)
    arguments = ["--problems", "branin_currin", "--seeds", "1", "--out", str(file)]
    assert objectives.benchmark().main(arguments) == 0, "all runs are complete"
    assert "Score after 12 evaluations, 1 seeds" in capsys.readouterr().out
