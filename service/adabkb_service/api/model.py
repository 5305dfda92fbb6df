"""Endpoints that read a study's model: /assessment, /recommendation, /front, /predict, /importance, /validation,
/slice, /model, /partition, /tree, /dictionary"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from adabkb_service.api.admission import by_follower, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import PageDep, PageRequest, StudyId, encoded
from adabkb_service.api.model_reads import ReadingDep
from adabkb_service.api.problems import responses
from adabkb_service.contract import analysis as found
from adabkb_service.contract import assessment as assessments
from adabkb_service.contract import front as fronts
from adabkb_service.contract import model as views
from adabkb_service.contract.requests import Page, PredictBody
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.model import analysis, assessment, front, predict
from adabkb_service.operations.model.in_context import LATEST, Context
from adabkb_service.operations.service import Service
from adabkb_service.storage.rows import CellStatus

FeasibleProbability = Annotated[
    float | None,
    Query(
        gt=0,
        lt=1,
        description=f"required probability that the model's point satisfies the outcome constraints; by default "
        f"{FEASIBLE}",
    ),
]
ContextText = Annotated[
    str | None,
    Query(
        description='JSON object with the values of all context parameters, if any, such as {"humidity": 0.4}; or '
        "latest, for the context of the latest result",
        max_length=4_000,
    ),
]
OfMetric = Annotated[
    str | None,
    Query(description="metric; by default the objective; required in a study with several objectives"),
]

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["model"], route_class=StrictRoute)


@router.get(
    "/assessment", operation_id="getAssessment", response_model=assessments.Assessment, responses=responses(404, 422)
)
@needs("read", model=True)
@by_follower
async def get_assessment(study_id: StudyId, reading: ReadingDep) -> Response:
    """A summary of the study in a few sentences, with the facts behind them and warnings. If the model does not answer,
    the parts that depend on it are missing."""
    return await reading(assessment.assessment, study_id)


@router.get(
    "/recommendation",
    operation_id="getRecommendation",
    response_model=views.Recommendation,
    responses=responses(404, 422),
)
@needs("read", model=True)
@by_follower
async def get_recommendation(
    study_id: StudyId,
    reading: ReadingDep,
    feasible_probability: FeasibleProbability = None,
    context: ContextText = None,
) -> Response:
    """The best point according to the model and the best observation; with several objectives, the model's front."""
    known = _context(context)
    return await reading(predict.recommendation, study_id, feasible_probability, known)


