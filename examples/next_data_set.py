"""Tune a support vector machine on one set of images, then on another set, with the results of the first study.

.venv/bin/python examples/next_data_set.py [number of trials of the first study]
"""

import sys

from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from adabkb_client import Client, Float, Study

IMAGES, DIGITS = load_digits(return_X_y=True)
HALF = len(IMAGES) // 2
SPACE = {"C": Float(1e-3, 1e4, log=True), "gamma": Float(1e-7, 1e1, log=True)}


def tune(study: Study, images: slice) -> None:
    def accuracy(C: float, gamma: float) -> float:
        return float(cross_val_score(SVC(C=C, gamma=gamma), IMAGES[images], DIGITS[images], cv=2).mean())

    study.run(accuracy, progress=False)
    values = ", ".join(f"{trial.value:.3f}" for trial in study.trials())
    print(f"{study.id}: {values}")


def main(budget: int) -> None:
    with Client() as client:
        first = client.create_study("first-half", SPACE, direction="maximize", budget=budget, seed=1)
        tune(first, slice(0, HALF))
        second = client.create_study(
            "second-half", SPACE, direction="maximize", budget=5, seed=1, transfer_from=["first-half"]
        )
        tune(second, slice(HALF, None))
        decision = second.why(2)["decision"]
        assert decision is not None
        print(decision["in_words"])
        best = second.best()
        assert best is not None
        print(f"best: {best.value:.4f} at {best.parameters}")


if __name__ == "__main__":
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 20)
