"""The sampler with beliefs, earlier studies and periodic parameters: the points are those of ``minimize``."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import optuna
import pytest

from adabkb_client import Categorical, Float, Parameter
from adabkb_integrations.inprocess import minimize
from adabkb_integrations.optuna import AdaBKBSampler

pytestmark = pytest.mark.usefixtures("quiet_optuna")

KINDS = ["a", "b", "c"]
SPACE: dict[str, Parameter] = {
    "angle": Float(0, 360, periodic=True),
    "kind": Categorical(KINDS),
    "rate": Float(1e-3, 1, log=True),
}
PRIOR: dict[str, Any] = {
    "angle": {"around": 350, "width": 40},
    "kind": {"weights": {"b": 5}},
    "rate": {"around": 0.01, "factor": 3},
}


def value(angle: float, kind: str, rate: float) -> float:
    return float(-np.cos(np.radians(angle - 15)) + (kind != "b") * 0.3 + (np.log10(rate) + 1.5) ** 2 / 5)


def objective(trial: optuna.Trial) -> float:
    angle = trial.suggest_float("angle", 0, 360)
    kind = trial.suggest_categorical("kind", KINDS)
    return value(angle, kind, trial.suggest_float("rate", 1e-3, 1, log=True))


def run(trials: int, first: Any = None, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, **options))
    if first is not None:
        study.enqueue_trial(dict(first))
    study.optimize(objective, n_trials=trials)
    return study


def points(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def test_a_periodic_parameter_is_modelled_as_by_minimize() -> None:
    found = minimize(value, SPACE, 10, seed=1, progress=False)
    expected = [dict(trial.parameters) for trial in found.trials]
    assert points(run(10, expected[0], periodic=["angle"])) == expected
    assert points(run(10, expected[0])) != expected


def test_earlier_studies_are_used_as_by_minimize() -> None:
    """Results outside the new space are left out."""
    before = minimize(value, {**SPACE, "kind": Categorical([*KINDS, "d"])}, 15, seed=5, progress=False)
    earlier = optuna.create_study()
    for trial in before.trials:
        ranges: dict[str, optuna.distributions.BaseDistribution] = {
            "angle": optuna.distributions.FloatDistribution(0, 360),
            "kind": optuna.distributions.CategoricalDistribution([*KINDS, "d"]),
            "rate": optuna.distributions.FloatDistribution(1e-3, 1, log=True),
        }
        given = dict(trial.parameters)
        earlier.add_trial(optuna.trial.create_trial(params=given, distributions=ranges, value=trial.value))
    found = minimize(value, SPACE, 6, seed=1, transfer_from=[before], progress=False)
    study = run(6, found.trials[0].parameters, transfer_from=[earlier], periodic=["angle"])
    assert points(study) == [dict(trial.parameters) for trial in found.trials]
    assert points(study) != points(run(6, found.trials[0].parameters, periodic=["angle"]))


@pytest.mark.long
def test_the_search_begins_where_the_user_believes_the_optimum_to_be() -> None:
    """A pickled sampler knows the beliefs, too."""
    study = run(8, prior=PRIOR, periodic=["angle"])
    first = study.trials[0].params
    assert (first["angle"], first["kind"]) == (pytest.approx(350), "b")
    assert first["rate"] == pytest.approx(0.01)
    without = run(8, first, periodic=["angle"])
    assert points(study) != points(without)
    kinds = [trial.params["kind"] for trial in study.trials]
    assert kinds.count("b") > [trial.params["kind"] for trial in without.trials].count("b")
    copied = optuna.create_study(
        sampler=pickle.loads(pickle.dumps(AdaBKBSampler(seed=1, prior=PRIOR, periodic=["angle"])))
    )
    copied.optimize(objective, n_trials=8)
    assert points(copied) == points(study)


def test_beliefs_apply_in_each_branch_that_has_the_parameter() -> None:
    def branching(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["x", "y"]) == "x":
            return trial.suggest_float("x", 0, 1)
        return trial.suggest_float("y", 0, 1) + 0.5

    prior: dict[str, Any] = {"x": {"around": 0.9, "width": 0.05}, "y": {"around": 0.1, "width": 0.05}}
    study = optuna.create_study(sampler=AdaBKBSampler(seed=1, prior=prior))
    study.optimize(branching, n_trials=12)
    assert len(study.trials) == 12


def test_what_does_not_fit_is_refused_by_name() -> None:
    few = optuna.create_study()
    few.optimize(objective, n_trials=3)
    with pytest.raises(ValueError, match=r"transfer_from\[0\] has 3 complete trials, and 4 are needed"):
        AdaBKBSampler(transfer_from=[few])
    with pytest.raises(TypeError, match=r"transfer_from must be a list of studies of Optuna"):
        AdaBKBSampler(transfer_from=few)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="periodic must be a list of names"):
        AdaBKBSampler(periodic="angle")
    several = optuna.create_study(directions=["minimize"] * 2)
    several.optimize(lambda trial: (trial.suggest_float("angle", 0, 1), 0.0), n_trials=4)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"periodic": ["rate"]}, "periodic: parameter 'rate' must be a float without log and step"),
        ({"prior": {"angle": {"around": 400, "width": 1}}}, r"prior\['angle'\]: around is 400.0, outside"),
        ({"transfer_from": [several]}, r"transfer_from\[0\] has 2 objectives, but this study has 1"),
    ]
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            run(2, **options)
