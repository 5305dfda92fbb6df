"""Queries of a study's model: its recommendation, predictions, statistics, cells and dictionary.

The model processes the whole log before it answers. These operations do not change the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from adabkb_service.contract import model as answers
from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Best
from adabkb_service.contract.context import context_of
from adabkb_service.contract.front import Front
from adabkb_service.contract.stored import StoredDefinition, definition_of, is_edited
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.errors import ModelCannotFold, Unavailable
from adabkb_service.inference.proposals import Expected, Recommended
from adabkb_service.operations.model.front import check_constrained, front
from adabkb_service.operations.model.in_context import (
    Context,
    ask_in_context,
    check_same_space,
    known_context,
    slice_of,
)
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations, studies
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study import render
from adabkb_service.study.best import as_best, best_of
from adabkb_service.study.contention import repeating
from adabkb_service.study.point_checks import checked_point


def recommendation(
    service: Service, study_id: str, feasible: float | None = None, context: Context = None
) -> answers.Recommendation:
    """Return the best point according to the model and the best observation.

    The model's point is None if the model does not answer. With too few results to rely on it, the answer says so.
    Both points are None with several objectives (the answer then has the model's front), and if the study needs a
    context and none is known.

    Args:
        service: the running service.
        study_id: the study's id.
        feasible: minimum probability with which the model's point satisfies the outcome constraints; None for the
            default.
        context: values of the context parameters by name, or ``LATEST`` for those of the latest result; None for none.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: a probability is given without outcome constraints, or the context does not match the study.
        Busy: too many requests wait for the model.
        Unavailable: the study has several objectives, and the model does not answer.
        Contention: a context is given, and the space was edited during every attempt.
    """
    definition = definition_of(row(service, study_id).definition)
    reason: answers.RecommendationReason
    if definition.objectives:
        points = front(service, study_id, feasible, context)
        reason = _reason_for_front(definition, points, context)
        return answers.Recommendation(model=None, observed=None, gap=None, front=points.model, reason=reason)
    check_constrained(definition, feasible)
    known = known_context(service, study_id, context)
    if not known and not context_of(definition.parameters):
        known = None
    elif known is None:
        why: answers.RecommendationReason = "context_needed" if context is None else "no_results"
        return answers.Recommendation(model=None, observed=None, gap=None, reason=why)
    by_model, required = None, FEASIBLE if feasible is None else feasible
    reason = "no_results"
    try:
        study, found, gap = _ask_recommendation(service, study_id, required, known)
    except Unavailable as error:
        study = row(service, study_id)
        gap = None if study.model is None else study.model["gap"]
        if study.observations:
            reason = model_reason(service, study, error)
    else:
        by_model = None if found is None else render.recommended(found)
    observed = render.best(study) if known is None else _best_in_context(service, study, known)
    caution = _caution(study, definition, by_model, observed, required)
    return answers.Recommendation(
        model=by_model,
        observed=observed,
        gap=render.gap(study, gap),
        required_probability=required if definition.outcome_constraints else None,
        reason=caution or (reason if by_model is None else None),
    )


def _reason_for_front(definition: StoredDefinition, found: Front, context: Context) -> answers.RecommendationReason:
    """Return why there is no best point in a study with several objectives, and why there is no front if it is
    empty."""
    if not found.results:
        return "no_results"
    needs_context = context is None and bool(context_of(definition.parameters))
    return "context_needed" if needs_context else "several_objectives"


def _ask_recommendation(
    service: Service, study_id: str, required: float, context: Mapping[str, Any] | None
) -> tuple[StudyRow, Recommended | None, float | None]:
    """Return the study, the model's point, and the gap. The gap is None if a context is given."""
    if context is None:
        tolerance = row(service, study_id).tolerance or 0.0
        study, (found, gap) = service.ask(study_id, "recommended", required, tolerance)
        return study, found, gap
    study, found = ask_in_context(service, study_id, context, "recommended_within", required, 0.0)
    return study, found, None


def _best_in_context(service: Service, study: StudyRow, context: Mapping[str, Any]) -> Best | None:
    """Return the best observation in a context. With outcome constraints or an edited space, no query can order the
    observations, so all are read; otherwise only those up to the best one in the context."""
    within, definition = slice_of(study, context), definition_of(study.definition)

    def is_there(row: ObservationRow) -> bool:
        return within.agrees(within.space.present(row.parameters) or {})

    maximize = study.definition.get("direction") == "maximize"
    with (
        service.database.reading() as connection,
        closing(observations.from_best(connection, study.id, maximize=maximize)) as ordered,
    ):
        there = filter(is_there, ordered)
        is_ordered = "outcome_constraints" not in study.definition and not is_edited(study.definition)
        found = best_of(study, definition, islice(there, 1) if is_ordered else there)
    best = as_best(study, definition, found)
    return None if best is None else Best(**best)


def model_reason(service: Service, study: StudyRow, error: Unavailable) -> answers.RecommendationReason:
    """Return why the model does not answer."""
    if service.is_loading:
        return "model_loading"
    return "model_failed" if study.model_error or isinstance(error, ModelCannotFold) else "model_busy"


def _caution(
    study: StudyRow,
    definition: StoredDefinition,
    by_model: answers.ModelRecommendation | None,
    observed: Best | None,
    required: float,
) -> answers.RecommendationReason | None:
    """Return why one should not rely on a recommendation: the best observation violates the outcome constraints; there
    are too few results; or the model's point satisfies the constraints with less than the required probability.
    Otherwise None."""
    if definition.outcome_constraints and observed is not None and not observed.feasible:
        return "nothing_feasible"
    is_auto = isinstance(definition.algorithm, AutoProfile)
    if by_model is not None and is_auto and study.observations < Domain(definition.space()).fewest_results:
        return "too_few_results"
    probability = None if by_model is None else by_model.feasible_probability
    return "nothing_certain" if probability is not None and probability < required else None


def predict(service: Service, study_id: str, points: Sequence[Mapping[str, Any]]) -> answers.Predictions:
    """Return the posterior at some points.

    Raises:
        StudyNotFound: the study does not exist.
        Invalid: a point is not in the space.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
        Contention: the space was edited during every attempt.
    """
    found = repeating(service.timeouts.contention)(_ask_predictions, service, study_id, points)
    return answers.Predictions(predictions=[render.prediction(each) for each in found])


def _ask_predictions(service: Service, study_id: str, points: Sequence[Mapping[str, Any]]) -> list[Expected]:
    before = row(service, study_id)
    space = definition_of(before.definition).space()
    checked = [checked_point(space, point, f"/points/{i}", is_measured=True) for i, point in enumerate(points)]
    after, found = service.ask(study_id, "predicted", np.array([space.encode(point) for point in checked]))
    check_same_space(before, after)
    predictions: list[Expected] = found
    return predictions


def model(service: Service, study_id: str) -> answers.Model:
    """Return the statistics of the model or, if it does not answer, the last stored ones.

    Raises:
        StudyNotFound: the study does not exist.
        Busy: too many requests wait for the model.
    """
    try:
        study, stats = service.ask(study_id, "model_stats")
    except Unavailable:
        study = row(service, study_id)
        stats = {**(study.model or _first_stats(study)), "learned": study.checkpoint}
    summary, algorithm = dict(render.model_summary(study)), definition_of(study.definition).algorithm
    figures = {**summary, **stats, "rests_on": stats["rests_on"] or None}
    return answers.Model(**figures, algorithm=algorithm, seed=study.seed)


def _first_stats(study: StudyRow) -> ModelStats:
    """Return the statistics of a new study's model."""
    # Imported here, since a server process seldom needs the engine.
    from adabkb_service.inference.restore import start  # noqa: PLC0415

    return start(study).stats()


def tree(service: Service, study_id: str, after: int, limit: int) -> tuple[list[answers.Cell], int | None]:
    """Return up to ``limit`` cells in order of creation, without the first ``after``. The second value returned is the
    ``after`` of the next page; None if this page is not full.

    Raises:
        StudyNotFound: the study does not exist.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _, (found, last) = service.ask(study_id, "boxes", after, limit)
    return [answers.Cell(depth=each.key.count("."), **vars(each)) for each in found], last


def dictionary(service: Service, study_id: str, after: int, limit: int) -> list[answers.DictionaryPoint]:
    """Return up to ``limit`` points of the dictionary with ordinals above ``after``, ordered by ordinal.

    Raises:
        StudyNotFound: the study does not exist.
        Busy, Unavailable: the model does not answer; see ``Service.ask``.
    """
    _, found = service.ask(study_id, "members", after, limit)
    return [answers.DictionaryPoint(ordinal=ordinal, parameters=parameters) for ordinal, parameters in found]


def row(service: Service, study_id: str) -> StudyRow:
    """Return the stored row of a study.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        return studies.get(connection, study_id)
