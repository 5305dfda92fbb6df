"""Analysis of a study's model: importance of parameters, slices of the posterior, and predictions per cell.

The model processes the whole log before it answers. These operations do not change the study.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.contract import analysis as answers
from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.sensitivity import MIN_RESULTS, Sensitivity
from adabkb_service.engine.space import Fixed, Space
from adabkb_service.errors import FieldError, Invalid, json_pointer, shown
from adabkb_service.operations.model.front import check_metric
from adabkb_service.operations.model.in_context import check_same_space
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.model.verdict import MIN_RESULTS as FEWEST_JUDGED
from adabkb_service.operations.model.verdict import (
    Errors,
    JudgedResults,
    Suggested,
    too_early,
    verdict,
    without_verdict,
)
from adabkb_service.operations.service import Service
from adabkb_service.operations.words.labels import Labels
from adabkb_service.storage import observations, result_table, trials
from adabkb_service.storage.rows import CellStatus, ObservationRow, TrialRow
from adabkb_service.study import render
from adabkb_service.study.contention import repeating

if TYPE_CHECKING:
    from adabkb_service.inference.questions import CellBelief
    from adabkb_service.inference.questions import Judged as JudgedResult

Array = NDArray[np.float64]

MAX_POINTS = 1000
"""The maximum number of points of a slice."""
POINTS = {1: 50, 2: 25}
"""Number of parameters that vary -> default number of values of each."""
MAX_VALUES = {1: MAX_POINTS, 2: 31}
"""Number of parameters that vary -> maximum number of values of each."""
MAX_REFITTED = 400
"""The maximum number of results to which a past model is fitted again, for the replay of the partition."""
MAX_CELLS = 5000
"""The maximum number of cells of a replay."""


def importance(service: Service, study_id: str, metric: str | None = None) -> answers.Importance:
    """Return the Sobol' indices of each parameter, computed from the posterior mean of a metric or, by default, of the
    objective.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the metric does not exist, or none is given in a study with several objectives.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _check_metric(service, study_id, metric)
    study, (results, found) = service.ask(study_id, "importance", metric)
    if isinstance(found, str):
        return answers.Importance.model_validate({"results": results, "std": None, "parameters": [], "reason": found})
    space = definition_of(study.definition).space()
    return answers.Importance(results=results, std=found.std, parameters=_by_parameter(space, found), reason=None)


