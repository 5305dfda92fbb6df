"""The benchmark of plates: a short run, and its plates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from benchmarks.outcomes.plates import SHARED, SIZE, benchmark, chosen, drawn
from benchmarks.quality.nature.descriptors import ARYLATION


@pytest.mark.parametrize("kind", SHARED)
def test_wells_of_a_plate_differ_but_share_the_plate_parameters(kind: str) -> None:
    space, names = ARYLATION.draw(0).space, SHARED[kind]
    for points in (chosen(auto.start(space, Config(), 0), names), drawn(space, names, np.random.default_rng(0))):
        wells = [space.decode(point) for point in points]
        assert len({str(well) for well in wells}) == SIZE
        assert all(len({well[name] for well in wells}) == 1 for name in names)


@pytest.mark.long
def test_short_run_compares_the_methods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--problems",
        "apart, offsets of 5",
        "--seeds",
        "1",
        "--budget",
        "2",
        "--out",
        str(tmp_path / "out.json"),
    ]
    assert benchmark().main(arguments) == 0
    assert "Yield of the recommended point after 2 plates" in capsys.readouterr().out
