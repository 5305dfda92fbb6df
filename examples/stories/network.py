"""Tune a network that reads digits, with a process for each GPU of this machine.

python examples/stories/network.py [full trainings of the budget] [GPUs, such as 0,1]

The network is scikit-learn's, which computes on the CPU. With PyTorch, change only `train`, and use the device
`cuda:0`: each process sees one GPU.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from adabkb_client import Client, Float, Int, LeasedTrial, Study

EPOCHS = 27
DEFINITION: dict[str, Any] = {
    "parameters": {
        "rate": Float(1e-5, 1, log=True),
        "alpha": Float(1e-6, 10, log=True),
        "width": Int(4, 128, log=True),
    },
    "direction": "minimize",
    "early_stopping": {"rule": "asha", "max_steps": EPOCHS, "eta": 3},
}
IMAGES, DIGITS = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(IMAGES / 16, DIGITS, test_size=0.2, random_state=0)
X, X_validation, y, y_validation = train_test_split(X, y, test_size=0.25, random_state=0)


def network(rate: float, alpha: float, width: int) -> MLPClassifier:
    return MLPClassifier((width,), learning_rate_init=rate, alpha=alpha, random_state=0)


def train(trial: LeasedTrial) -> float:
    """Train epoch by epoch, and report the validation loss after each."""
    trial.annotate({"gpu": os.environ.get("CUDA_VISIBLE_DEVICES")})
    model, loss = network(**trial.parameters), np.inf
    with threadpool_limits(1):  # the processes share the cores
        for epoch in range(1, EPOCHS + 1):
            model.partial_fit(X, y, classes=np.arange(10))
            loss = float(log_loss(y_validation, model.predict_proba(X_validation), labels=np.arange(10)))
            if trial.report(epoch, loss):  # the trial is stopped, and this value is ignored
                break
    return loss


def test_accuracy(parameters: dict[str, Any]) -> float:
    """Return the share of the test images that a network with these parameters reads correctly."""
    model = network(**parameters)
    for _ in range(EPOCHS):
        model.partial_fit(X, y, classes=np.arange(10))
    return float(model.score(X_test, y_test))


def gpus_of_this_machine() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()


def tune(client: Client, budget: int, gpus: Sequence[str], function: Callable[[LeasedTrial], float] = train) -> Study:
    print(f"GPUs: {', '.join(gpus)}" if gpus else "No GPU found: two processes share the CPU.")
    study = client.create_study("digits-network", **DEFINITION, budget=budget, seed=1, update=True)
    report = study.run(function, pass_trial=True, processes=True, workers=len(gpus) or 2, gpus=list(gpus) or None)
    epochs = sum(trial.curve.step for trial in study.trials() if trial.curve)
    print(f"{report.completed} completed, {report.stopped} stopped, {report.failed} failed; {epochs} epochs")
    best = study.best()
    assert best is not None
    print(f"Best validation loss {best.value:.3f} at {dict(best.parameters)}")
    print(f"Test accuracy {test_accuracy(dict(best.parameters)):.1%}")
    return study


if __name__ == "__main__":
    budget = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    gpus = sys.argv[2].split(",") if len(sys.argv) > 2 else gpus_of_this_machine()
    with Client.local("network.db") as client:
        tune(client, budget, gpus)
