"""Objectives that are written for Optuna, evaluated for a study on a server: its rule of early stopping takes the place
of a pruner."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import optuna
from optuna.trial import BaseTrial, FixedTrial

from adabkb_client import LeasedTrial


class ServedTrial(FixedTrial):
    """A trial of the server with the interface of Optuna's trials; it suggests the values chosen by the server."""

    def __init__(self, leased: LeasedTrial) -> None:
        super().__init__(leased.parameters, leased.number)
        self._leased = leased
        self._user_attrs = leased.attributes
        self.last = 0.0
        """The value reported last."""

    def report(self, value: float, step: int) -> None:
        """Report a value before the end, which the server answers by whether to stop.

        Raises:
            adabkb_client.Invalid: the step goes backwards, or is beyond ``max_steps`` of the study's early_stopping.
        """
        self.last = float(value)
        self._leased.report(step, self.last)

    def should_prune(self) -> bool:
        """Whether the rule of the study has stopped the trial at the last report."""
        return self._leased.should_stop()

    def set_user_attr(self, key: str, value: Any) -> None:
        """Set an attribute of the trial on the server."""
        super().set_user_attr(key, value)
        self._leased.annotate({key: value})


def served(objective: Callable[[BaseTrial], float]) -> Callable[[LeasedTrial], float]:
    """Make an objective of Optuna one for a study on a server: ``study.run(served(objective), pass_trial=True)``.

    ``trial.suggest_float`` and the others return the parameters of the trial, which the study declares under the same
    names. ``trial.report`` goes to the server, and ``trial.should_prune`` says what its rule decided. Where the
    objective raises ``optuna.TrialPruned`` then, the trial is stopped; where it does so by itself, the trial fails.

    Args:
        objective: takes a trial and returns one value.
    """

    @wraps(objective)
    def evaluate(leased: LeasedTrial) -> float:
        trial = ServedTrial(leased)
        try:
            return objective(trial)
        except optuna.TrialPruned:
            if not leased.should_stop():
                raise
            return trial.last  # of no consequence: the trial is over

    return evaluate
