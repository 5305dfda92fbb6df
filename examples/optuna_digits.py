"""Choose between two models of scikit-learn's digits, and tune the chosen one, in a study of Optuna.

.venv/bin/python examples/optuna_digits.py [number of trials]
"""

import sys

import optuna
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from adabkb_integrations.optuna import AdaBKBSampler

IMAGES, DIGITS = load_digits(n_class=5, return_X_y=True)


def accuracy(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["ridge", "svm"]) == "ridge":
        model = RidgeClassifier(alpha=trial.suggest_float("alpha", 1e-4, 1e4, log=True))
    else:
        C, gamma = trial.suggest_float("C", 1e-2, 1e3, log=True), trial.suggest_float("gamma", 1e-6, 1e-1, log=True)
        model = SVC(C=C, gamma=gamma)
    return float(cross_val_score(model, IMAGES, DIGITS, cv=3).mean())


def main(trials: int) -> None:
    study = optuna.create_study(direction="maximize", sampler=AdaBKBSampler(seed=1))
    study.optimize(accuracy, n_trials=trials)
    print(f"best of {trials} trials: {study.best_value:.4f} at {study.best_params}")


if __name__ == "__main__":
    main(trials=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
