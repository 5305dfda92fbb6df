"""The pages /, /new, /trash and /studies/{id}, and the data of their charts. Scripts read most data from the API. These
routes add sorted lists, and charts' data with fewer points.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from adabkb_service.access.caller import Caller
from adabkb_service.api.admission import CallerDep, needs, not_for_links
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import Number, ServiceDep, StudyId, encoded
from adabkb_service.api.model_reads import ReadingDep
from adabkb_service.api.parts import parts_of
from adabkb_service.contract import answers
from adabkb_service.contract.parameters import Count
from adabkb_service.contract.pasted import PastedRows, UndoImportBody
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.auto.failures import FEWEST
from adabkb_service.operations import files
from adabkb_service.operations.access import sharing, tokens
from adabkb_service.operations.data import sheet, trash
from adabkb_service.operations.data.known_rows import known_rows
from adabkb_service.operations.model import analysis, unusual
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.model.why import why
from adabkb_service.operations.queue import repeated_point
from adabkb_service.operations.reports import report_in_words
from adabkb_service.operations.reports.overview import MAX_CURVES, Overview
from adabkb_service.operations.reports.study_report import study_report
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage, read
from adabkb_service.operations.studies.preview import preview
from adabkb_service.operations.studies.template import template
from adabkb_service.operations.undo_import import undo_import
from adabkb_service.operations.webhooks import webhooks
from adabkb_service.operations.words import columns_in_words, wording
from adabkb_service.page.rendering import HEADERS, page
from adabkb_service.page.route import LoginRoute, PageRoute, wants_page
from adabkb_service.storage.files import Holder
from adabkb_service.storage.result_table import RowKind, Sort
from adabkb_service.storage.rows import StudyState

STUDIES_PER_PAGE = 25
ROWS_PER_PAGE = 50
"""Rows per page of the table of results."""
MAX_ACTIVE = 50
"""The maximum number of active trials that are listed."""
MAX_LINKS = 100
"""The maximum number of links to a study that are listed."""
MAX_DELETIONS = 100
"""The maximum number of studies in the trash that are listed."""
MAX_EVENTS = 5000
"""The maximum number of events of a study up to which the page of a trial includes the explanation; otherwise, the page
loads it."""
MAX_COMPARED, MAX_OFFERED = 12, 200
"""The maximum numbers of studies that are compared, and that are offered for comparison."""
MAX_PRINTED = 5000
"""The maximum number of results, and trials without one, in the report page; the Markdown report has all of them."""
FEED = 40
"""Number of past events at the top of the feed."""

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
data = APIRouter(include_in_schema=False, route_class=LoginRoute)
bodies = APIRouter(include_in_schema=False, route_class=StrictRoute)
"""Routes with a body as in the API. Their errors are problem documents."""


async def _overview(request: Request) -> Overview:
    return parts_of(request.app).overview


Finite = Annotated[float, Query(allow_inf_nan=False)]
MAX_EDGES = 20
"""The maximum number of edges of the parts of a parameter."""
OverviewDep = Annotated[Overview, Depends(_overview)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=10**6)]
Order = Literal["asc", "desc"]


@data.get("/studies")
@data.get("/")
@needs("read")
def get_studies(
    request: Request,
    service: ServiceDep,
    overview: OverviewDep,
    caller: CallerDep,
    text: Annotated[str, Query(max_length=200)] = "",
    state: StudyState | Literal[""] = "",
    number: PageNumber = 1,
) -> Response:
    """The list of studies. Programs are redirected to the API page."""
    if not wants_page(request):
        return RedirectResponse("docs", headers={"Vary": "Accept"})
    text = text.replace("\0", "")
    offset = (number - 1) * STUDIES_PER_PAGE
    found = overview.studies(text, state or None, offset, STUDIES_PER_PAGE, manage.readable(caller))
    count = sum(found.counts.values()) if not state else found.counts.get(state, 0)
    context: dict[str, Any] = {
        "text": text,
        "state": state,
        "number": number,
        "count": count,
        "per_page": STUDIES_PER_PAGE,
        "has_deleted": not found.lines and caller.has("work") and bool(trash.page(service, caller, 0, 1)),
    }
    return page(request, "studies.html", lines=found.lines, counts=found.counts, **context)


@pages.get("/compare")
@needs("read")
@not_for_links
def get_comparison(
    request: Request, overview: OverviewDep, caller: CallerDep, study: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Compare studies. The page loads each study separately, so it shows only those that the user may read."""
    chosen = list(dict.fromkeys(each.strip()[:100] for each in study or [] if each.strip()))[:MAX_COMPARED]
    others = overview.studies("", None, 0, MAX_OFFERED, manage.readable(caller)).lines
    offered = [each.study for each in others if each.study.id not in chosen]
    titles = {each.study.id: each.study.title for each in others}
    return page(request, "compare.html", chosen=chosen, titles=titles, offered=offered, most=MAX_COMPARED)


