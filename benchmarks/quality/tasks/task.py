"""A tuning task: tuned on the validation rows, scored on the test rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, root_mean_squared_error, zero_one_loss

from adabkb_service.engine.space import Space
from benchmarks.quality.problems import Outcome, generator
from benchmarks.quality.tasks.data import Loader, Part, Split, split

Build = Callable[[Mapping[str, Any], int], Any]
"""(parameters, seed) -> an unfitted scikit-learn model."""
Loss = Callable[[Any, Part, Part], float]
"""(fitted model, rows, training rows) -> loss to minimize."""


def error_rate(model: Any, rows: Part, training: Part) -> float:
    """Share of wrong predictions."""
    del training
    return float(zero_one_loss(rows.y, model.predict(rows.X)))


def cross_entropy(model: Any, rows: Part, training: Part) -> float:
    """Mean negative log-likelihood of the classes."""
    del training
    return float(log_loss(rows.y, model.predict_proba(rows.X), labels=model.classes_))


def relative_rmse(model: Any, rows: Part, training: Part) -> float:
    """RMSE relative to that of the training mean, and at most 10, in case a model diverges."""
    constant = root_mean_squared_error(rows.y, np.full(len(rows.y), training.y.mean()))
    return min(float(root_mean_squared_error(rows.y, model.predict(rows.X)) / constant), 10.0)


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """A task with the split of one seed, which is the model's seed too."""

    space: Space
    rows: Split
    build: Build
    loss: Loss
    seed: int
    noise_std: float = 0.0

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """Train once, and return the validation loss and the test loss."""
        training = self.rows.training
        with warnings.catch_warnings():
            # The training time is a parameter, so models need not converge.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = self.build(parameters, self.seed).fit(training.X, training.y)
        value, score = (self.loss(model, part, training) for part in (self.rows.validation, self.rows.test))
        return Outcome(value, score)


@dataclass(frozen=True, slots=True)
class Task:
    """A model to tune on a data set."""

    name: str
    space: Space
    load: Loader
    training: int
    held_out: int
    """Number of validation rows, and of test rows."""
    build: Build
    loss: Loss
    budget: int = 50
    seeds: int = 10
    is_task: bool = True

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.space.dimension

    def draw(self, seed: int) -> TaskInstance:
        """The task on the seed's split."""
        rows = split(self.load, self.training, self.held_out, generator(self.name, seed))
        return TaskInstance(self.space, rows, self.build, self.loss, seed)
