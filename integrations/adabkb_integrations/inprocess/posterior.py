"""What the model of a finished search predicts, in the form of the answers of a study on a server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adabkb_client import (
    Estimate,
    Front,
    FrontEstimate,
    FrontObjective,
    FrontPoint,
    Importance,
    MetricPrediction,
    Parameter,
    ParameterImportance,
    Prediction,
    Slice,
    SliceAxis,
)
from adabkb_integrations.domain import Domain
from adabkb_integrations.inprocess.measured import Measurements
from adabkb_integrations.inprocess.trials import Evaluated
from adabkb_integrations.model import Array, Model, one_thread
from adabkb_service.engine import answers, slices
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.reports.front import front as front_of
from adabkb_service.engine.auto.reports.importance import importance as importance_of
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.grids import section
from adabkb_service.engine.sensitivity import Sensitivity
from adabkb_service.engine.space import Fixed

POINTS = {1: 50, 2: 25}
"""Number of parameters that vary -> default number of values of each, as of a study."""


@dataclass(frozen=True)
class Posterior:
    """The model after the last trial of a search."""

    model: Model
    domain: Domain
    measured: Measurements
    declared: Mapping[str, Parameter]
    """The parameters, as the program declares them."""

    def importance(self, metric: str | None) -> Importance:
        """Return the Sobol' indices of the parameters: see ``Found.importance``."""
        state, results = self._of(metric)
        with one_thread():
            found = importance_of(self.model.policy, state, self.domain.space, results)
        if not isinstance(found, Sensitivity):
            return Importance(results, None, (), found)
        return Importance(results, found.std, tuple(self._by_parameter(found)), None)

    def slice(self, names: Sequence[str], points: int | None) -> Slice:
        """Return the posterior along one or two parameters through the recommended point: see ``Study.slice``."""
        self._check_metrics()
        space, policy = self.domain.space, self.model.policy
        axes, count = [[axis.name for axis in space.axes].index(name) for name in names], points or POINTS[len(names)]
        with one_thread():
            recommended = policy.recommend(self.model.state)
            found = section(space, None if recommended is None else recommended.point, axes, count)
            predictions = self.predict(found.points)
        at = self.domain.decode(found.at)
        return Slice(
            results=policy.report(self.model.state).observations,
            axes=tuple(
                SliceAxis(name, self._values(name, line)) for name, line in zip(names, found.lines, strict=True)
            ),
            at={name: value for name, value in at.items() if name not in names},
            predictions=tuple(predictions),
        )

    def recommended(self) -> Estimate | None:
        """Return the evaluated point with the best posterior mean; None before the first result, with several
        objectives, and with a context."""
        if self.measured.has_several or self.domain.space.context:
            return None
        with one_thread():
            found = self.model.policy.recommend(self.model.state)
        if found is None:
            return None
        return Estimate(self.domain.decode(found.point), self.measured.sign * found.mean, found.std)

    def front(self, observed: Sequence[Evaluated]) -> Front:
        """Return the Pareto front of the given results and of the model, without its history: see ``Study.front``.

        Raises:
            ValueError: there is one objective, or the algorithm has no model of metrics.
        """
        if not self.measured.has_several:
            raise ValueError("a search with one objective has no front; its best point is found.recommended")
        self._check_metrics()
        space, goals = self.domain.space, [metric for metric in self.measured.metrics if metric.goal]
        with one_thread():
            found = front_of(self.model.state, within=slices.Slice(space, {}))
            predictions = self.predict(found.points) if len(found.points) and not space.context else []
        estimates = zip(found.points, predictions, found.probabilities.tolist(), strict=False)
        return Front(
            objectives=tuple(
                FrontObjective(
                    goal.name,
                    "maximize" if goal.sign > 0 else "minimize",
                    goal.sign * value,
                    learned=goal.reference is None,
                )
                for goal, value in zip(goals, found.reference.tolist(), strict=True)
            ),
            results=len(found.growth),
            hypervolume=float(found.growth[-1]) if len(found.growth) else None,
            history=(),
            observed=tuple(
                FrontPoint(each.number, each.number, each.parameters, each.metrics or {}) for each in observed
            ),
            model=tuple(
                FrontEstimate(self.domain.decode(point), at.metrics or {}, probability)
                for point, at, probability in estimates
            ),
        )

    def cells(self, status: str, metric: str | None) -> list[dict[str, Any]]:
        """Return the cells of the partition with a status: see ``Study.partition``."""
        self._check_metrics()
        tree = {**NEW_TREE, **self.model.cells}
        boxes = [self.model.policy.cell_box(self.model.state, key) for key, its in tree.items() if its == status]
        if not boxes:
            return []
        with one_thread():
            predictions = self.predict(np.array([box.centroid for box in boxes]))
        found = []
        for box, prediction in zip(boxes, predictions, strict=True):
            at = prediction if metric is None else (prediction.metrics or {}).get(metric)
            if at is not None:
                low, high = map(self.domain.to_declared, self.domain.space.corners(box.low, box.high))
                centroid = self.domain.decode(box.centroid)
                found.append({"status": status, "low": low, "high": high, "centroid": centroid, **vars(at)})
        return found

    def predict(self, positions: Array) -> list[Prediction]:
        """Return the predictions at positions (k, d), without metrics that have no result yet."""
        found = self.model.policy.predict(self.model.state, positions)
        signs = {metric.name: metric.sign for metric in self.measured.others}
        columns = [_in_units(each, sign) for each, sign in zip(found.metrics, signs.values(), strict=True)]
        first = self.measured.objective
        own = _in_units(found, self.measured.sign if first is None else first.sign)
        predictions = []
        for mine, *others in zip(own, *columns, strict=True):
            metrics = dict(zip(signs, others, strict=False)) | ({} if first is None else {first.name: mine})
            known = {name: each for name, each in metrics.items() if not math.isnan(each.mean)}
            predictions.append(Prediction(**vars(mine) if first is None else {}, metrics=known or None))
        return predictions

    def _check_metrics(self) -> None:
        """Refuse metrics without a model of them."""
        if self.measured.metrics and not isinstance(self.model.config, Config):
            raise ValueError(
                'a baseline has no model of metrics: use the algorithm {"profile": "auto"}, or plot.history and '
                "plot.parallel, which show the results"
            )

    def _values(self, name: str, line: Sequence[float]) -> tuple[Any, ...]:
        """Return the declared values of a parameter at positions along its axis."""
        axis = next(each for each in self.domain.space.axes if each.name == name)
        return tuple(self.domain.to_declared({name: axis.decode(u)})[name] for u in line)

    def _by_parameter(self, found: Sensitivity) -> Iterator[ParameterImportance]:
        """Yield the indices of each parameter, which are 0 for a fixed one."""
        rows = zip(found.first, found.first_error, found.total, found.total_error, strict=True)
        for each in self.domain.space.parameters:
            indices = (0.0,) * 4 if isinstance(each, Fixed) else map(float, next(rows))
            yield ParameterImportance(each.name, *indices)

    def _of(self, metric: str | None) -> tuple[Any, int]:
        """Return the state of the model of a metric, or of the value if None, and its number of results.

        Raises:
            ValueError: there is no such metric, or none is named and there are several objectives.
        """
        first, names = self.measured.objective, [each.name for each in self.measured.metrics]
        if metric is None and first is not None:
            raise ValueError(f"there are several objectives; name one of the metrics: {names}")
        if metric is not None and metric not in names:
            raise ValueError(f"{metric!r} is not a metric of the search; these are: {names}")
        if metric is None or (first is not None and first.name == metric):
            return self.model.state, self.model.count(None)
        self._check_metrics()
        index = [each.name for each in self.measured.others].index(metric)
        return self.model.state.metrics[index], self.model.count(index)


def _in_units(found: answers.Prediction, sign: float) -> list[MetricPrediction]:
    """Return predictions in the user's units, without those of metrics."""
    mean, low, high = found.mean, found.lcb, found.ucb
    if sign < 0:
        mean, low, high = -mean, -high, -low
    return [MetricPrediction(*map(float, row)) for row in zip(mean, found.std, low, high, strict=True)]