@pages.get("/new")
@needs("work")
async def get_form(request: Request, like: Annotated[str, Query(max_length=100)] = "") -> Response:
    """The form for a new study. With ``like``, the page fills it in from an older study, which it loads separately."""
    return page(request, "new.html", study=None, like=like.replace("\0", ""))


@pages.get("/studies/{study_id}/edit")
@needs("work")
def get_editor(request: Request, study_id: StudyId, service: ServiceDep) -> Response:
    """The form for the space and the stopping rules of a running study."""
    study = service.do(manage.get(study_id)).view
    return page(request, "new.html", study=study, like=study.id)


@data.get("/studies/{study_id}/template.json")
@needs("read")
def get_template(study_id: StudyId, service: ServiceDep) -> Response:
    """The definition of a study, to fill in a form."""
    return _json(service.do(template(study_id)).view.definition)


@bodies.post("/studies/{study_id}/preview")
@needs("work")
def get_preview(study_id: StudyId, body: PatchStudyBody, service: ServiceDep) -> Response:
    """Return what a change of a study would do. Nothing is stored."""
    return _json(service.do(preview(study_id, body.changes())).view.model_dump(mode="json"))


@bodies.post("/studies/{study_id}/known")
@needs("work")
def get_known_rows(study_id: StudyId, body: PastedRows, service: ServiceDep) -> Response:
    """Return which rows of a table are stored already. Nothing is stored."""
    return _json(known_rows(service, study_id, body).model_dump(mode="json"))


@bodies.post("/studies/{study_id}/undo-import")
@needs("work")
def post_undo_import(study_id: StudyId, body: UndoImportBody, service: ServiceDep, caller: CallerDep) -> Response:
    """Undo the import of a table."""
    request = replace(undo_import(study_id, body), user=caller.user)
    return _json(service.do(request).view.model_dump(mode="json"))


@pages.get("/studies/{study_id}")
@needs("read")
def get_study(
    request: Request, study_id: StudyId, service: ServiceDep, overview: OverviewDep, caller: CallerDep
) -> Response:
    """The page of a study."""
    study = service.do(manage.get(study_id)).view
    listed = partial(read.list_trials, service, study_id, attributes=(), after=0, limit=MAX_ACTIVE)
    active, overdue = listed(state="active").items, listed(state="expired").items
    cursor = encoded(max(study.revision - FEED, 0))
    may = sharing.right(service, caller, study_id)
    has_curves = overview.has_curves(study_id)
    has_metrics = bool(wording.measured(study))
    partial_results = overview.table(study_id, "partial", "", Sort("when"), 0, 1).count if has_metrics else 0
    has_only_failures = study.counts.failed and not study.counts.observations
    lost = overview.table(study_id, "failed", "", Sort("when"), 0, 1).lines if has_only_failures else []
    return page(
        request,
        "study.html",
        study=study,
        repeated=overview.at_best(study_id, study.best),
        active=active,
        overdue=overdue,
        cursor=cursor,
        may=may,
        has_curves=has_curves,
        ended=overview.ended(study_id) if study.reason == "budget" else None,
        lost=lost[0].trial if lost else None,
        partial=partial_results,
        is_loading=service.is_loading,
        shortcomings=report_in_words.REASONS,
    )


@pages.get("/studies/{study_id}/sharing")
@needs("own")
def get_sharing(request: Request, study_id: StudyId, service: ServiceDep) -> Response:
    """The owner of a study and the rights of other users."""
    links, _ = tokens.page(service, None, MAX_LINKS, link=study_id)
    access, study = sharing.access(service, study_id), service.do(manage.get(study_id)).view
    now = service.clock()
    working = {each.id for each in links if not each.revoked_at and (each.expires_at is None or each.expires_at > now)}
    return page(request, "sharing.html", study=study, access=access, links=links, working=working)


@pages.get("/studies/{study_id}/webhooks")
@needs("own")
def get_webhooks(request: Request, study_id: StudyId, service: ServiceDep) -> Response:
    """The webhooks of a study."""
    study = service.do(manage.get(study_id)).view
    return page(request, "webhooks.html", study=study, webhooks=webhooks.listed(service, study_id))


