"""What a study's model says: /recommendation, /predict, /model, /tree, /dictionary"""

from __future__ import annotations

from fastapi import APIRouter, Response

from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, PageDep, ServiceDep, StudyId, encoded, reply
from adabkb_service.api.problems import responses
from adabkb_service.contract import answers as views
from adabkb_service.contract.requests import Listing, PredictBody
from adabkb_service.operations import predict

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["model"], route_class=StrictRoute)


@router.get("/recommendation", operation_id="getRecommendation", responses=responses(404, 422))
def get_recommendation(study_id: StudyId, service: ServiceDep) -> views.Recommendation:
    """The best point by the model and by observation, always both."""
    return predict.recommendation(service, study_id)


@router.post(
    "/predict",
    operation_id="predict",
    response_model=views.Predictions,
    responses=responses(400, 404, 413, 415, 422),
)
def predict_points(study_id: StudyId, body: PredictBody, service: ServiceDep, key: KeyDep) -> Response:
    """The posterior at some points. The study does not change; with a key, a repeated call gets the same answer."""
    return reply(predict.predict(service, study_id, body.points, key))


@router.get("/model", operation_id="getModel", responses=responses(404, 422))
def get_model(study_id: StudyId, service: ServiceDep) -> views.Model:
    """The model in numbers."""
    return predict.model(service, study_id)


@router.get("/tree", operation_id="listCells", responses=responses(404, 422))
def list_cells(study_id: StudyId, service: ServiceDep, page: PageDep) -> Listing[views.Cell]:
    """Cells of the partition tree in order of creation."""
    cells, last = predict.tree(service, study_id, page.after, page.limit)
    return Listing(items=cells, next_cursor=None if last is None else encoded(last))


@router.get("/dictionary", operation_id="listDictionary", responses=responses(404, 422))
def list_dictionary(study_id: StudyId, service: ServiceDep, page: PageDep) -> Listing[views.DictionaryPoint]:
    """Points of the dictionary in order of first observation."""
    # Ordinals begin at 0, so the first page starts after -1.
    after = -1 if page.cursor is None else page.after
    points = predict.dictionary(service, study_id, after, page.limit)
    return Listing(items=points, next_cursor=page.cursor_after(len(points), points[-1].ordinal if points else 0))
