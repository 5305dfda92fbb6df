"""The questions that a model answers. Each function gets a model that has folded its log, and the arguments of
``Ask``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, LeftOut, Recommendation
from adabkb_service.engine.auto.reports.baseline import keep_near
from adabkb_service.engine.auto.reports.front import front as front_of
from adabkb_service.engine.auto.reports.importance import fewest_results
from adabkb_service.engine.auto.reports.importance import importance as importance_of
from adabkb_service.engine.auto.reports.left_out import left_out, noise_at
from adabkb_service.engine.auto.reports.report import finish_probability
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import ChoiceAxis, canonical
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.grids import section
from adabkb_service.engine.policy import GeneralPolicy
from adabkb_service.engine.sensitivity import Sensitivity
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.engine.wording import decimals
from adabkb_service.inference.model import Model
from adabkb_service.inference.outliers import outliers
from adabkb_service.inference.proposals import Changed, Expected, Recommended, in_units

Point = dict[str, Any]

MAX_CHECKED = 20
"""The maximum number of untried choices of a parameter that are checked against the constraints."""
MAX_RESULTS_READ = 200
"""The usual number of decimals is determined from this many latest results."""
RARE = 2
"""If there are more results than this, a number of decimals that only one result has is not usual."""


@dataclass(frozen=True)
class SliceThrough:
    """Predictions on a grid; the last axis varies fastest."""

    results: int
    """The number of results in the model."""
    values: list[list[Any]]
    """Grid values along each axis."""
    at: Point
    """The point through which the slice goes."""
    predictions: list[Expected]


@dataclass(frozen=True)
class CellExtent:
    """A cell, and the parameters at two opposite corners and at its centroid."""

    key: str
    status: str
    low: Point
    high: Point
    centroid: Point


@dataclass(frozen=True)
class CellBelief(CellExtent):
    """A cell and the posterior at its centroid, in the units and sign of the objective or of a metric."""

    mean: float
    std: float
    """Standard deviation at the centroid."""
    index: float | None
    """See ``Policy.cell_indices``; None for a metric, and if it is not finite."""


@dataclass(frozen=True)
class Judged:
    """A result, with its leave-one-out prediction."""

    observation: int
    value: float
    predicted: Expected
    tail: float
    """Predicted probability of a result at least as far from the mean."""
    doubted: bool
    """Whether the model gives the result less weight because other results contradict it."""
    noise: float
    """Standard deviation of the noise at this point of results that are not doubted; 0 if the results are not known to
    be noisy."""
    outlier: bool = False
    """Whether ``outliers`` includes the result."""


@dataclass(frozen=True)
class Validated:
    """Leave-one-out validation of a model."""

    results: int
    """The number of results in the model."""
    judged: list[Judged] | None
    """In log order; None if the model cannot be validated."""


@dataclass(frozen=True)
class Spread:
    """Range and decimals of the results of the objective or of a metric."""

    low: float
    high: float
    decimals: int
    """The usual number of decimals of the results: see ``_usual_decimals``."""


@dataclass(frozen=True)
class Assessed:
    """Facts about a model for the sentences of a study's assessment."""

    results: int
    fewest: int | None
    """The number of results needed before the gap is known; None if it does not depend on their number."""
    recommended: Point | None
    """Parameters of the recommended point."""
    mean: float | None
    """Posterior mean at the recommended point, in the objective's units."""
    std: float | None
    gap: float | None
    at_best: Expected | None
    """Prediction at the point of the best result."""
    repeated: float | None
    """Standard deviation of the noise of one more result at the point of the best result: the study's ``noise_std``
    or, without one, that of a result that is not doubted. None if the algorithm does not learn it."""
    noise: float | None
    """Standard deviation between repeated results at the recommended point, as in ``repeated``; None if the results are
    not known to be noisy."""
    untried: dict[str, list[Any]]
    """Parameter -> choices without any trial or result (excluded results count as well). Empty before the first
    trial."""
    spreads: dict[str, Spread]
    """Metric -> spread of its results. The single objective has the key "". Empty before the first result."""


