"""The script optuna_before.py, with a study on a server."""

from adabkb_client import Client


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["plain", "deep"])
    if kind == "deep":
        return (x - 2) ** 2 + abs(trial.suggest_int("layers", 1, 8) - 3)
    return (x - 2) ** 2 + 1


study = Client().define_by_run("from-optuna", direction="minimize")
study.optimize(objective, n_trials=10)
print(study.best())
