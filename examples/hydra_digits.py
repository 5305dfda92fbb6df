"""Tunes a support vector machine on the digits with Hydra: the search space is in hydra_digits.yaml.

    python examples/hydra_digits.py --multirun hydra.sweeper.budget=30
    python examples/hydra_digits.py --multirun hydra.sweeper.local=study.db svm.kernel=rbf

The first needs a server (``make serve``), the second starts its own.
"""

import hydra
from omegaconf import DictConfig
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC


@hydra.main(version_base="1.3", config_path=".", config_name="hydra_digits")
def accuracy(config: DictConfig) -> float:
    """Return the mean accuracy over three folds, which the sweeper maximizes."""
    X, y = load_digits(return_X_y=True)
    return float(cross_val_score(SVC(**config.svm), X[:600], y[:600], cv=3).mean())


if __name__ == "__main__":
    accuracy()