@dataclass(frozen=True)
class FrontFound:
    """A Pareto front, in the objectives' units and signs."""

    reference: dict[str, float]
    """The reference point: objective -> value."""
    growth: list[tuple[int, float]]
    """Number of each result that the model uses, and the hypervolume of the results up to and including it."""
    results: list[int]
    """Numbers of the results on the front."""
    points: list[tuple[Point, Expected, float]]
    """The front of the model: parameters, the prediction there, and the probability that the point is on the front."""


def model_stats(model: Model) -> dict[str, Any]:
    """The statistics of the model, and its learned parameters."""
    return {**model.stats(), "learned": model.learned}


def recommended(model: Model, feasible: float, tolerance: float) -> tuple[Recommended | None, float | None]:
    """The recommended point and the gap. The point is the evaluated point with the best posterior mean or, with a
    baseline, one that is almost as good and closer to the baseline. It is None before the first result."""
    found = model.policy.recommend(model.state, feasible)
    return _recommended(model, found, {}, feasible, tolerance), model.stats()["gap"]


def recommended_within(model: Model, fixed: Point, feasible: float, tolerance: float) -> Recommended | None:
    """As ``recommended``, but with fixed parameter values and without the gap. The point need not have been
    evaluated."""
    assert isinstance(model.policy, GeneralPolicy), "the contract refuses fixed values with other algorithms"
    found = model.policy.recommend_within(model.state, Slice(model.dataset.space, fixed), feasible)
    return _recommended(model, found, fixed, feasible, tolerance)


def _recommended(
    model: Model, found: Recommendation | None, fixed: Point, feasible: float, tolerance: float
) -> Recommended | None:
    """A recommendation of the engine, moved towards the baseline, in the user's units."""
    if found is None:
        return None
    space, baseline = model.dataset.space, model.definition.baseline
    axes = {axis.name: (k, axis) for k, axis in enumerate(space.axes) if axis.name in baseline}
    if axes:
        at = {k: axis.encode(baseline[name]) for name, (k, axis) in axes.items()}
        found = keep_near(model.state, found, at, Slice(space, fixed), tolerance, feasible)
    parameters = {**model.dataset.parameters_at(found.point), **fixed}
    expected = model.predict(found.point[None])[0]
    changes = None
    if found.changes is not None:
        gains = {each.axis: each.gain for each in found.changes}
        kept = [name for name, (k, _) in axes.items() if k not in gains and name in parameters]
        parameters |= {name: canonical(axes[name][1], baseline[name]) for name in kept}
        changes = [
            Changed(name, baseline[name], parameters[name], gains[k]) for name, (k, _) in axes.items() if k in gains
        ]
    return Recommended(
        parameters, model.sign * found.mean, found.std, expected if expected.is_finite else None, changes
    )


def finishing(
    model: Model, finished: NDArray[np.float64], failed: NDArray[np.float64], position: NDArray[np.float64]
) -> float | None:
    """Probability that a trial at a position, (d,), finishes, given finished points, (n, d), and failed ones, (f, d).
    None if this is not learned."""
    if not isinstance(model.state, State):
        return None
    likely = finish_probability(model.state, position[None], failed, finished)
    return None if likely is None else float(likely[0])


def predicted(model: Model, positions: NDArray[np.float64]) -> list[Expected]:
    """Predictions at positions (k, d), with the probability that a trial finishes."""
    found = model.predict(positions)
    if not isinstance(model.state, State):
        return found
    likely = finish_probability(model.state, positions, model.dataset.failed_points())
    if likely is None:
        return found
    return [each._replace(finish_probability=one) for each, one in zip(found, likely.tolist(), strict=True)]


def boxes(model: Model, after: int, limit: int) -> tuple[list[CellExtent], int | None]:
    """The cells of a page, and where the next page begins: see ``_page``."""
    keys, last = _page(model, after, limit, None)
    return [CellExtent(*each) for each in _described(model, keys, _boxes(model, keys))], last


def members(model: Model, after: int, limit: int) -> list[tuple[int, Point]]:
    """The first ``limit`` points of the dictionary with ordinals above ``after``, ordered by ordinal."""
    ordinals = [ordinal for ordinal in model.policy.dictionary(model.state) if ordinal > after][:limit]
    points = model.dataset.distinct_points()
    return [(ordinal, model.dataset.parameters_at(points[ordinal])) for ordinal in ordinals]


