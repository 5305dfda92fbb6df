"""Tune a support vector machine on scikit-learn's digits, with each trial as a run of MLflow.

make serve                               # in another terminal
.venv/bin/python examples/mlflow_digits.py [number of trials] [MLflow's tracking URI]
"""

import sys

import mlflow
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from adabkb_client import Client, Float
from adabkb_integrations.mlflow import MLflowCallback

IMAGES, DIGITS = load_digits(n_class=5, return_X_y=True)


def accuracy(C: float, gamma: float) -> float:
    return float(cross_val_score(SVC(C=C, gamma=gamma), IMAGES, DIGITS, cv=3).mean())


def main(trials: int, uri: str) -> None:
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("digits")
    with Client() as client, mlflow.start_run(run_name="search"):
        space = {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-6, 1e-1, log=True)}
        study = client.create_study("mlflow-digits", space, direction="maximize", seed=1)
        study.run(accuracy, n_trials=trials, callbacks=[MLflowCallback(metric="accuracy")])
        best = study.best()
        assert best is not None
        mlflow.log_metric("best_accuracy", best.value)
    print(f"best of {trials} trials: {best.value:.4f}; mlflow ui --backend-store-uri {uri} shows them")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else "sqlite:///mlflow.db")
