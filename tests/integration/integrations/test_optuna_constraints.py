"""Constraints on parameters in Optuna's studies: no suggested point violates them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import optuna

from adabkb_integrations.optuna import AdaBKBSampler

RULES = ["x + y <= 1", "not (model == 'deep' and x > 0.3)", "batch * x <= 10"]


def objective(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    batch = trial.suggest_categorical("batch", [16, 32, 64])
    if trial.suggest_categorical("model", ["plain", "deep"]) == "deep":
        layers = trial.suggest_int("layers", 1, 8)
        return (x - 0.9) ** 2 + (y - 0.9) ** 2 + layers / 100
    return (x - 0.9) ** 2 + (y - 0.9) ** 2 + batch / 1000


def run(sampler: AdaBKBSampler, count: int) -> list[dict[str, Any]]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=count)
    return [trial.params for trial in study.trials]


def test_no_point_violates_the_constraints() -> None:
    for params in run(AdaBKBSampler(seed=2, constraints=[*RULES, "layers <= 5"]), 20):
        assert params["x"] + params["y"] <= 1.0
        assert params["model"] == "plain" or params["x"] <= 0.3
        assert params["batch"] * params["x"] <= 10.0
        assert params.get("layers", 1) <= 5


@pytest.mark.long
def test_search_finds_the_best_point_at_the_boundary() -> None:
    best = min(run(AdaBKBSampler(seed=1, constraints=["x + y <= 1"]), 25), key=lambda each: -each["x"] - each["y"])
    assert best["x"] + best["y"] > 0.97


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("x <= 1", "constraints must be a list of strings"),
        (["x <="], "constraints: 'x <=' column"),
        (["x => 1"], "write >="),
    ],
)
def test_invalid_constraints_are_rejected(constraints: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        AdaBKBSampler(constraints=constraints)


@pytest.mark.parametrize(
    ("constraints", "message"), [(["model != 'depp'"], "is not a value of 'model'"), (["x >= 2"], "no point satisfies")]
)
def test_infeasible_constraints_are_named_when_sampling(constraints: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(AdaBKBSampler(seed=1, constraints=constraints), 5)
