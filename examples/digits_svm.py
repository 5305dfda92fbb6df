"""Tune C and gamma of a support vector machine on scikit-learn's digits, two evaluations at a time.

make serve                               # in another terminal
.venv/bin/python examples/digits_svm.py [number of trials]
"""

import sys

from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from adabkb_client import Client, Float

IMAGES, DIGITS = load_digits(return_X_y=True)


def accuracy(C: float, gamma: float) -> float:
    return float(cross_val_score(SVC(C=C, gamma=gamma), IMAGES, DIGITS, cv=3).mean())


def main(budget: int) -> None:
    with Client() as client:
        study = client.create_study(
            f"digits-svm-{budget}",
            {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-6, 1e-1, log=True)},
            direction="maximize",
            budget=budget,
            seed=1,
        )
        report = study.run(accuracy, workers=2)
        print(f"{report.completed} trials evaluated here; the study ended ({report.reason})")
        model, observed = report.recommendation.model, report.recommendation.observed
        assert model is not None
        assert observed is not None
        print("recommended by the model:", model.parameters)
        measured = accuracy(**model.parameters)
        print(f"  accuracy by the model {model.mean:.4f} ± {model.std:.4f}, measured {measured:.4f}")
        print(f"best observed: {observed.value:.4f} in trial {observed.trial} at {observed.parameters}")


if __name__ == "__main__":
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
