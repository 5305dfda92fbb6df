"""Tune a small network on scikit-learn's digits, with a prior for the learning rate, the width and the activation.

.venv/bin/python examples/known_rates.py [number of trials]
"""

import sys
import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier

from adabkb_client import Categorical, Client, Float, Int

IMAGES, DIGITS = load_digits(return_X_y=True)


def accuracy(rate: float, width: int, activation: str) -> float:
    network = MLPClassifier((width,), activation=activation, learning_rate_init=rate, max_iter=8, random_state=0)
    return float(cross_val_score(network, IMAGES / 16, DIGITS, cv=2).mean())


def main(budget: int) -> None:
    with Client() as client:
        study = client.create_study(
            "known-rates",
            {
                "rate": Float(1e-5, 1, log=True),
                "width": Int(4, 256),
                "activation": Categorical(["identity", "relu", "tanh"]),
            },
            direction="maximize",
            budget=budget,
            seed=1,
            prior={
                "rate": {"around": 1e-2, "factor": 3},  # the optimum is probably within a factor of three
                "width": {"around": 128, "width": 64},
                "activation": {"weights": {"relu": 3, "tanh": 3}},  # each three times as likely as identity
            },
        )
        study.run(accuracy, progress=False)
        for trial in study.trials():
            print(f"trial {trial.number}: accuracy {trial.value:.4f} at rate {trial.parameters['rate']:.2g}")
        best = study.best()
        assert best is not None
        print(f"best: {best.value:.4f} at {best.parameters}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 20)
