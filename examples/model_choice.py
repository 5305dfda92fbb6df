"""Choose between models, each with its own parameters, on scikit-learn's breast cancer data.

make serve                               # in another terminal
.venv/bin/python examples/model_choice.py [number of trials]
"""

import sys
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from adabkb_client import Categorical, Client, Float, Int, Parameter

FEATURES, DIAGNOSES = load_breast_cancer(return_X_y=True)
MODELS = {"svm": SVC, "forest": RandomForestClassifier, "neighbors": KNeighborsClassifier}
SPACE: dict[str, Parameter] = {
    "model": Categorical(list(MODELS)),
    "C": Float(1e-3, 1e3, log=True, when={"model": ["svm"]}),
    "kernel": Categorical(["rbf", "poly", "linear"], when={"model": ["svm"]}),
    "gamma": Float(1e-5, 10, log=True, when={"kernel": ["rbf", "poly"]}),
    "degree": Int(2, 5, when={"kernel": ["poly"]}),
    "n_estimators": Int(5, 100, log=True, when={"model": ["forest"]}),
    "max_features": Float(0.05, 1, when={"model": ["forest"]}),
    "n_neighbors": Int(1, 30, when={"model": ["neighbors"]}),
    "weights": Categorical(["uniform", "distance"], when={"model": ["neighbors"]}),
}


def accuracy(model: str, **own: Any) -> float:
    """A trial has the parameters of its model, and no others."""
    estimator = make_pipeline(StandardScaler(), MODELS[model](**own))
    return float(cross_val_score(estimator, FEATURES, DIAGNOSES, cv=3).mean())


def main(budget: int) -> None:
    with Client() as client:
        study = client.create_study(f"model-choice-{budget}", SPACE, direction="maximize", budget=budget, seed=1)
        report = study.run(accuracy, workers=2)
        best = report.recommendation.observed
        assert best is not None
        print(f"{report.completed} trials; best {best.value:.4f} by {best.parameters}")


if __name__ == "__main__":
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