def validation(service: Service, study_id: str, metric: str | None = None) -> answers.Validation:
    """Return leave-one-out predictions of a metric or, by default, of the objective, and a verdict on the model.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the metric does not exist, or none is given in a study with several objectives.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _check_metric(service, study_id, metric)
    study, found = service.ask(study_id, "validation", metric)
    definition = definition_of(study.definition)
    judged, of = found.judged or [], _of_metric(definition, metric)
    if not isinstance(definition.algorithm, AutoProfile):
        return _without_items(found.results, without_verdict("not_this_algorithm", of), "not_this_algorithm")
    domain = Domain(definition.space())
    fewest, points = domain.fewest_results, domain.whole.size
    if not judged:
        if found.results < MIN_RESULTS:
            missing = max(fewest, FEWEST_JUDGED) - found.results
            return _without_items(found.results, too_early(missing, of, points), "too_few_results")
        return _without_items(found.results, without_verdict("constant", of), "constant")
    with service.database.reading() as connection:
        rows = {
            each.seq: each
            for each in observations.of_numbers(connection, study_id, [each.observation for each in judged])
        }
        numbers = [each.trial for each in rows.values() if each.trial is not None]
        issued = {each.number: each for each in trials.of_numbers(connection, study_id, numbers)}
        since = result_table.moment_of(connection, study_id, fewest)
    reliable = {number: each for number, each in issued.items() if since is not None and each.created_at >= since}
    repeated = _repeated_results(rows.values())
    items = [
        answers.ValidationItem(
            observation=each.observation,
            value=each.value,
            **dict(zip(("mean", "std", "lcb", "ucb"), each.predicted[:4], strict=True)),
            tail=each.tail,
            doubted=each.doubted,
            outlier=each.outlier,
            repeated=each.observation in repeated,
        )
        for each in judged
    ]
    once = [each for each in items if not each.repeated] or items
    suggested = [
        interval
        for each in judged
        if each.observation > fewest
        and (row := rows.get(each.observation)) is not None
        and (interval := _as_suggested(each, row, reliable.get(row.trial or 0), metric)) is not None
    ]
    errors = _errors(once)
    return answers.Validation(
        results=found.results,
        items=items,
        counted=len(once),
        inside=float(np.mean([each.lcb <= each.value <= each.ucb for each in once])),
        error=errors.of_model,
        error_of_median=errors.of_median,
        reason=None,
        verdict=verdict(
            JudgedResults(found.results, items, once, suggested, errors),
            fewest,
            Labels.of(definition).quantity(metric or ""),
            of,
            points,
        ),
    )


def _without_items(results: int, judged: answers.Verdict, reason: answers.NoValidation) -> answers.Validation:
    return answers.Validation(
        results=results,
        items=[],
        counted=0,
        inside=None,
        error=None,
        error_of_median=None,
        reason=reason,
        verdict=judged,
    )


def _of_metric(definition: StoredDefinition, metric: str | None) -> str:
    """Return "of" and the label of a metric, for sentences about its model; empty for the objective."""
    return "" if metric is None else f" of {Labels.of(definition).metric(metric)}"


def _repeated_results(rows: Iterable[ObservationRow]) -> frozenset[int]:
    """Return the numbers of the results that share their point with another one."""
    points = {each.seq: json.dumps(each.parameters, sort_keys=True) for each in rows}
    counts = Counter(points.values())
    return frozenset(seq for seq, point in points.items() if counts[point] > 1)


def _as_suggested(
    result: JudgedResult, row: ObservationRow, trial: TrialRow | None, metric: str | None
) -> Suggested | None:
    """Return a result with the interval that the model gave when it suggested the point, widened by the noise. None if
    there is no such interval, or if the result is at other values than suggested."""
    expected = None if trial is None else trial.expected
    if expected is not None and metric is not None:
        expected = (expected.get("metrics") or {}).get(metric)
    if trial is None or expected is None or not {"mean", "lcb", "ucb"} <= expected.keys():
        return None
    if any(row.parameters.get(name) != value for name, value in trial.parameters.items()):
        return None
    mean, noise = expected["mean"], INTERVAL * result.noise
    return Suggested(
        result.value,
        mean - math.hypot(mean - expected["lcb"], noise),
        mean + math.hypot(expected["ucb"] - mean, noise),
    )


def _errors(items: Sequence[answers.ValidationItem]) -> Errors:
    """Return the mean absolute errors of predictions, and of the median of the other results as a prediction."""
    values, means = np.array([each.value for each in items]), np.array([each.mean for each in items])
    size = float(np.abs(values).max()) or 1.0  # the values are divided by this, so that differences do not overflow
    off, of_median = np.abs(values / size - means / size), np.abs(values / size - _medians(values / size))
    return Errors(*(_in_floating_point(float(each.mean()) * size) for each in (off, of_median)))


def _medians(values: Array) -> Array:
    """Return, for each value, the median of the other values, (n,)."""
    order = np.argsort(values, kind="stable")
    ranks, others = np.empty(len(values), dtype=np.int64), len(values) - 1
    ranks[order] = np.arange(len(values))
    ends = [(others - 1) // 2, others // 2]
    both = [values[order][np.clip(np.where(ranks <= end, end + 1, end), 0, others)] for end in ends]
    middle: Array = both[0] / 2.0 + both[1] / 2.0
    return middle


def _in_floating_point(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _check_metric(service: Service, study_id: str, metric: str | None) -> None:
    check_metric(definition_of(row(service, study_id).definition), metric)


def slice_through(
    service: Service, study_id: str, names: Sequence[str], points: int | None, at: Mapping[str, Any]
) -> answers.Slice:
    """Return the posterior along one or two parameters.

    Args:
        service: the running service.
        study_id: the study's id.
        names: the parameters that vary.
        points: the maximum number of values per parameter; None for the default.
        at: fixed values of other parameters. Parameters that are not given here have the values of the recommended
            point, unless such a value makes a varying parameter inactive.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: a parameter does not exist, a value is invalid, there are too many points, or the fixed values make a
            varying parameter inactive.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
        Contention: the space was edited during every attempt.
    """
    return repeating(service.timeouts.contention)(_slice_through, service, study_id, names, points, at)


def _slice_through(
    service: Service, study_id: str, names: Sequence[str], points: int | None, at: Mapping[str, Any]
) -> answers.Slice:
    before = row(service, study_id)
    space = definition_of(before.definition).space()
    field_errors = [
        *_errors_in_names(space, names),
        *_errors_in_values(space, names, at),
        *_errors_in_count(names, points),
    ]
    if field_errors := field_errors or _errors_in_conditions(space, names, at):
        raise Invalid(field_errors)
    order = [axis.name for axis in space.axes]
    base = {i: axis.encode(at[axis.name]) for i, axis in enumerate(space.axes) if axis.name in at}
    axes, count = [order.index(name) for name in names], points or POINTS[len(names)]
    after, found = service.ask(study_id, "slice_through", axes, count, base)
    check_same_space(before, after)
    return answers.Slice(
        results=found.results,
        axes=[answers.SliceAxis(name=name, values=line) for name, line in zip(names, found.values, strict=True)],
        at={name: value for name, value in found.at.items() if name not in names},
        predictions=[render.prediction(each) for each in found.predictions],
    )


def partition(
    service: Service, study_id: str, after: int, limit: int, status: CellStatus | None, metric: str | None = None
) -> tuple[list[answers.PartitionCell], int | None]:
    """Return up to ``limit`` cells in order of creation, with predictions of a metric or, by default, of the objective.

    The first ``after`` cells are skipped; ``status`` restricts the cells to one status. The second value returned is
    the ``after`` of the next page; None if this page is not full.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the metric does not exist, or none is given in a study with several objectives.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _check_metric(service, study_id, metric)
    _, (found, last) = service.ask(study_id, "partition", after, limit, status, metric)
    return [answers.PartitionCell(depth=each.key.count("."), **vars(each)) for each in found], last


