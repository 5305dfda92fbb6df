"""Ax as a peer, with the defaults of its client. It is imported only when it runs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig

from adabkb_service.engine.axes import Axis, FloatAxis, IntAxis
from benchmarks.quality.methods.base import Parameters


@dataclass(frozen=True, slots=True)
class Goals:
    """What Ax is to find."""

    objective: str
    """Names of metrics, as Ax writes them: with a minus sign each one that is to be minimized."""
    outcome_constraints: Sequence[str] = ()
    """Bounds on metrics, as Ax writes them."""
    parameter_constraints: Sequence[str] = ()
    """Linear constraints on parameters, as Ax writes them."""


class AxClient:
    """An Ax experiment with one suggestion at a time. Its first points are Ax's own choice."""

    def __init__(self, axes: Sequence[Axis], goals: Goals, seed: int) -> None:
        torch.set_num_threads(1)
        logging.getLogger("ax").setLevel(logging.ERROR)
        self._client = Client(random_seed=seed)
        self._client.configure_experiment(
            parameters=[parameter(axis) for axis in axes], parameter_constraints=list(goals.parameter_constraints)
        )
        self._client.configure_optimization(
            objective=goals.objective, outcome_constraints=list(goals.outcome_constraints)
        )

    def ask(self) -> Parameters:
        """The suggested point."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that were repeated
            ((self._trial, point),) = self._client.get_next_trials(max_trials=1).items()
        return dict(point)

    def tell(self, metrics: Mapping[str, float]) -> None:
        """Complete the trial with the value of each metric."""
        self._client.complete_trial(trial_index=self._trial, raw_data=dict(metrics))


def parameter(axis: Axis) -> RangeParameterConfig:
    """The parameter of a numeric axis.

    Raises:
        TypeError: if the axis is not numeric.
    """
    if isinstance(axis, IntAxis):
        return RangeParameterConfig(axis.name, (axis.low, axis.high), "int", scaling=axis.scale)
    if isinstance(axis, FloatAxis):
        return RangeParameterConfig(axis.name, (axis.low, axis.high), "float", scaling=axis.scale)
    raise TypeError(f"{axis.name} is not a numeric parameter.")
