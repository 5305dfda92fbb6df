"""The benchmark of priors: a short run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.outcomes.priors import benchmark


@pytest.mark.long
def test_short_run_compares_the_priors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--problems", "Hartmann_6", "--seeds", "1", "--budget", "10", "--out", str(tmp_path / "out.json")]
    assert benchmark().main(arguments) == 0
    assert "after 10 without a prior, 1 seeds" in capsys.readouterr().out
