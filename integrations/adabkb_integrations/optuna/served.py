"""Run objectives written for Optuna in a study on a server. The early-stopping rule of the study replaces the
pruner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from optuna.trial import BaseTrial, FixedTrial

from adabkb_client import LeasedTrial


class ServedTrial(FixedTrial):
    """A trial of a study, with the interface of an Optuna trial. Its ``suggest_`` methods return the values that the
    server chose."""

    def __init__(self, leased: LeasedTrial) -> None:
        super().__init__(leased.parameters, leased.number)
        self._leased = leased
        self._user_attrs = leased.attributes

    def report(
        self, value: float, step: int, *, cost: float | None = None, parameters: Mapping[str, Any] | None = None
    ) -> None:
        """Report an intermediate value; the server answers whether to stop.

        Args:
            value: the value of the objective after this step.
            step: the number of steps done so far.
            cost: what the evaluation has cost so far, in a study with ``cost="told"``.
            parameters: the values so far of the context parameters that are measured with the result.

        Raises:
            adabkb_client.Invalid: the step is smaller than that of the previous report, or exceeds ``max_steps`` of the
                study's early_stopping.
            adabkb_client.Conflict: another value was reported at this step, this attempt has lost its lease, or the
                trial has ended.
        """
        self._leased.report(step, float(value), cost=cost, parameters=parameters)

    def should_prune(self) -> bool:
        """Return whether the study's rule stopped the trial at the last report."""
        return self._leased.should_stop

    def set_user_attr(self, key: str, value: Any) -> None:
        """Set an attribute of the trial on the server."""
        super().set_user_attr(key, value)
        self._leased.annotate({key: value})


def served(objective: Callable[[BaseTrial], float]) -> Callable[[LeasedTrial], float]:
    """Convert an Optuna objective for a study on a server: ``study.run(served(objective), pass_trial=True)``.

    ``trial.suggest_float`` etc. return the parameters of the trial, which the study declares under the same names.
    ``trial.report`` reports to the server, and ``trial.should_prune`` returns its decision. If the objective raises
    ``optuna.TrialPruned`` after the server decided to stop the trial, the trial is stopped. Without such a decision, it
    fails.

    Args:
        objective: takes a trial and returns one value.
    """

    @wraps(objective)
    def evaluate(leased: LeasedTrial) -> float:
        return objective(ServedTrial(leased))

    return evaluate
