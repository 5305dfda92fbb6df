"""Mixtures in the client, in ``minimize`` and from the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adabkb_client import Categorical, Client, Float, Invalid, Mixture
from adabkb_integrations.inprocess import maximize, minimize
from adabkb_service.cli.main import app

SPACE = {"water": Float(0, 1), "ethanol": Float(0, 1), "glycerol": Float(0, 0.5), "heat": Float(20, 80)}
MIXTURE = Mixture(parameters=["water", "ethanol", "glycerol"], at_most=2, least=0.1)


def loss(water: float, ethanol: float, glycerol: float, heat: float) -> float:
    assert water + ethanol + glycerol == pytest.approx(1.0, abs=1e-12)
    assert sum(share > 0 for share in (water, ethanol, glycerol)) <= 2
    return (water - 0.7) ** 2 + (heat / 100 - 0.5) ** 2


def test_a_study_of_the_client_has_a_mixture(server: str) -> None:
    with Client(server) as client:
        study = client.create_study("blend", SPACE, direction="minimize", budget=8, seed=3, mixtures=[MIXTURE])
        (declared,) = study.info().mixtures
        assert declared == {**MIXTURE, "total": 1.0}
        report = study.run(loss, progress=False)
        assert report.completed == 8
        with pytest.raises(Invalid, match=r"sum to 1\.1, not to 1 \(within 1e-06\)"):
            study.add_result({"water": 0.5, "ethanol": 0.6, "glycerol": 0, "heat": 50}, 1.0)
        with pytest.raises(Invalid, match=r"must be at most 2\.5, the sum"):
            client.create_study("too-much", SPACE, direction="minimize", mixtures=[{**MIXTURE, "total": 3}])


@pytest.mark.long
def test_minimize_evaluates_the_points_of_a_study_with_the_same_seed(server: str) -> None:
    found = minimize(loss, SPACE, 8, seed=3, progress=False, mixtures=[MIXTURE])
    with Client(server) as client:
        study = client.create_study("same", SPACE, direction="minimize", budget=8, seed=3, mixtures=[MIXTURE])
        study.run(loss, progress=False)
        points = [trial.parameters for trial in study.trials(state="completed")]
    assert sorted(json.dumps(point) for point in points) == sorted(
        json.dumps(dict(trial.parameters)) for trial in found.trials
    )


@pytest.mark.long
def test_maximize_takes_mixtures_beside_constraints_and_choices() -> None:
    found = maximize(
        lambda ethanol, mill, **_: ethanol - (mill == "ball"),
        {**SPACE, "mill": Categorical(["ball", "jet"])},
        12,
        seed=1,
        progress=False,
        mixtures=[MIXTURE],
        constraints=["ethanol <= 0.5 + heat / 200"],
    )
    assert found.best is not None
    assert found.best.value == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("mixtures", "error", "sentence"),
    [
        ([{"parameters": ["water", "watr"]}], ValueError, r"mixtures\[0\]\['parameters'\]\[1\]: 'watr' is not a param"),
        ([{"parameters": ["water", "heat"]}], ValueError, r"mixtures\[0\]\['total'\]: must be at least 20"),
        ([{"parameters": ["water", "ethanol"], "total": 0}], ValueError, "total and at_most must be positive"),
        ([{"names": ["water", "ethanol"]}], TypeError, r"mixtures\[0\] must be a dict such as"),
        (MIXTURE, TypeError, "must be a list of mixtures"),
    ],
)
def test_what_is_no_mixture_is_refused_by_minimize(
    mixtures: list[Mixture], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        minimize(loss, SPACE, 2, progress=False, mixtures=mixtures)


def test_the_command_creates_and_shows_a_study_with_a_mixture(server: str, tmp_path: Path) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("water", "ethanol", "glycerol")]
    definition = {"id": "gel", "direction": "minimize", "parameters": parameters, "mixtures": [MIXTURE]}
    (tmp_path / "gel.json").write_text(json.dumps(definition))
    run = CliRunner().invoke
    assert run(app, ["study", "create", str(tmp_path / "gel.json"), "--url", server]).exit_code == 0
    shown = run(app, ["study", "show", "gel", "--url", server])
    assert "mixture: water + ethanol + glycerol = 1, at most 2 above 0, each 0 or at least 0.1" in shown.output
