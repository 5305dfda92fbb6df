"""A study with the interface of ``ax.api.client.Client``, for scripts with one objective."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import adabkb_client
from adabkb_client import Direction, NoTrialAvailable, OutcomeConstraint, Study, StudyComplete, StudySettings
from adabkb_integrations.ax.configs import ChoiceParameterConfig, RangeParameterConfig

BOUND = re.compile(r"\s*(\w+)\s*(<=|>=)\s*([-+.\deE]+)\s*")
OBJECTIVE = re.compile(r"\s*(-)?\s*(?:1(?:\.0)?\s*\*\s*)?(\w+)\s*")


class Client:
    """A study on a server, with the methods of Ax. Close it, or use it in a ``with`` block, to close its connections.

    Args:
        url: the URL of the server; ADABKB_URL by default.
        settings: further settings of the study: see ``adabkb_client.StudySettings``.
    """

    def __init__(self, url: str | None = None, **settings: Unpack[StudySettings]) -> None:
        self._client = adabkb_client.Client(url)
        self._settings = settings
        self._name: str | None = None
        self._configs: Sequence[RangeParameterConfig | ChoiceParameterConfig] = ()
        self._metric = ""
        self._study: Study | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server, where the study remains."""
        self._client.close()

    @property
    def study(self) -> Study:
        """The study.

        Raises:
            RuntimeError: ``configure_optimization`` was not called yet.
        """
        if self._study is None:
            raise RuntimeError("call configure_experiment(...) and configure_optimization(...) first")
        return self._study

    def configure_experiment(
        self,
        parameters: Sequence[RangeParameterConfig | ChoiceParameterConfig],
        parameter_constraints: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        """Declare the space. ``parameter_constraints`` have the form of a study's constraints, such as ``"x1 + x2 <=
        1"``."""
        self._configs, self._name = parameters, name
        if parameter_constraints:
            self._settings["constraints"] = list(parameter_constraints)

    def configure_optimization(self, objective: str, outcome_constraints: Sequence[str] = ()) -> None:
        """Create the study, or open it if it exists.

        Args:
            objective: the metric to maximize or, with a minus sign, to minimize: ``"-loss"``.
            outcome_constraints: bounds of other metrics, such as ``"latency <= 20"``.

        Raises:
            ValueError: the objective is not a single metric, or a bound has another form.
        """
        read = OBJECTIVE.fullmatch(objective)
        if read is None:
            raise ValueError(f"objective: {objective!r} must be one metric, such as 'accuracy' or '-loss'")
        self._metric = read[2]
        direction: Direction = "minimize" if read[1] else "maximize"
        if outcome_constraints:
            self._settings["outcome_constraints"] = [_bound(each) for each in outcome_constraints]
        space = {each.name: each.parameter() for each in self._configs}
        self._study = self._client.create_study(self._name, space, direction=direction, **self._settings)

    def get_next_trials(self, max_trials: int) -> dict[int, dict[str, Any]]:
        """Return the parameters of up to ``max_trials`` trials by trial number; empty if there is no trial now."""
        try:
            return {trial.number: dict(trial.parameters) for trial in self.study.suggest(max_trials)}
        except (NoTrialAvailable, StudyComplete):
            return {}

    def complete_trial(self, trial_index: int, raw_data: Mapping[str, float | tuple[float, float]]) -> None:
        """Report the result of a trial: the value of each metric, or its mean and standard error.

        Raises:
            KeyError: the objective is missing.
        """
        pairs = {name: each if isinstance(each, tuple) else (each, None) for name, each in raw_data.items()}
        value, error = pairs.pop(self._metric)
        self.study.observe(
            trial_index,
            value,
            std_error=error,
            metrics={name: mean for name, (mean, _) in pairs.items()} or None,
            std_errors={name: sem for name, (_, sem) in pairs.items() if sem is not None} or None,
        )

    def mark_trial_failed(self, trial_index: int) -> None:
        """Report that a trial cannot be evaluated."""
        self.study.fail(trial_index, "marked as failed")

    def get_best_parameterization(self) -> tuple[dict[str, Any], dict[str, tuple[float, float]], int | None, str]:
        """Return the recommended parameters, the model's mean and variance there, a trial with these parameters (None
        if the best result is from other ones) and the study's id.

        Raises:
            RuntimeError: no point is recommended, because there is no result yet or the model does not answer.
        """
        found = self.study.recommendation()
        if found.model is None:
            raise RuntimeError(f"no point is recommended: {found.reason}")
        predicted = {self._metric: (found.model.mean, found.model.std**2)}
        observed = found.observed
        number = observed.trial if observed is not None and observed.parameters == found.model.parameters else None
        return dict(found.model.parameters), predicted, number, self.study.id


def _bound(text: str) -> OutcomeConstraint:
    read = BOUND.fullmatch(text)
    if read is None:
        raise ValueError(f"outcome_constraints: {text!r} must have a form such as 'latency <= 20'")
    metric, side, number = read.groups()
    if side == "<=":
        return {"metric": metric, "upper": float(number)}
    return {"metric": metric, "lower": float(number)}
