"""The evaluated points of a search, and its best result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from adabkb_client import Estimate, ExpectedValue, Importance
from adabkb_client._columns import FIRST, PLATE, RESULT
from adabkb_client._frames import KINDS, NUMBERS, choice, pandas, typed
from adabkb_client._records import Shown
from adabkb_service.engine.ending import EndReason

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_integrations.inprocess.figures import Plots
    from adabkb_integrations.inprocess.posterior import Posterior

Reason = Literal[EndReason, "converged", "stopped", "interrupted"]


@dataclass(frozen=True)
class Evaluated:
    """A finished trial. ``value`` is None if the trial failed or has an ``estimate`` instead, or if the search has
    several objectives. ``reason`` says why the trial failed or was stopped. ``plate`` is the number of its plate, in a
    search with plates."""

    number: int
    parameters: Mapping[str, Any]
    state: Literal["completed", "failed", "stopped"]
    value: float | None = None
    std_error: float | None = None
    reason: str | None = None
    plate: int | None = None
    metrics: Mapping[str, float] | None = None
    """The metrics by name, including the cost and the objectives if there are several; None in a search without any."""
    std_errors: Mapping[str, float] | None = None
    """The standard errors of metrics, where known."""
    estimate: ExpectedValue | None = None
    """Of a trial that was stopped by comparison with others: its expected value, which the model uses as its result."""

    @property
    def has_result(self) -> bool:
        """Whether it has a result: it is completed, or was stopped with its last value as its result."""
        return self.state != "failed" and self.estimate is None


@dataclass(frozen=True, repr=False)
class Found(Shown):
    """The result of a search: the best trial (the first one in a tie), all trials, and why it ended. With metrics that
    have bounds, the best trial is the best one that satisfies them or, if there is none, the one that violates them
    least. With several objectives, ``front`` has the trials that no other dominates, and ``best`` is None.

    ``recommended`` is a trial at the point with the best mean according to the model. If results are noisy, prefer it
    to ``best``, which is often a lucky result. It is None with several objectives or a context.

    ``near_baseline`` is a point that the model expects to be as good as ``recommended``, with few ``changes`` from the
    baseline. It need not have been evaluated. With a context, it is the point for the context of the last result. It
    is None in a search without a baseline.

    ``reason`` is "budget", "exhausted" (every point of a finite space, or with the fixed values, was evaluated),
    "converged" (the tolerance), "no_gain" or "gain_unlikely" (the rules of ``stop``), "stopped" (by ``Search.stop``) or
    "interrupted" (by Ctrl-C). ``best``, ``parameters`` and ``value`` are None if no trial was completed.
    """

    best: Evaluated | None
    trials: tuple[Evaluated, ...]
    reason: Reason
    seed: int
    direction: Literal["minimize", "maximize"] = "minimize"
    front: tuple[Evaluated, ...] = ()
    recommended: Evaluated | None = None
    near_baseline: Estimate | None = None
    parameter_names: tuple[str, ...] = ()
    """All parameters of the space."""
    metric_names: tuple[str, ...] = ()
    """All metrics, including the cost and the objectives if there are several."""
    posterior: Posterior | None = field(default=None, compare=False)
    """The model after the last trial, for ``importance`` and ``plot``."""

    @property
    def parameters(self) -> Mapping[str, Any] | None:
        """The parameters of the best trial."""
        return None if self.best is None else self.best.parameters

    @property
    def value(self) -> float | None:
        """The value of the best trial."""
        return None if self.best is None else self.best.value

    @property
    def plot(self) -> Plots:
        """The figures of a study, such as ``found.plot.history()``: see ``adabkb_client.plots.Plots``. They need
        matplotlib."""
        from adabkb_integrations.inprocess.figures import Plots  # noqa: PLC0415 (only figures need it)

        return Plots(self)

    def importance(self, metric: str | None = None) -> Importance:
        """Return which parameters the value depends on: Sobol' indices of the posterior mean over the space, as
        ``Study.importance``.

        Args:
            metric: the metric to explain instead of the value; required if there are several objectives.

        Raises:
            ValueError: the search has no such metric, or several objectives and none is named.
        """
        return self._known_posterior.importance(metric)

    @property
    def _known_posterior(self) -> Posterior:
        """The model.

        Raises:
            ValueError: there is none, since no search has made this object.
        """
        if self.posterior is None:
            raise ValueError("this result has no model: it does not come from minimize() or maximize()")
        return self.posterior

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the trials as dicts with the keys of ``to_frame``, in which a missing cell is None."""
        missing = dict.fromkeys(self._columns())
        return [missing | _cells(trial) for trial in self.trials]

    def to_frame(self) -> pd.DataFrame:
        """Return the trials as a pandas frame, with columns of ``Study.to_frame``.

        The columns are ``trial``, ``state``, in a search with plates ``plate``, ``parameters.NAME`` for each parameter,
        ``value``, ``std_error``, ``metrics.NAME`` and ``std_errors.NAME`` for each metric, and ``reason``. A cell that
        does not apply, such as the value of a failed trial, is missing: NaN or NA in numbers and None in other columns.
        A choice None is the text "None".

        Raises:
            ImportError: pandas is not installed.
        """
        found = pandas("to_frame()").DataFrame(self.to_rows(), columns=self._columns())
        return typed(found, KINDS)

    def _columns(self) -> list[str]:
        return [
            *FIRST,
            *(PLATE if any(trial.plate is not None for trial in self.trials) else ()),
            *(f"parameters.{name}" for name in self.parameter_names),
            *RESULT,
            *(f"{prefix}{name}" for prefix in NUMBERS for name in self.metric_names),
            "reason",
        ]


def _cells(trial: Evaluated) -> dict[str, Any]:
    """Return the cells of a trial by column, without those that it lacks."""
    found: dict[str, Any] = {"trial": trial.number, "state": trial.state}
    found |= {} if trial.plate is None else {"plate": trial.plate}
    found |= {f"parameters.{name}": choice(value) for name, value in trial.parameters.items()}
    for prefix, numbers in zip(NUMBERS, (trial.metrics, trial.std_errors), strict=True):
        found |= {f"{prefix}{name}": number for name, number in (numbers or {}).items()}
    return {**found, "value": trial.value, "std_error": trial.std_error, "reason": trial.reason}
