"""The data of charts. Scripts read most data from the API. These routes add data with fewer points."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from adabkb_service.api.admission import by_follower, needs
from adabkb_service.api.deps import StudyId, encoded
from adabkb_service.api.model_reads import ReadingDep
from adabkb_service.contract import answers
from adabkb_service.contract.parameters import Count
from adabkb_service.operations.model import analysis
from adabkb_service.operations.reports.overview import MAX_CURVES
from adabkb_service.operations.service import Service
from adabkb_service.page.deps import OverviewDep, chart, data_response
from adabkb_service.page.route import LoginRoute

data = APIRouter(include_in_schema=False, route_class=LoginRoute)
Finite = Annotated[float, Query(allow_inf_nan=False)]
MAX_EDGES = 20
"""The maximum number of edges of the parts of a parameter."""

TwoParameters = Annotated[list[str], Query(min_length=2, max_length=2)]
Edges = Annotated[list[Finite] | None, Query(max_length=MAX_EDGES)]
"""The edges of the parts of a parameter."""


@data.get("/studies/{study_id}/history.json")
@needs("read")
async def get_history(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """The data of the charts of results."""
    return await chart(request, partial(overview.history, study_id))


@data.get("/studies/{study_id}/density.json")
@needs("read")
async def get_density(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The density of the results of a large study, for the objective or a metric."""
    return await chart(request, partial(overview.density, study_id, metric))


@data.get("/studies/{study_id}/progress.json")
@needs("read")
async def get_progress(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """What a comparison shows of a study's results (``Overview.progress``), and the cursor of the next event."""

    def read() -> dict[str, Any]:
        progress = overview.progress(study_id)
        return {**progress, "cursor": encoded(progress["revision"])}

    return await chart(request, read)


@data.get("/studies/{study_id}/curves.json")
@needs("read")
async def get_curves(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    trial: Annotated[list[Count] | None, Query(max_length=MAX_CURVES)] = None,
    best: Annotated[int | None, Query(ge=1, le=MAX_CURVES)] = None,
) -> Response:
    """The learning curves of some trials, of the best ones, or of the latest ones."""
    return await chart(request, partial(overview.curves, study_id, trial or (), best))


@data.get("/studies/{study_id}/forbidden.json")
@needs("read", model=True)
async def get_forbidden(
    study_id: StudyId,
    reading: ReadingDep,
    overview: OverviewDep,
    parameter: Annotated[list[str], Query(min_length=1, max_length=2)],
) -> Response:
    """The values of one or two parameters that the constraints exclude."""
    return await reading(lambda *_: data_response(overview.forbidden(study_id, parameter)), study_id)


@data.get("/studies/{study_id}/excluded.json")
@needs("read")
async def get_excluded(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    parameter: TwoParameters,
    across: Edges = None,
    up: Edges = None,
) -> Response:
    """The combinations of parts of two parameters that the constraints exclude. ``across`` and ``up`` are the edges of
    the parts."""
    return await chart(request, partial(overview.excluded, study_id, parameter, (across or (), up or ())))


@data.get("/studies/{study_id}/tried.json")
@needs("read")
async def get_tried(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    parameter: TwoParameters,
    across: Edges = None,
    up: Edges = None,
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The combinations of parts of two parameters that have results or failed trials. ``across`` and ``up`` are the
    edges of the parts."""
    edges = (across or (), up or ())
    return await chart(request, lambda: [asdict(each) for each in overview.tried(study_id, parameter, edges, metric)])


@data.get("/studies/{study_id}/past.json")
@needs("read", model=True)
@by_follower
async def get_past(
    study_id: StudyId,
    reading: ReadingDep,
    results: Annotated[int, Query(ge=0, le=2**31 - 1)],
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Predictions and statuses of the cells after the first ``results`` results, for the replay of the partition; null
    if these results are too many."""
    return await reading(lambda service, _: data_response(_past(service, study_id, results, metric)), study_id)


def _past(service: Service, study_id: str, results: int, metric: str | None) -> list[dict[str, Any]] | None:
    cells = analysis.past_partition(service, study_id, results, metric)
    names = ("key", "status", "mean", "std", "index")
    return None if cells is None else [{name: getattr(each, name) for name in names} for each in cells]


@data.get("/studies/{study_id}/timeline.json")
@needs("read")
async def get_timeline(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """The data of the chart of workers."""
    return await chart(request, lambda: [_lease(trial) for trial in overview.timeline(study_id)])


def _lease(trial: answers.Trial) -> dict[str, Any]:
    shown = {"number", "state", "worker", "attempt", "started_at", "finished_at", "leased_until", "value"}
    return trial.model_dump(mode="json", include=shown)