@router.get("/front", operation_id="getFront", response_model=fronts.Front, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def get_front(
    study_id: StudyId,
    reading: ReadingDep,
    feasible_probability: FeasibleProbability = None,
    context: ContextText = None,
) -> Response:
    """The Pareto front of a study with several objectives, and the hypervolume over time. With context parameters, the
    model's front is that in the given context."""
    known = _context(context)
    return await reading(front.front, study_id, feasible_probability, known)


@router.post(
    "/predict",
    operation_id="predict",
    response_model=views.Predictions,
    responses=responses(400, 404, 413, 415, 422),
)
@needs("read", model=True)
@by_follower
async def predict_points(study_id: StudyId, body: PredictBody, reading: ReadingDep) -> Response:
    """The posterior at given points. The study does not change, so a repeated call needs no key."""
    return await reading(predict.predict, study_id, body.points)


@router.get("/importance", operation_id="getImportance", response_model=found.Importance, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def get_importance(study_id: StudyId, reading: ReadingDep, metric: OfMetric = None) -> Response:
    """Which parameters the objective depends on: Sobol' indices of the posterior mean over the space."""
    return await reading(analysis.importance, study_id, metric)


@router.get("/validation", operation_id="getValidation", response_model=found.Validation, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def get_validation(study_id: StudyId, reading: ReadingDep, metric: OfMetric = None) -> Response:
    """Leave-one-out validation: each result and the model's prediction of it from the others."""
    return await reading(analysis.validation, study_id, metric)


@router.get("/slice", operation_id="getSlice", response_model=found.Slice, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def get_slice(
    study_id: StudyId,
    reading: ReadingDep,
    parameter: Annotated[
        list[str], Query(description="parameter to vary; give two for a grid", min_length=1, max_length=2)
    ],
    points: Annotated[
        int | None,
        Query(
            ge=2,
            le=analysis.MAX_POINTS,
            description="maximum number of values per parameter; by default 50, or 25 (at most 31) for two parameters",
        ),
    ] = None,
    at: Annotated[
        str | None,
        Query(
            description='JSON object with values of other parameters, such as {"gamma": 0.1}; the rest are as in the '
            "recommended point",
            max_length=4_000,
        ),
    ] = None,
) -> Response:
    """The posterior along one or two parameters."""
    return await reading(analysis.slice_through, study_id, parameter, points, {} if at is None else _object("at", at))


@router.get("/model", operation_id="getModel", response_model=views.Model, responses=responses(404, 422))
@needs("read", model=True)
@by_follower
async def get_model(study_id: StudyId, reading: ReadingDep) -> Response:
    """The statistics and the learned parameters of the model."""
    return await reading(predict.model, study_id)


@router.get(
    "/partition",
    operation_id="listPartition",
    response_model=Page[found.PartitionCell],
    responses=responses(404, 422),
)
@needs("read", model=True)
@by_follower
async def list_partition(
    study_id: StudyId,
    reading: ReadingDep,
    page: PageDep,
    status: Annotated[CellStatus | None, Query(description="status of the cells to list; by default all")] = None,
    metric: OfMetric = None,
) -> Response:
    """Cells of the partition tree in order of creation, with the model's prediction for each."""
    return await reading(_partition, study_id, page, status, metric)


def _partition(
    service: Service, study_id: str, page: PageRequest, status: CellStatus | None, metric: str | None
) -> Page[found.PartitionCell]:
    cells, last = analysis.partition(service, study_id, page.after, page.limit, status, metric)
    return Page(items=cells, next_cursor=None if last is None else encoded(last))


@router.get("/tree", operation_id="listCells", response_model=Page[views.Cell], responses=responses(404, 422))
@needs("read")
@by_follower
async def list_cells(study_id: StudyId, reading: ReadingDep, page: PageDep) -> Response:
    """Cells of the partition tree in order of creation."""
    return await reading(_tree, study_id, page)


def _tree(service: Service, study_id: str, page: PageRequest) -> Page[views.Cell]:
    cells, last = predict.tree(service, study_id, page.after, page.limit)
    return Page(items=cells, next_cursor=None if last is None else encoded(last))


@router.get(
    "/dictionary",
    operation_id="listDictionary",
    response_model=Page[views.DictionaryPoint],
    responses=responses(404, 422),
)
@needs("read")
@by_follower
async def list_dictionary(study_id: StudyId, reading: ReadingDep, page: PageDep) -> Response:
    """Points of the dictionary in order of first observation."""
    return await reading(_dictionary, study_id, page)


def _dictionary(service: Service, study_id: str, page: PageRequest) -> Page[views.DictionaryPoint]:
    # Ordinals begin at 0, so the first page starts after -1.
    after = -1 if page.cursor is None else page.after
    points = predict.dictionary(service, study_id, after, page.limit)
    return Page(items=points, next_cursor=page.cursor_after(len(points), points[-1].ordinal if points else 0))


def _context(text: str | None) -> Context:
    """Return the context in a query parameter."""
    if text is None:
        return None
    return LATEST if text == LATEST else _object("context", text)


def _object(name: str, text: str) -> dict[str, Any]:
    """Return the value of a query parameter that is a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Invalid([FieldError(f"?{name}", 'must be a JSON object, such as {"gamma": 0.1}', f"invalid_{name}")])
    return value