def front(model: Model, fixed: Point, feasible: float) -> FrontFound:
    """The Pareto front of a study with several objectives. The points of the model have the fixed parameter values."""
    dataset = model.dataset
    found = front_of(model.state, feasible, Slice(dataset.space, fixed))
    objectives = [each for each in (dataset.objective, *dataset.metrics) if each is not None and each.goal]
    keys = dataset.keys_with_value()
    signed = zip(objectives, found.reference.tolist(), strict=True)
    predictions = model.predict(found.points) if len(found.points) else []
    return FrontFound(
        reference={each.name: each.sign * value + 0.0 for each, value in signed},  # -0.0 becomes 0.0
        growth=list(zip(keys, found.growth.tolist(), strict=True)),
        results=[keys[row] for row in found.rows],
        points=[
            ({**dataset.parameters_at(point), **fixed}, prediction, probability)
            for point, prediction, probability in zip(
                found.points, predictions, found.probabilities.tolist(), strict=True
            )
        ],
    )


def importance(model: Model, metric: str | None) -> tuple[int, Sensitivity | Literal["too_few_results", "constant"]]:
    """The number of results; and the sensitivity of the posterior mean of a metric (of the objective if None) to each
    parameter, or the reason why it is unknown."""
    results = len(model.dataset.keys_with_value(metric))
    return results, importance_of(model.policy, model.of(metric)[0], model.dataset.space, results)


def validation(model: Model, metric: str | None) -> Validated:
    """Leave-one-out predictions of the results of a metric (of the objective if None). Estimates of stopped trials are
    left out."""
    state, sign = model.of(metric)
    keys, found = model.dataset.keys_with_value(metric), _left_out(state)
    if found is None:
        return Validated(len(keys), None)
    values = sign * state.record.values[found.rows]
    predicted, tails = in_units(found.predicted, sign), found.tails.tolist()
    noises, doubted = _noises(model, found, metric).tolist(), found.doubted.tolist()
    rows = zip(found.rows, values.tolist(), predicted, tails, doubted, noises, strict=True)
    judged = [Judged(keys[row], *rest) for row, *rest in rows if keys[row] > 0]
    columns = [[getattr(each, name) for each in judged] for name in ("value", "tail", "doubted")]
    for place in outliers(*columns):
        judged[place] = replace(judged[place], outlier=True)
    return Validated(len(keys), judged)


def _left_out(state: Any) -> LeftOut | None:
    """The leave-one-out predictions of the results of a model, given its state; None if it cannot be validated."""
    return left_out(state) if isinstance(state, State) else None


def _noises(model: Model, found: LeftOut, metric: str | None) -> NDArray[np.float64]:
    """The noise of each of the judged results, as in ``Judged.noise``."""
    if found.noise is None:
        return np.zeros(len(found.rows))
    if metric is None and model.definition.noise_std is not None:
        return np.full(len(found.rows), model.definition.noise_std)
    undoubted = found.noise[~found.doubted]
    typical = float(np.median(undoubted)) if len(undoubted) else 0.0
    return np.where(found.doubted, typical, found.noise)


def assessment(model: Model, best: Point | None) -> Assessed:
    """Facts about a model for a study's assessment, in addition to the answers to other questions.

    Args:
        model: the model of the study.
        best: the parameters of the best result; None without one.
    """
    space, policy = model.dataset.space, model.policy
    preferred = policy.recommend(model.state) if model.dataset.objective is None else None
    position = None if best is None else space.position(best)
    at_best = None if position is None else model.predict(position[None])[0]
    judged = _left_out(model.state)
    return Assessed(
        results=policy.report(model.state).observations,
        fewest=fewest_results(model.state),
        recommended=None if preferred is None else model.dataset.parameters_at(preferred.point),
        mean=None if preferred is None else model.sign * preferred.mean,
        std=None if preferred is None else preferred.std,
        gap=model.stats()["gap"],
        at_best=at_best if at_best is not None and at_best.is_finite else None,
        repeated=None if position is None else _noise_of_repetition(model, judged, position),
        noise=None if preferred is None else _noise_at(model, judged, preferred.point),
        untried=_untried(model),
        spreads=_spreads(model),
    )


