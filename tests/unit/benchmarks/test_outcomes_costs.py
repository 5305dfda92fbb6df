"""The benchmark of costs: a short run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.outcomes.costs import benchmark, costs


def test_costs_vary_by_a_factor_of_ten() -> None:
    cost_at = costs("Branin", 0, 2)
    found = [cost_at(np.array(corner)) for corner in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))]
    assert [min(found), max(found)] == pytest.approx([1.0, 10.0])


@pytest.mark.long
def test_short_run_compares_the_methods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--problems", "Branin", "--seeds", "1", "--budget", "20", "--out", str(tmp_path / "out.json")]
    assert benchmark().main(arguments) == 0
    assert "geometric mean" in capsys.readouterr().out
