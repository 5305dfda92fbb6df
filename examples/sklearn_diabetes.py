"""Tune a support vector machine on scikit-learn's diabetes data, and compare with a random search of the same size.

.venv/bin/python examples/sklearn_diabetes.py [number of candidates]
"""

import sys

from scipy.stats import loguniform, uniform
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from adabkb_integrations.sklearn import AdaBKBSearchCV

SPACE = {"svr__C": loguniform(1e-3, 1e4), "svr__gamma": loguniform(1e-6, 10), "svr__epsilon": uniform(0, 50)}


def main(candidates: int) -> None:
    X, y = load_diabetes(return_X_y=True)
    for kind in (AdaBKBSearchCV, RandomizedSearchCV):
        search = kind(make_pipeline(StandardScaler(), SVR()), SPACE, n_iter=candidates, random_state=1).fit(X, y)
        print(f"{kind.__name__}: R2 {search.best_score_:.4f} at {search.best_params_}")


if __name__ == "__main__":
    main(candidates=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
