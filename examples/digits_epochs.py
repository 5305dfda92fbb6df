"""Tune a network on scikit-learn's digits, an epoch a step; trials that fall behind are stopped (successive halving).

make serve  # in another terminal
.venv/bin/python examples/digits_epochs.py [full evaluations of the budget]
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from adabkb_client import AshaRule, Client, Float, Int, LeasedTrial, Parameter

EPOCHS = 27
SPACE: dict[str, Parameter] = {
    "rate": Float(1e-5, 1, log=True),
    "alpha": Float(1e-6, 10, log=True),
    "width": Int(4, 128, log=True),
}


def train(trial: LeasedTrial) -> float:
    """Train epoch by epoch, and report the validation loss after each."""
    parameters = trial.parameters
    model = MLPClassifier(
        (parameters["width"],), learning_rate_init=parameters["rate"], alpha=parameters["alpha"], random_state=0
    )
    loss = np.inf
    for epoch in range(1, EPOCHS + 1):
        model.partial_fit(X, y, classes=np.arange(10))
        loss = log_loss(y_validation, model.predict_proba(X_validation), labels=np.arange(10))
        trial.report(epoch, loss)
        if trial.should_stop():  # the trial is over: what is returned is of no consequence
            break
    return loss


def main(budget: int) -> None:
    rule: AshaRule = {"rule": "asha", "max_steps": EPOCHS, "eta": 3}
    with Client() as client:  # or Client.local("digits.db"), which needs no server
        study = client.create_study(None, SPACE, direction="minimize", budget=budget, early_stopping=rule)
        report = study.run(train, pass_trial=True)
        epochs = sum(trial.curve.step for trial in study.trials() if trial.curve)
        print(f"{report.completed} trials completed, {report.stopped} stopped: {epochs} of {budget * EPOCHS} epochs")
        best = study.best()
        if best is not None:
            print(f"best loss {best.value:.4f} at {dict(best.parameters)}")


if __name__ == "__main__":
    X, X_validation, y, y_validation = train_test_split(*load_digits(return_X_y=True), random_state=0)
    X, X_validation = X / 16, X_validation / 16
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 12)
