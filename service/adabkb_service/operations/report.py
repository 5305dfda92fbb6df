"""What a study knows: lists of its rows, and what its model says. Nothing here changes a study, except that the
model may first follow the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adabkb_service.contract import answers as views
from adabkb_service.errors import Unavailable
from adabkb_service.inference.model import Array, start
from adabkb_service.inference.models import Followed
from adabkb_service.inference.pool import Shelf
from adabkb_service.operations.retry import retried
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, observations, studies, trials
from adabkb_service.storage import model as rows
from adabkb_service.storage.rows import StudyRow, TrialState
from adabkb_service.study import idempotency, lifecycle, render
from adabkb_service.study.draft import changing
from adabkb_service.study.idempotency import Key, Outcome
from adabkb_service.study.points import checked_point

Point = dict[str, Any]


def trial(service: Service, study_id: str, number: int) -> views.Trial:
    """A trial.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return render.trial(trials.get(connection, study_id, number))


def list_trials(
    service: Service, study_id: str, *, state: TrialState | None, after: int, limit: int
) -> list[views.Trial]:
    """Trials by number, those after one number."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = trials.page(connection, study_id, state=state, after=after, limit=limit)
    return [render.trial(row) for row in found]


def list_observations(service: Service, study_id: str, after: int, limit: int) -> list[views.Observation]:
    """Observations by seq, those after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = observations.page(connection, study_id, after, limit)
    return [render.observation(row) for row in found]


def list_events(service: Service, study_id: str, after: int, limit: int) -> list[views.Event]:
    """The log in order, after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = events.page(connection, study_id, after, limit)
    return [render.event(row) for row in found]


@retried
def recommendation(service: Service, study_id: str) -> views.Recommendation:
    """The best point by the model (null while it is out of order) and by observation, always both."""
    by_model = None
    with service.models.lock(study_id):
        followed = service.models.follow(study_id)
        study = followed.study
        if followed.in_order:
            by_model = service.models.call(study, _recommended)
    return views.Recommendation(
        model=by_model, observed=render.best(study), gap=None if study.model is None else study.model["gap"]
    )


def _recommended(shelf: Shelf, study_id: str, seq: int) -> views.ModelRecommendation | None:
    model = shelf.at(study_id, seq)
    found = model.policy.recommend(model.state)
    if found is None:
        return None
    parameters = model.history.parameters_at(found.point)
    return views.ModelRecommendation(parameters=parameters, mean=model.sign * found.mean, std=found.std)


@retried
def predict(
    service: Service, study_id: str, points: Sequence[Mapping[str, Any]], key: Key | None = None
) -> Outcome[views.Predictions]:
    """The posterior at some points.

    Raises:
        Invalid: a point is not in the space.
        Unavailable: the model is out of order.
    """
    if key is not None:
        with service.database.reading() as connection:
            if known := idempotency.recall(connection, key, views.Predictions):
                return known
    outcome = Outcome(_predictions(service, study_id, points))
    if key is not None:
        with changing(service, study_id) as change:
            idempotency.store(change, key, outcome)
    return outcome


def _predictions(service: Service, study_id: str, points: Sequence[Mapping[str, Any]]) -> views.Predictions:
    with service.models.lock(study_id):
        study = _in_order(service.models.follow(study_id))
        space = lifecycle.definition_of(study).space()
        checked = [checked_point(space, point, f"/points/{i}") for i, point in enumerate(points)]
        found = service.models.call(study, _predicted, np.array([space.encode(point) for point in checked]))
    return views.Predictions(
        predictions=[views.Prediction(mean=m, std=s, lcb=low, ucb=high) for m, s, low, high in found]
    )


def _predicted(shelf: Shelf, study_id: str, seq: int, positions: Array) -> list[tuple[float, float, float, float]]:
    model = shelf.at(study_id, seq)
    found = model.policy.predict(model.state, positions)
    mean, low, high = found.mean, found.lcb, found.ucb
    if model.sign < 0:
        mean, low, high = -mean, -high, -low
    return list(zip(mean.tolist(), found.std.tolist(), low.tolist(), high.tolist(), strict=True))


@retried
def model(service: Service, study_id: str) -> views.Model:
    """The model in numbers, as of the last event it could follow.

    Raises:
        StudyNotFound: there is no such study.
    """
    with service.models.lock(study_id):
        study = service.models.follow(study_id).study
    figures = study.model or _blank_figures(study)
    summary, algorithm = dict(render.model_summary(study)), lifecycle.definition_of(study).algorithm
    return views.Model(**{**summary, **figures}, algorithm=algorithm, seed=study.seed)


def _blank_figures(study: StudyRow) -> dict[str, Any]:
    blank = start(study)
    return blank.figures(blank.state, blank.history.awaited_points())


@retried
def tree(service: Service, study_id: str, after: int, limit: int) -> tuple[list[views.Cell], int | None]:
    """Cells in order of creation, after one row id; and the id to go on after, if there may be more.

    Raises:
        Unavailable: the model is out of order.
    """
    with service.models.lock(study_id):
        study = _in_order(service.models.follow(study_id))
        with service.database.reading() as connection:
            page = rows.page_of_cells(connection, study_id, after, limit)
        boxes = service.models.call(study, _boxes, [row.key for row in page])
    cells = [
        views.Cell(key=row.key, depth=row.depth, status=row.status, low=low, high=high, centroid=centroid)
        for row, (low, high, centroid) in zip(page, boxes, strict=True)
    ]
    return cells, page[-1].id if len(page) == limit else None


def _boxes(shelf: Shelf, study_id: str, seq: int, keys: list[str]) -> list[tuple[Point, Point, Point]]:
    """Low, high and centroid of each cell."""
    model = shelf.at(study_id, seq)
    decode = model.history.space.decode
    boxes = [model.policy.cell_box(model.state, key) for key in keys]
    return [(decode(box.low), decode(box.high), decode(box.centroid)) for box in boxes]


@retried
def dictionary(service: Service, study_id: str, after: int, limit: int) -> list[views.DictionaryPoint]:
    """The dictionary's points by ordinal, after one ordinal.

    Raises:
        Unavailable: the model is out of order.
    """
    with service.models.lock(study_id):
        study = _in_order(service.models.follow(study_id))
        found = service.models.call(study, _members, after, limit)
    return [views.DictionaryPoint(ordinal=ordinal, parameters=parameters) for ordinal, parameters in found]


def _members(shelf: Shelf, study_id: str, seq: int, after: int, limit: int) -> list[tuple[int, Point]]:
    model = shelf.at(study_id, seq)
    members = [ordinal for ordinal in model.policy.dictionary(model.state) if ordinal > after][:limit]
    points = model.history.distinct_points()
    return [(ordinal, model.history.parameters_at(points[ordinal])) for ordinal in members]


def _in_order(followed: Followed) -> StudyRow:
    if not followed.in_order:
        error = followed.study.model_error
        raise Unavailable(f"The model of study {followed.study.id!r} cannot follow its log: {error}")
    return followed.study
