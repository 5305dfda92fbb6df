"""GET /v1/studies/{id}/front: the Pareto front of a study with several objectives, and the hypervolume over time."""

from __future__ import annotations

from adabkb_service.contract import front as answers
from adabkb_service.contract.context import context_of
from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.model.in_context import Context, ask_in_context, known_context
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations, studies
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import render

ONE = "needs several objectives, but this study has one; the recommendation is its best point"
WITHOUT_CONSTRAINTS = "is not allowed: the study has no outcome constraints; leave it out"


def front(service: Service, study_id: str, feasible: float | None = None, context: Context = None) -> answers.Front:
    """Return the Pareto front of the results, and the front of the model: the evaluated points whose predictions no
    other point's predictions dominate. With context parameters, predictions are for the given context.

    Args:
        service: the running service.
        study_id: the study's id.
        feasible: minimum probability with which points on the model's front satisfy the outcome constraints; None for
            the default.
        context: values of the context parameters by name, or ``LATEST`` for those of the latest result. With None, the
            model's front is empty in a study with context parameters.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: the study has one objective, a probability is given without outcome constraints, or the context does
            not match the study.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
        Contention: a context is given, and the space was edited during every attempt.
    """
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
    check_several(definition)
    check_constrained(definition, feasible)
    required = FEASIBLE if feasible is None else feasible
    known = known_context(service, study_id, context)
    if known is None:
        study, found = service.ask(study_id, "front", {}, required)
    else:
        study, found = ask_in_context(service, study_id, known, "front", required)
    has_points = known is not None or not context_of(definition.parameters)
    return answers.Front(
        objectives=_objectives(definition, found.reference),
        results=len(found.growth),
        hypervolume=found.growth[-1][1] if found.growth else None,
        history=_steps(found.growth),
        observed=_observed_front(service, study, found.results),
        model=[
            answers.FrontEstimate(parameters=parameters, probability=probability, **prediction.as_json())
            for parameters, prediction, probability in (found.points if has_points else [])
        ],
    )


def check_several(definition: StudyDefinition) -> None:
    """Check that a study has several objectives.

    Raises:
        Invalid: the study has only one.
    """
    if not definition.objectives:
        raise Invalid([FieldError("/front", ONE, "one_objective")])


def check_constrained(definition: StudyDefinition, feasible: float | None) -> None:
    """Check that a study has outcome constraints, if ``feasible`` gives a probability of satisfying them.

    Raises:
        Invalid: the study has none.
    """
    if feasible is not None and not definition.outcome_constraints:
        raise Invalid([FieldError("?feasible_probability", WITHOUT_CONSTRAINTS, "no_outcome_constraints")])


def check_metric(definition: StudyDefinition, metric: str | None) -> None:
    """Check that a study has the given metric. Without a metric, check that the study has a single objective.

    Raises:
        Invalid: the metric does not exist, or none is given in a study with several objectives.
    """
    names = [each.name for each in definition.metrics_with_bounds]
    if metric is None and definition.objectives:
        sentence = f"is required, because the study has several objectives: one of {', '.join(names)}"
        raise Invalid([FieldError("?metric", sentence, "missing")])
    if metric is not None and metric not in names:
        known = f"one of {', '.join(names)}" if names else "left out, because the study has no metrics"
        raise Invalid([FieldError("?metric", f"must be {known}", "unknown_metric")])


def _objectives(definition: StudyDefinition, reference: dict[str, float]) -> list[answers.FrontObjective]:
    return [
        answers.FrontObjective(
            metric=each.metric,
            direction=each.direction,
            reference=reference[each.metric],
            learned=each.reference is None,
        )
        for each in definition.objectives
    ]


def _steps(growth: list[tuple[int, float]]) -> list[answers.Growth]:
    """Return the steps at which the hypervolume increased."""
    before = [0.0, *(volume for _, volume in growth)]
    return [
        answers.Growth(observation=seq, hypervolume=volume)
        for (seq, volume), last in zip(growth, before, strict=False)
        if volume > last
    ]


def _observed_front(service: Service, study: StudyRow, results: list[int]) -> list[answers.FrontPoint]:
    definition = definition_of(study.definition)
    space = definition.space()
    with service.database.reading() as connection:
        rows = observations.of_numbers(connection, study.id, results)
    found = [
        answers.FrontPoint(observation=each.seq, trial=each.trial, parameters=each.parameters, metrics=each.metrics)
        for each in (render.observation(row, definition, space) for row in rows)
    ]
    goals = [metric for metric in metrics_of(study.definition) if metric.goal]
    return [point for point in found if all(each.is_useful(point.metrics[each.name]) for each in goals)] or found
