"""The benchmark of conditional parameters: a short run, and its functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from adabkb_service.engine.slices import Slice
from benchmarks.outcomes.conditional_problems import REAL, SYNTHETIC
from benchmarks.outcomes.conditions import run


@pytest.mark.parametrize("name", SYNTHETIC)
def test_no_value_is_below_the_minimum(name: str) -> None:
    instance = SYNTHETIC[name].draw(0)
    positions = np.random.default_rng(0).random((2000, instance.space.dimension))
    values = [instance.evaluate(instance.space.decode(u)).value for u in positions]
    assert 0.0 <= min(values) < 0.5
    assert Slice(instance.space, {}).size == np.inf


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_all_parameters_give_a_valid_model(name: str) -> None:
    instance = REAL[name].draw(0)
    positions = np.random.default_rng(0).random((12, instance.space.dimension))
    assert all(0.0 <= instance.evaluate(instance.space.decode(u)).value <= 10.0 for u in positions)


@pytest.mark.long
def test_short_run_compares_the_methods(tmp_path: Path) -> None:
    app = Typer()
    app.command()(run)
    arguments = ["--problems", "branches", "--seeds", "1", "--budget", "50", "--methods", "auto,tpe,random"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    (ranks,) = (line for line in result.output.splitlines() if line.startswith("mean rank"))
    assert ranks.split()[2] == "1.00"
