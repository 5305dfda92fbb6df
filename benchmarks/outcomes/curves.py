"""Training tasks that report intermediate values: the model, its search space, and its validation error per step.

A trial is trained only for the steps that are requested. Its values depend only on its parameters and on the seed of
the task.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from adabkb_service.engine.axes import FloatAxis, IntAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.tasks.data import Part, Split, casp, digits, magic, split

MAX_STEPS = 27
"""Steps of a full evaluation, for all tasks."""
WORST = 1e6
"""The value that a diverging training reports."""

Parameters = Mapping[str, Any]
Train = Callable[[Parameters, Split], Iterator[float]]
"""The validation error after each of the steps."""


@dataclass(frozen=True, slots=True)
class Task:
    """One training task."""

    space: Space
    data: Callable[[np.random.Generator], Split]
    train: Train

    def curves(self, seed: int) -> Callable[[Parameters], Iterator[float]]:
        """A function that trains with given parameters on the data of this seed."""
        drawn = self.data(np.random.default_rng(seed))
        return lambda parameters: self.train(parameters, drawn)


def _mlp(parameters: Parameters, data: Split) -> Iterator[float]:
    """The log loss of a network on the digits; a step is an epoch."""
    model = MLPClassifier(
        hidden_layer_sizes=(parameters["width"],),
        learning_rate_init=parameters["rate"],
        alpha=parameters["alpha"],
        batch_size=parameters["batch"],
        beta_1=1.0 - parameters["damping"],
        random_state=0,
    )
    yield from _by_epochs(model, data)


def _sgd(parameters: Parameters, data: Split) -> Iterator[float]:
    """The log loss of a linear classifier with random Fourier features, trained by SGD; a step is an epoch."""
    features = RBFSampler(gamma=parameters["gamma"], n_components=100, random_state=0).fit(data.training.X)
    parts = (data.training, data.validation, data.test)
    mapped = Split(*(Part(features.transform(part.X), part.y) for part in parts))
    model = SGDClassifier(
        loss="log_loss",
        penalty="elasticnet",
        alpha=parameters["alpha"],
        l1_ratio=parameters["l1_ratio"],
        learning_rate="invscaling",
        eta0=parameters["rate"],
        power_t=parameters["decay"],
        random_state=0,
    )
    yield from _by_epochs(model, mapped)


def _by_epochs(model: Any, data: Split) -> Iterator[float]:
    classes = np.unique(data.training.y)
    for _ in range(MAX_STEPS):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model.partial_fit(data.training.X, data.training.y, classes=classes)
                loss = log_loss(data.validation.y, model.predict_proba(data.validation.X), labels=classes)
            except ValueError:  # the training has diverged
                loss = np.inf
        yield min(float(loss), WORST) if np.isfinite(loss) else WORST


def _boosting(parameters: Parameters, data: Split) -> Iterator[float]:
    """The RMSE of gradient boosting, in standard deviations of the target; a step is three rounds."""
    model = GradientBoostingRegressor(
        learning_rate=parameters["rate"],
        max_depth=parameters["depth"],
        subsample=parameters["subsample"],
        min_samples_leaf=parameters["leaf"],
        max_features=parameters["features"],
        warm_start=True,
        n_estimators=1,
        random_state=0,
    )
    scale = float(np.std(data.training.y.astype(float)))
    for step in range(1, MAX_STEPS + 1):
        model.set_params(n_estimators=3 * step)
        model.fit(data.training.X, data.training.y)
        yield float(np.sqrt(np.mean((model.predict(data.validation.X) - data.validation.y) ** 2))) / scale


TASKS = {
    "digits, network": Task(
        Space(
            (
                FloatAxis("rate", 1e-5, 1.0, "log"),
                FloatAxis("alpha", 1e-6, 10.0, "log"),
                IntAxis("width", 4, 128, "log"),
                IntAxis("batch", 8, 256, "log"),
                FloatAxis("damping", 1e-3, 1.0, "log"),
            )
        ),
        lambda rng: split(digits, 800, 400, rng),
        _mlp,
    ),
    "magic, linear on features": Task(
        Space(
            (
                FloatAxis("alpha", 1e-8, 1.0, "log"),
                FloatAxis("rate", 1e-5, 10.0, "log"),
                FloatAxis("decay", 0.0, 1.0),
                FloatAxis("l1_ratio", 0.0, 1.0),
                FloatAxis("gamma", 1e-4, 10.0, "log"),
            )
        ),
        lambda rng: split(magic, 1200, 900, rng),
        _sgd,
    ),
    "casp, boosting": Task(
        Space(
            (
                FloatAxis("rate", 1e-3, 1.0, "log"),
                IntAxis("depth", 1, 8),
                FloatAxis("subsample", 0.1, 1.0),
                IntAxis("leaf", 1, 100, "log"),
                FloatAxis("features", 0.1, 1.0),
            )
        ),
        lambda rng: split(casp, 800, 800, rng),
        _boosting,
    ),
}