def past_partition(service: Service, study_id: str, results: int, metric: str | None = None) -> list[CellBelief] | None:
    """Return the current cells in order of creation, each with the prediction of a model of only the first ``results``
    results. None if ``results`` exceeds ``MAX_REFITTED``, because fitting the model again would take too long.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the metric does not exist, or none is given in a study with several objectives.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _check_metric(service, study_id, metric)
    if results > MAX_REFITTED:
        return None
    found: list[CellBelief]
    _, found = service.ask(study_id, "past_partition", results, MAX_CELLS, metric)
    return found


def _by_parameter(space: Space, found: Sensitivity) -> list[answers.ParameterImportance]:
    columns = (found.first, found.first_error, found.total, found.total_error)
    rows = iter(zip(*(column.tolist() for column in columns), strict=True))
    listed = []
    for each in space.parameters:
        first, first_error, total, total_error = (0.0,) * 4 if isinstance(each, Fixed) else next(rows)
        listed.append(
            answers.ParameterImportance(
                name=each.name,
                first_order=first,
                first_order_error=first_error,
                total=total,
                total_error=total_error,
            )
        )
    return listed


def _errors_in_names(space: Space, names: Sequence[str]) -> list[FieldError]:
    """Return the errors in the names of the parameters that vary."""
    field_errors, fixed = [], {each.name for each in space.parameters if isinstance(each, Fixed)}
    for position, name in enumerate(names):
        sentence = space.problems({name: None}).get(name) if name not in _names(space) else None
        if name in fixed:
            sentence = "is fixed, so it cannot vary"
        elif name in names[:position]:
            sentence = "is given twice; give one parameter or two different ones"
        if sentence is not None:
            field_errors.append(FieldError("?parameter", f"{shown(name)} {sentence}", "invalid_parameter"))
    return field_errors


def _errors_in_values(space: Space, names: Sequence[str], at: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors in the values of the other parameters."""
    problems = space.problems(at, partial=True, is_measured=True)
    problems |= {name: "varies along the slice; leave it out" for name in names if name in at}
    return [
        FieldError(f"?at{json_pointer(name)}", f"{shown(name)} {sentence}", "invalid_point")
        for name, sentence in problems.items()
    ]


def _errors_in_conditions(space: Space, names: Sequence[str], at: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of fixed values that make the varying parameters inactive, and of parameters that are never
    active together."""
    field_errors, both = [], " and ".join(map(shown, names))
    for name, allowed in space.activity.needed(names).items():
        axis = space.activity.by_name[name]
        if not allowed:
            sentence = f"{both} are never active together, whatever the value of {shown(name)}; give one of them"
            field_errors.append(FieldError("?parameter", sentence, "invalid_parameter"))
        elif name in at and axis.bin(axis.encode(at[name])) not in allowed:
            sentence = f"{shown(name)} is {shown(at[name])}, so {both} would be inactive; leave it out"
            field_errors.append(FieldError(f"?at{json_pointer(name)}", sentence, "invalid_point"))
    return field_errors


def _errors_in_count(names: Sequence[str], points: int | None) -> list[FieldError]:
    most = MAX_VALUES[len(names)]
    if points is None or points <= most:
        return []
    return [FieldError("?points", f"must be at most {most} for {len(names)} parameters", "less_than_equal")]


def _names(space: Space) -> set[str]:
    return {each.name for each in space.parameters}