def _spreads(model: Model) -> dict[str, Spread]:
    """Metric -> spread, as in ``Assessed``."""
    record, dataset = model.dataset.record(), model.dataset
    named = {"": (record.values, model.sign)} if dataset.objective is None else {}
    if dataset.objective is not None:
        named[dataset.objective.name] = record.values, dataset.objective.sign
    for metric, its in zip(dataset.metrics, record.metrics, strict=True):
        named[metric.name] = its.values, metric.sign
    known = {name: sign * values[~np.isnan(values)] for name, (values, sign) in named.items()}
    return {name: _spread(values) for name, values in known.items() if len(values)}


def _spread(values: NDArray[np.float64]) -> Spread:
    return Spread(float(values.min()), float(values.max()), _usual_decimals(values[-MAX_RESULTS_READ:].tolist()))


def _usual_decimals(values: list[float]) -> int:
    """The largest number of decimals such that more than a tenth of the results have this many or more. If there are
    three or more results, at least two must have them, since one result may have a misplaced decimal point."""
    ranked = sorted(map(decimals, values), reverse=True)
    return ranked[max(1, len(ranked) // 10) if len(ranked) > RARE else 0]


def _noise_of_repetition(model: Model, judged: LeftOut | None, point: NDArray[np.float64]) -> float | None:
    """The noise of one more result at an evaluated point, as in ``Assessed.repeated``."""
    found = noise_at(model.state, point) if isinstance(model.state, State) else None
    if found is None or model.definition.noise_std is not None:
        return None if found is None else model.definition.noise_std
    if judged is None or not judged.doubted[_at(model, judged, point)].any():
        return found
    row = _undoubted(model, judged, point)
    return found if row is None else noise_at(model.state, model.state.record.positions[row])


def _noise_at(model: Model, judged: LeftOut | None, point: NDArray[np.float64]) -> float | None:
    """The noise of results at an evaluated point, as in ``Assessed.noise``."""
    if judged is None or judged.noise is None:
        return None
    if model.definition.noise_std is not None:
        return model.definition.noise_std
    at = _at(model, judged, point)
    if not at.any():
        return None
    row = _undoubted(model, judged, point) if judged.doubted[at].any() else judged.rows[at][0]
    return None if row is None else float(judged.noise[judged.rows == row][0])


def _at(model: Model, judged: LeftOut, point: NDArray[np.float64]) -> NDArray[np.bool_]:
    """A mask of ``judged.rows``: which results were evaluated at a point."""
    found: NDArray[np.bool_] = (model.state.record.positions[judged.rows] == point).all(axis=1)
    return found


def _undoubted(model: Model, judged: LeftOut, point: NDArray[np.float64]) -> int | None:
    """The row of a result whose noise is assumed for one more result at ``point``, where a result is doubted. The noise
    at ``point`` itself is not used, since it includes noise by which the model explains the doubted result. Of the
    results at points without a doubted one, the row is that of the result whose value is nearest to the posterior mean
    at ``point``; None if there are none."""
    record = model.state.record
    doubted = np.unique(record.ordinals[judged.rows[judged.doubted]])
    rows = judged.rows[~np.isin(record.ordinals[judged.rows], doubted)]
    if not len(rows):
        return None
    mean = model.policy.mean(model.state, point[None])[0]
    return int(rows[np.argmin(np.abs(record.values[rows] - mean))])


def _untried(model: Model) -> dict[str, list[Any]]:
    space, dataset = model.dataset.space, model.dataset
    evaluated = [each.position for each in dataset.results.values() if each.position is not None]
    if not evaluated and not len(dataset.issued_positions()):
        return {}
    positions = np.concatenate([np.array(evaluated).reshape(-1, space.dimension), dataset.issued_positions()])
    found, active = {}, space.activity.active(positions)
    for number, axis in enumerate(space.axes):
        if isinstance(axis, ChoiceAxis) and not isinstance(axis, CatalogueAxis):  # most rows of a catalogue are untried
            tried = {axis.bin(u) for u in np.unique(positions[active[:, number], number]).tolist()}
            left = [axis.value(index) for index in range(axis.count) if index not in tried]
            if possible := [value for value in left if len(left) > MAX_CHECKED or _is_possible(space, axis, value)]:
                found[axis.name] = possible
    return found


def _is_possible(space: Space, axis: ChoiceAxis, value: Any) -> bool:
    """Return False if the constraints provably exclude a choice, otherwise True."""
    feasible = Slice(space, {axis.name: value}).feasible
    return feasible is None or not feasible.is_empty


def slice_through(model: Model, axes: list[int], points: int, at: dict[int, float]) -> SliceThrough:
    """Predictions on a grid along some axes, with at most ``points`` values of each. The slice goes through the
    recommended point or, before the first result, through the middle of the space; ``at`` overrides its position on
    other axes. If one of the axes is inactive at this point, the point is changed so that all of them are active. If an
    axis is a share of a mixture, the other shares adapt."""
    space, recommended = model.dataset.space, model.policy.recommend(model.state)
    found = section(space, None if recommended is None else recommended.point, axes, points, at)
    values = [[space.axes[axis].decode(u) for u in line] for axis, line in zip(axes, found.lines, strict=True)]
    results = model.policy.report(model.state).observations
    return SliceThrough(results, values, model.dataset.parameters_at(found.at), predicted(model, found.points))


def partition(
    model: Model, after: int, limit: int, status: str | None, metric: str | None
) -> tuple[list[CellBelief], int | None]:
    """Cells of a page (see ``_page``), each with the posterior of a metric (of the objective if None)."""
    keys, last = _page(model, after, limit, status)
    if not keys:
        return [], None
    found = _boxes(model, keys)
    predictions = model.predict(np.array([each.centroid for each in found]))
    if metric is not None:
        predictions = [each.metrics[metric] for each in predictions if each.metrics and metric in each.metrics]
        if not predictions:  # the metric has no result yet
            return [], None
    indices = [math.nan] * len(keys)
    if metric is None:
        indices = (model.sign * model.policy.cell_indices(model.state, keys)).tolist()
    return [
        CellBelief(*each, at.mean, at.std, _finite(index))
        for each, at, index in zip(_described(model, keys, found), predictions, indices, strict=True)
    ], last


def past_partition(model: Model, results: int, limit: int, metric: str | None) -> list[CellBelief]:
    """The first ``limit`` cells of the current tree, each with its posterior and its status after the first ``results``
    results. As after a correction, the model is rebuilt, here from these results alone. Cells that were expanded later
    keep the status ``expanded``."""
    past = model.snapshot()
    past.dataset.results = {key: past.dataset.results[key] for key in takewhile(results.__ge__, past.dataset.results)}
    update = past.policy.rebuild(past.state, past.dataset.record(), past.cells)
    past.state = update.state
    past.cells.update(update.cells)
    found, _ = partition(past, 0, limit, None, metric)
    return found


def _page(model: Model, after: int, limit: int, status: str | None) -> tuple[list[str], int | None]:
    """The keys of at most ``limit`` cells in order of creation, and the number of the last one, which is ``after`` for
    the next page; None if no more can follow.

    Args:
        model: the model of the study.
        after: number of cells to skip.
        limit: number of cells.
        status: the status of the cells; None for any.
    """
    later = islice(enumerate(model.cells.items(), 1), after, None)
    found = list(islice(((number, key) for number, (key, its) in later if status in (None, its)), limit))
    return [key for _, key in found], found[-1][0] if len(found) == limit else None


def _boxes(model: Model, keys: list[str]) -> list[CellBox]:
    """Corners and centroid of each cell in the unit cube."""
    return [model.policy.cell_box(model.state, key) for key in keys]


def _described(model: Model, keys: list[str], found: list[CellBox]) -> Iterator[tuple[str, str, Point, Point, Point]]:
    """Key, status, low corner, high corner and centroid of each cell, in the user's units."""
    space = model.dataset.space
    for key, box in zip(keys, found, strict=True):
        yield key, model.cells[key], *space.corners(box.low, box.high), space.decode(box.centroid)


def stored(_: Model) -> None:
    """Return nothing. ``ModelHost`` stores the model before it answers this question."""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


QUESTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        model_stats,
        recommended,
        recommended_within,
        front,
        finishing,
        predicted,
        importance,
        validation,
        assessment,
        slice_through,
        boxes,
        partition,
        past_partition,
        members,
        stored,
    )
}
