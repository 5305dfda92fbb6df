"""The benchmark of mixtures: a short run, and its formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.outcomes.mixtures import PROBLEMS, benchmark, ends, last_share, mixture
from benchmarks.quality.problems import generator


@pytest.mark.long
@pytest.mark.parametrize("name", ["blend of 3", "target of 7", "octane of 7", "blend, 3 of 7"])
def test_no_formula_is_better_than_the_known_best(name: str) -> None:
    formula = PROBLEMS[name]
    function = formula.make(generator(f"mixture {name}", 0), formula.components)
    best, usual = ends(formula, function)
    values = function(formula.simplex.drawn((5, 5), 50_000))
    assert values.max() <= best
    assert np.median(values) == pytest.approx(usual, abs=0.02 * (best - usual))


@pytest.mark.parametrize("solve", [mixture, last_share])
def test_both_declarations_evaluate_valid_formulas(solve: type) -> None:
    formula = PROBLEMS["blend, 3 of 7"]
    shares = solve(formula, formula.make(generator("mixture", 0), 7), 0, 6)
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert ((shares > 1e-9).sum(axis=1) <= 3).all()
    assert ((shares < 1e-9) | (shares > 0.05 - 1e-9)).all()


@pytest.mark.long
def test_short_run_compares_the_declarations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--problems", "blend of 3", "--seeds", "1", "--budget", "6", "--out", str(tmp_path / "out.json")]
    assert benchmark().main(arguments) == 0
    assert "Regret after 15 evaluations, 1 seeds" in capsys.readouterr().out
