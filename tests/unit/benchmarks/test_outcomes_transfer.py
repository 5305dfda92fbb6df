"""The benchmark of older studies: a short run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.outcomes.transfer import benchmark


@pytest.mark.long
def test_short_run_compares_older_studies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--problems", "Trid_2", "--seeds", "1", "--budget", "10", "--out", str(tmp_path / "out.json")]
    assert benchmark().main(arguments) == 0
    assert "after 10 without an older study, functions, 1 seeds" in capsys.readouterr().out
