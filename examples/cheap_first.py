"""Tune gradient boosting on scikit-learn's digits within 20 seconds of training: small models first, as they cost less.

.venv/bin/python examples/cheap_first.py [seconds]
"""

import sys

from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

from adabkb_client import Client, Float, Int

IMAGES, DIGITS = load_digits(return_X_y=True)


def accuracy(rate: float, rounds: int, leaves: int) -> float:
    model = HistGradientBoostingClassifier(learning_rate=rate, max_iter=rounds, max_leaf_nodes=leaves, random_state=0)
    return float(cross_val_score(model, IMAGES[:600], DIGITS[:600], cv=2).mean())


def main(seconds: float) -> None:
    with Client() as client:
        study = client.create_study(
            "cheap-first",
            {
                "rate": Float(0.01, 1, log=True),
                "rounds": Int(2, 60, log=True),
                "leaves": Int(2, 31),
            },
            direction="maximize",
            seed=1,
            cost="measured",  # the seconds from the issue of a trial to its result
            budget={"cost": seconds},
            per_cost=True,
        )
        study.run(accuracy, progress=False)
        for trial in study.trials():
            cost = (trial.metrics or {})["cost"]
            print(
                f"trial {trial.number}: accuracy {trial.value:.4f} in {cost:.2f} s, {trial.parameters['rounds']} rounds"
            )
        info = study.info()
        assert info.best is not None
        print(f"spent {info.cost_spent:.1f} s, best {info.best.value:.4f} at {info.best.parameters}")


if __name__ == "__main__":
    main(seconds=float(sys.argv[1]) if len(sys.argv) > 1 else 20)
