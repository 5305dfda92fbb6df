"""Tune a network of at most 5,000 weights on scikit-learn's digits: a constraint on its widths.

.venv/bin/python examples/constrained_network.py [number of trials]
"""

import sys
import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier

from adabkb_client import Float, Int, Parameter
from adabkb_integrations.inprocess import maximize

IMAGES, DIGITS = load_digits(return_X_y=True)
WEIGHTS = "64 * first + first * second + second * 10"


def accuracy(first: int, second: int, rate: float) -> float:
    network = MLPClassifier((first, second), learning_rate_init=rate, max_iter=8, random_state=0)
    return float(cross_val_score(network, IMAGES / 16, DIGITS, cv=2).mean())


def main(budget: int) -> None:
    space: dict[str, Parameter] = {
        "first": Int(4, 256, log=True),
        "second": Int(4, 256, log=True),
        "rate": Float(1e-4, 1e-1, log=True),
    }
    found = maximize(accuracy, space, budget, constraints=[f"{WEIGHTS} <= 5000"], seed=1, progress=False)
    for trial in found.trials:
        first, second = trial.parameters["first"], trial.parameters["second"]
        print(f"{64 * first + first * second + second * 10} weights, accuracy {trial.value:.4f}")
    print(f"best of {budget} trials: {found.value:.4f} at {found.parameters}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
