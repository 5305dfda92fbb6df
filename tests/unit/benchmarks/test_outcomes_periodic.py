"""The benchmark of periodic parameters: a short run, and its functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.outcomes.periodic import PROBLEMS, benchmark


@pytest.mark.parametrize("name", PROBLEMS)
def test_functions_are_zero_at_their_minimum_and_periodic(name: str) -> None:
    dimension, function = PROBLEMS[name]
    assert function(np.zeros(dimension)) == pytest.approx(0.0, abs=1e-12)
    away = np.random.default_rng(0).uniform(-0.5, 0.5, (500, dimension))
    assert min(map(function, away)) >= 0.0
    turned = away + np.eye(dimension)[0]
    assert [function(each) for each in turned] == pytest.approx([function(each) for each in away])


@pytest.mark.long
def test_short_run_compares_both_declarations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--problems", "hour", "--seeds", "1", "--budget", "8", "--out", str(tmp_path / "out.json")]
    assert benchmark().main(arguments) == 0
    assert "Regret after 15 evaluations, 1 seeds" in capsys.readouterr().out
