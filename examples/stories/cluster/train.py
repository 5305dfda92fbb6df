"""Train a classifier of pulsars, and print its average precision on held-out candidates.

python train.py --learning-rate 0.1 --leaves 31 --penalty 1e-3
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

DATA = Path(__file__).parents[2] / "data" / "HTRU_2.csv.gz"


def precision(learning_rate: float, leaves: int, penalty: float, *, test: bool = False) -> float:
    """Return the average precision on the 20% of the candidates that are held out, or with ``test`` on the test set."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    x, x_test, y, y_test = train_test_split(
        table[:, :-1], table[:, -1], test_size=0.2, random_state=0, stratify=table[:, -1]
    )
    x, x_held_out, y, y_held_out = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    model = HistGradientBoostingClassifier(
        learning_rate=learning_rate, max_leaf_nodes=leaves, l2_regularization=penalty, max_iter=60, random_state=0
    ).fit(x, y)
    shown, truth = (x_test, y_test) if test else (x_held_out, y_held_out)
    return float(average_precision_score(truth, model.predict_proba(shown)[:, 1]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--leaves", type=int, required=True)
    parser.add_argument("--penalty", type=float, required=True)
    print(precision(**vars(parser.parse_args())))
