"""Minimize a function of a real, an integer and a categorical parameter."""

from __future__ import annotations

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """The minimum is 0, at x = 2, 64 units and relu."""
    x = trial.suggest_float("x", -5.0, 5.0)
    units = trial.suggest_int("units", 8, 512, log=True)
    activation = trial.suggest_categorical("activation", ["relu", "tanh"])
    return (x - 2.0) ** 2 + abs(units - 64) / 64 + (activation == "tanh")


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/ada_bkb")
    study = optuna.create_study(sampler=module.AdaBKBSampler(seed=1))
    study.optimize(objective, n_trials=50)
    print(study.best_params, study.best_value)
