"""A script that uses Optuna."""

import optuna


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["plain", "deep"])
    if kind == "deep":
        return (x - 2) ** 2 + abs(trial.suggest_int("layers", 1, 8) - 3)
    return (x - 2) ** 2 + 1


study = optuna.create_study(direction="minimize", study_name="from-optuna")
study.optimize(objective, n_trials=10)
print(study.best_trial)
