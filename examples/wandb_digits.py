"""Tune a support vector machine on scikit-learn's digits, with each trial as a run of Weights & Biases.

make serve                               # in another terminal
WANDB_MODE=offline .venv/bin/python examples/wandb_digits.py [number of trials]
"""

import sys

from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from adabkb_client import Client, Float
from adabkb_integrations.wandb import WandbCallback

IMAGES, DIGITS = load_digits(n_class=5, return_X_y=True)


def accuracy(C: float, gamma: float) -> float:
    return float(cross_val_score(SVC(C=C, gamma=gamma), IMAGES, DIGITS, cv=3).mean())


def main(trials: int) -> None:
    with Client() as client:
        space = {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-6, 1e-1, log=True)}
        study = client.create_study("wandb-digits", space, direction="maximize", seed=1)
        study.run(accuracy, n_trials=trials, callbacks=[WandbCallback("digits", metric="accuracy")])
        best = study.best()
    assert best is not None
    print(f"best of {trials} trials: {best.value:.4f}")


if __name__ == "__main__":
    main(trials=int(sys.argv[1]) if len(sys.argv) > 1 else 20)
