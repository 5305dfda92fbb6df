"""What a study knows: lists of its rows, and what its model says. Nothing here changes a study, except that the
model may first follow the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adabkb_service.errors import Unavailable
from adabkb_service.operations import render, views
from adabkb_service.operations.model import Model, start
from adabkb_service.operations.models import Followed
from adabkb_service.operations.points import checked_point
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, observations, studies, trials
from adabkb_service.storage import model as rows
from adabkb_service.storage.rows import TrialState


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


def recommendation(service: Service, study_id: str) -> views.Recommendation:
    """The best point by the model (null while it is out of order) and by observation, always both."""
    by_model = None
    with service.models.lock(study_id):
        followed = service.models.follow(study_id)
        model = followed.model
        if model is not None and (found := model.policy.recommend(model.state)) is not None:
            parameters = model.history.parameters_at(found.point)
            by_model = views.ModelRecommendation(parameters=parameters, mean=model.sign * found.mean, std=found.std)
    study = followed.study
    with service.database.reading() as connection:
        best = observations.best(connection, study_id, maximize=study.definition["direction"] == "maximize")
    return views.Recommendation(
        model=by_model, observed=render.best(best), gap=None if study.model is None else study.model["gap"]
    )


def predict(service: Service, study_id: str, points: Sequence[Mapping[str, Any]]) -> views.Predictions:
    """The posterior at some points.

    Raises:
        Invalid: a point is not in the space.
        Unavailable: the model is out of order.
    """
    model, state = _model(service, study_id)
    space = model.history.space
    checked = [checked_point(space, point, f"/points/{i}") for i, point in enumerate(points)]
    found = model.policy.predict(state, np.array([space.encode(point) for point in checked]))
    mean, low, high = found.mean, found.lcb, found.ucb
    if model.sign < 0:
        mean, low, high = -mean, -high, -low
    return views.Predictions(
        predictions=[
            views.Prediction(mean=m, std=s, lcb=low, ucb=high)
            for m, s, low, high in zip(mean.tolist(), found.std.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
    )


def model(service: Service, study_id: str) -> views.Model:
    """The model in numbers, as of the last event it could follow.

    Raises:
        StudyNotFound: there is no such study.
    """
    with service.models.lock(study_id):
        study = service.models.follow(study_id).study
    summary, blank = dict(render.model_summary(study)), start(study)
    figures = study.model or blank.figures(blank.state, blank.history.awaited_points())
    return views.Model(**{**summary, **figures}, algorithm=blank.definition.algorithm, seed=study.seed)


def tree(service: Service, study_id: str, after: int, limit: int) -> tuple[list[views.Cell], int | None]:
    """Cells in order of creation, after one row id; and the id to go on after, if there may be more.

    Raises:
        Unavailable: the model is out of order.
    """
    found, state = _model(service, study_id)
    decode = found.history.space.decode
    with service.database.reading() as connection:
        page = rows.page_of_cells(connection, study_id, after, limit)
    cells = []
    for row in page:
        box = found.policy.cell_box(state, row.key)
        cells.append(
            views.Cell(
                key=row.key,
                depth=row.depth,
                status=row.status,
                low=decode(box.low),
                high=decode(box.high),
                centroid=decode(box.centroid),
            )
        )
    return cells, page[-1].id if len(page) == limit else None


def dictionary(service: Service, study_id: str, after: int, limit: int) -> list[views.DictionaryPoint]:
    """The dictionary's points by ordinal, after one ordinal.

    Raises:
        Unavailable: the model is out of order.
    """
    with service.models.lock(study_id):
        found = _in_order(service.models.follow(study_id))
        members = [ordinal for ordinal in found.policy.dictionary(found.state) if ordinal > after][:limit]
        points, parameters_at = found.history.distinct_points(), found.history.parameters_at
        return [views.DictionaryPoint(ordinal=o, parameters=parameters_at(points[o])) for o in members]


def _model(service: Service, study_id: str) -> tuple[Model, Any]:
    """The model, and its state of just now (the model moves on, a state does not)."""
    with service.models.lock(study_id):
        found = _in_order(service.models.follow(study_id))
        return found, found.state


def _in_order(followed: Followed) -> Model:
    if followed.model is None:
        error = followed.study.model_error
        raise Unavailable(f"The model of study {followed.study.id!r} cannot follow its log: {error}")
    return followed.model