@pages.get("/trash")
@needs("work")
def get_trash(request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """The page with the deleted studies."""
    found = trash.page(service, caller, 0, MAX_DELETIONS)
    return page(request, "trash.html", deletions=found, most=MAX_DELETIONS)


@pages.get("/studies/{study_id}/results")
@needs("read")
def get_results(
    request: Request,
    study_id: StudyId,
    service: ServiceDep,
    overview: OverviewDep,
    caller: CallerDep,
    kind: RowKind | Literal[""] = "",
    worker: Annotated[str, Query(max_length=200)] = "",
    sort: Annotated[str, Query(max_length=300)] = "",
    order: Order | Literal[""] = "",
    number: PageNumber = 1,
) -> Response:
    """The table of a study: all results, and the trials without a result. By default, the newest rows come first;
    trials without a result are in the order in which they are prepared."""
    study, worker = service.do(manage.get(study_id)).view, worker.replace("\0", "")
    if not sort:
        sort, order = ("trial", "asc") if kind == "open" else ("when", order or "desc")
    by = _sort(study, sort, is_descending=order == "desc")
    found = overview.table(study_id, kind or None, worker, by, (number - 1) * ROWS_PER_PAGE, ROWS_PER_PAGE)
    runs = [
        each.result.parameters if each.result else each.trial.parameters if each.trial else {} for each in found.lines
    ]
    rounded = [wording.as_shown(study, each) for each in runs]
    holders = [each.trial or each.result for each in found.lines]
    context: dict[str, Any] = {
        "runs": runs,
        **_numbers(study, [each.result for each in found.lines]),
        "settings": {each.name: columns_in_words.parameter_values(each, rounded) for each in study.parameters},
        "has_notes": any(each.attributes.get("note") for each in holders if each is not None)
        or any(each.trial.reason for each in found.lines if each.trial and not each.result),
        "has_reporters": any(holder.reported_by for each in found.lines if (holder := each.result or each.trial)),
        "chosen": {"kind": kind, "worker": worker, "sort": sort, "order": order},
        "number": number,
        "per_page": ROWS_PER_PAGE,
        "cursor": encoded(study.revision),
        "plate": _last_plate(study, overview) if kind == "open" and study.plates and not found.count else None,
        "may": sharing.right(service, caller, study_id),
    }
    return page(request, "results.html", study=study, found=found, **context)


def _last_plate(study: answers.Study, overview: Overview) -> dict[str, Any] | None:
    """Return the number and the results of the last plate; None without a plate."""
    assert study.plates is not None
    latest = overview.table(study.id, None, "", Sort("trial"), 0, 2 * study.plates.size).lines
    number = max((each.trial.plate for each in latest if each.trial and each.trial.plate), default=None)
    if number is None:
        return None
    lines = [each for each in reversed(latest) if each.trial is not None and each.trial.plate == number]
    values = [each.result.value for each in lines if each.result is not None]
    shown = [wording.in_unit(study, None, value) for value in values if value is not None]
    return {"number": number, "results": shown, "failed": sum(each.result is None for each in lines)}


def _numbers(study: answers.Study, results: list[answers.Observation | None]) -> dict[str, Any]:
    """Return the numbers of a page of the table of results, by column."""
    metrics = [(each.metrics if each else None) or {} for each in results]
    return {
        "values": columns_in_words.results(study, None, [each.value if each else None for each in results]),
        "errors": columns_in_words.errors([each.std_error if each else None for each in results]),
        "metrics": {
            name: columns_in_words.results(study, name, [each.get(name) for each in metrics])
            for name in wording.measured(study)
        },
    }


@data.post("/studies/{study_id}/sheet")
@needs("work")
async def read_sheet(request: Request, study_id: StudyId) -> Response:
    """Convert an uploaded Excel file to text for the paste form. Nothing is stored."""
    del study_id  # the gate has admitted the caller
    content = await request.body()
    async with parts_of(request.app).charts.slot(request):
        text = await run_sync(sheet.read, content)
    return Response(text, media_type="text/tab-separated-values; charset=utf-8", headers=HEADERS)


def _sort(study: answers.Study, text: str, *, is_descending: bool) -> Sort:
    """Parse a sort order: a column, or ``parameter:`` or ``metric:`` with a name; by time for any other text."""
    column, _, name = text.partition(":")
    if column == "parameter":
        for each in study.parameters:
            if each.name == name and wording.is_sortable(name):
                return Sort("parameter", name, each.kind not in ("float", "int"), is_descending)
    if column == "metric" and name in wording.measured(study) and wording.is_sortable(name):
        return Sort("metric", name, is_descending=is_descending)
    return Sort(text if text in ("trial", "value", "state", "worker") else "when", is_descending=is_descending)


@pages.get("/studies/{study_id}/results/{seq}")
@needs("read")
def get_result(
    request: Request, study_id: StudyId, seq: Number, service: ServiceDep, overview: OverviewDep, caller: CallerDep
) -> Response:
    """A result, with forms to correct and exclude it."""
    study = service.do(manage.get(study_id)).view
    result, events = overview.result(study_id, seq)
    trial = None if result.trial is None else read.trial(service, study_id, result.trial)
    space = definition_of(row(service, study_id).definition).space()
    inside = space.present(result.parameters)
    context: dict[str, Any] = {
        "result": result,
        "trial": trial,
        "events": events,
        "files": files.page(service, study_id, Holder(observation=seq), 0, files.MOST),
        "repeated": result.parameters if inside is None else space.nearest(inside),
        "may": sharing.right(service, caller, study_id),
    }
    return page(request, "result.html", study=study, **context)


@pages.get("/studies/{study_id}/trials/{number}")
@needs("read")
def get_trial(
    request: Request,
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    overview: OverviewDep,
    caller: CallerDep,
    is_explained: Annotated[bool, Query(alias="why")] = False,
) -> Response:
    """A trial with its explanation and history. In a long study, a second request loads the explanation, because it
    needs the whole log before the trial; also in a study with many failed trials, because it then needs the model."""
    study = service.do(manage.get(study_id)).view
    trial, results = read.trial(service, study_id, number), overview.results_of(study_id, number)
    asks_model = study.counts.failed >= FEWEST  # for the probability that the trial finishes
    is_known = is_explained or (study.revision <= MAX_EVENTS and not asks_model)
    space = definition_of(row(service, study_id).definition).space()
    present = space.present(trial.parameters | trial.to_measure)
    context: dict[str, Any] = {
        "can_be_issued": present is not None and not space.between_steps(present),
        "events": overview.events_of(study_id, number),
        "row": overview.row_of(study_id, trial.parameters),
        "decision": why(service, study_id, number).decision if is_known else None,
        "is_told": is_known or trial.origin in ("queued", "own"),
        "cursor": encoded(study.revision),
        "files": files.page(service, study_id, Holder(trial=number), 0, files.MOST),
        "repeated": repeated_point(space, trial.parameters, results[0].parameters) if results else trial.parameters,
        "same": overview.at_point_of(study_id, number),
        "ended": overview.ended(study_id) if study.reason == "budget" else None,
        "may": sharing.right(service, caller, study_id),
    }
    return page(request, "trial.html", study=study, trial=trial, results=results, **context)


@pages.get("/studies/{study_id}/report")
@needs("read", model=True)
async def get_report(
    request: Request, study_id: StudyId, reading: ReadingDep, overview: OverviewDep, caller: CallerDep
) -> Response:
    """A report, to print or to save as PDF. If too many reads wait, the answer lacks the model's parts, and the page
    loads them later."""
    return await reading.unless_busy(partial(_report, request, overview, caller), study_id)


def _report(request: Request, overview: Overview, caller: Caller, service: Service, study_id: str) -> Response:
    has_curves = overview.has_curves(study_id)
    may = sharing.right(service, caller, study_id)
    with study_report(service, study_id, with_audit=may == "own") as report:
        reasons = report_in_words.exclusions(report)
        lines = [
            report_in_words.result_cells(report.study, each, reasons) for each in islice(report.lines, MAX_PRINTED)
        ]
        context: dict[str, Any] = {
            "lines": lines,
            "has_more": next(report.lines, None) is not None,
            "best": list(report_in_words.best_tables(report)),
            "may": may,
            "words": report_in_words,
        }
    return page(request, "report.html", study=report.study, report=report, has_curves=has_curves, **context)


@data.get("/studies/{study_id}/history.json")
@needs("read")
async def get_history(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """The data of the charts of results."""
    return await _chart(request, partial(overview.history, study_id))


@data.get("/studies/{study_id}/results/{seq}/stored.json")
@needs("read")
def get_stored(study_id: StudyId, seq: Number, service: ServiceDep) -> Response:
    """Return what the page says about a result that was just stored."""
    return _json(asdict(unusual.stored(service, study_id, seq)))


@data.get("/studies/{study_id}/results/{seq}/now.json")
@needs("read")
def get_result_now(study_id: StudyId, seq: Number, overview: OverviewDep) -> Response:
    """A result as it is stored, for a form that was opened earlier."""
    return _json(overview.result(study_id, seq)[0].model_dump(mode="json"))


@data.get("/studies/{study_id}/unusual.json")
@needs("read")
def get_unusual(
    study_id: StudyId, service: ServiceDep, seq: Annotated[list[Count], Query(min_length=1, max_length=ROWS_PER_PAGE)]
) -> Response:
    """Return the warnings about those of the given results that are unusual, by number."""
    return _json(unusual.warnings(service, study_id, seq))


@data.get("/studies/{study_id}/density.json")
@needs("read")
async def get_density(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The density of the results of a large study, for the objective or a metric."""
    return await _chart(request, partial(overview.density, study_id, metric))


@data.get("/studies/{study_id}/progress.json")
@needs("read")
async def get_progress(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """What a comparison shows of a study's results (``Overview.progress``), and the cursor of the next event."""

    def read() -> dict[str, Any]:
        found = overview.progress(study_id)
        return {**found, "cursor": encoded(found["revision"])}

    return await _chart(request, read)


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
    return await _chart(request, partial(overview.curves, study_id, trial or (), best))


@data.get("/studies/{study_id}/forbidden.json")
@needs("read", model=True)
async def get_forbidden(
    study_id: StudyId,
    reading: ReadingDep,
    overview: OverviewDep,
    parameter: Annotated[list[str], Query(min_length=1, max_length=2)],
) -> Response:
    """The values of one or two parameters that the constraints exclude."""
    return await reading(lambda *_: _json(overview.forbidden(study_id, parameter)), study_id)


@data.get("/studies/{study_id}/excluded.json")
@needs("read")
async def get_excluded(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    parameter: Annotated[list[str], Query(min_length=2, max_length=2)],
    across: Annotated[list[Finite] | None, Query(max_length=MAX_EDGES)] = None,
    up: Annotated[list[Finite] | None, Query(max_length=MAX_EDGES)] = None,
) -> Response:
    """The combinations of parts of two parameters that the constraints exclude. ``across`` and ``up`` are the edges of
    the parts."""
    return await _chart(request, partial(overview.excluded, study_id, parameter, (across or (), up or ())))


@data.get("/studies/{study_id}/tried.json")
@needs("read")
async def get_tried(
    request: Request,
    study_id: StudyId,
    overview: OverviewDep,
    parameter: Annotated[list[str], Query(min_length=2, max_length=2)],
    across: Annotated[list[Finite] | None, Query(max_length=MAX_EDGES)] = None,
    up: Annotated[list[Finite] | None, Query(max_length=MAX_EDGES)] = None,
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The combinations of parts of two parameters that have results or failed trials. ``across`` and ``up`` are the
    edges of the parts."""
    edges = (across or (), up or ())
    return await _chart(request, lambda: [asdict(each) for each in overview.tried(study_id, parameter, edges, metric)])


@data.get("/studies/{study_id}/past.json")
@needs("read", model=True)
async def get_past(
    study_id: StudyId,
    reading: ReadingDep,
    results: Annotated[int, Query(ge=0, le=2**31 - 1)],
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Predictions and statuses of the cells after the first ``results`` results, for the replay of the partition; null
    if these results are too many."""
    return await reading(lambda service, _: _json(_past(service, study_id, results, metric)), study_id)


def _past(service: Service, study_id: str, results: int, metric: str | None) -> list[dict[str, Any]] | None:
    found = analysis.past_partition(service, study_id, results, metric)
    names = ("key", "status", "mean", "std", "index")
    return None if found is None else [{name: getattr(each, name) for name in names} for each in found]


@data.get("/studies/{study_id}/timeline.json")
@needs("read")
async def get_timeline(request: Request, study_id: StudyId, overview: OverviewDep) -> Response:
    """The data of the chart of workers."""
    return await _chart(request, lambda: [_lease(trial) for trial in overview.timeline(study_id)])


async def _chart(request: Request, read: Callable[[], Any]) -> Response:
    """Return the data of a chart. Only a few are computed at a time, and none for a disconnected client."""
    async with parts_of(request.app).charts.slot(request):
        if await request.is_disconnected():
            return Response(status_code=400)
        return await run_sync(lambda: _json(read()))


def _lease(trial: answers.Trial) -> dict[str, Any]:
    shown = {"number", "state", "worker", "attempt", "started_at", "finished_at", "leased_until", "value"}
    return trial.model_dump(mode="json", include=shown)


def _json(value: Any) -> Response:
    return Response(json.dumps(value), media_type="application/json", headers=HEADERS)
