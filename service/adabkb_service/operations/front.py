"""GET /v1/studies/{id}/front: the Pareto front of a study with several objectives, and the hypervolume over time."""

from __future__ import annotations

from adabkb_service.contract import front as answers
from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations, studies
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import render

ONE = "needs several objectives, but this study has one; use /recommendation for its best point"
WITHOUT_CONSTRAINTS = "is not allowed: the study has no outcome constraints; leave it out"


def front(service: Service, study_id: str, feasible: float | None = None) -> answers.Front:
    """The results that no other one dominates, and the evaluated points of which the model says so.

    Args:
        service: the running service.
        study_id: the study's id.
        feasible: probability with which the points of the model are to keep the outcome constraints; None for the
            default.

    Raises:
        StudyNotFound: there is no such study.
        Invalid: it has one objective, or a probability is given and there are no outcome constraints.
        Unavailable: the model has failed.
    """
    with service.database.reading() as connection:
        definition = definition_of(studies.get(connection, study_id).definition)
    check_several(definition)
    check_constrained(definition, feasible)
    study, found = service.ask(study_id, "front", FEASIBLE if feasible is None else feasible)
    return answers.Front(
        objectives=_objectives(definition, found.reference),
        results=len(found.growth),
        hypervolume=found.growth[-1][1] if found.growth else None,
        history=_steps(found.growth),
        observed=_observed(service, study, found.results),
        model=[
            answers.FrontEstimate(parameters=parameters, probability=probability, **prediction.as_json())
            for parameters, prediction, probability in found.points
        ],
    )


def check_several(definition: StudyDefinition) -> None:
    """Refuse a study with one objective.

    Raises:
        Invalid: it is one.
    """
    if not definition.objectives:
        raise Invalid([FieldError("/front", ONE, "one_objective")])


def check_constrained(definition: StudyDefinition, feasible: float | None) -> None:
    """Refuse a probability of keeping outcome constraints where there are none.

    Raises:
        Invalid: it is given, and there are none.
    """
    if feasible is not None and not definition.outcome_constraints:
        raise Invalid([FieldError("?feasible_probability", WITHOUT_CONSTRAINTS, "no_outcome_constraints")])


def check_metric(definition: StudyDefinition, metric: str | None) -> None:
    """Refuse a question about a metric that the study does not have, or about no metric where there is no value.

    Raises:
        Invalid: it is such a question.
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
    """Where the hypervolume has grown."""
    before = [0.0, *(volume for _, volume in growth)]
    return [
        answers.Growth(observation=seq, hypervolume=volume)
        for (seq, volume), last in zip(growth, before, strict=False)
        if volume > last
    ]


def _observed(service: Service, study: StudyRow, results: list[int]) -> list[answers.FrontPoint]:
    definition = definition_of(study.definition)
    space = definition.space()
    with service.database.reading() as connection:
        rows = observations.of_numbers(connection, study.id, results)
    found = [render.observation(row, definition, space) for row in rows]
    return [
        answers.FrontPoint(observation=each.seq, trial=each.trial, parameters=each.parameters, metrics=each.metrics)
        for each in found
    ]
