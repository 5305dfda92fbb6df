"""The table of results, and the page of a result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from adabkb_service.api.admission import CallerDep, by_follower, needs
from adabkb_service.api.deps import Number, ServiceDep, StudyId, encoded
from adabkb_service.contract import answers
from adabkb_service.contract.parameters import Count
from adabkb_service.contract.stored import definition_of
from adabkb_service.operations import files
from adabkb_service.operations.access import sharing
from adabkb_service.operations.model import unusual
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.studies import manage, read
from adabkb_service.operations.words import columns_in_words, wording
from adabkb_service.page.deps import OverviewDep, PageNumber, data_response
from adabkb_service.page.rendering import page
from adabkb_service.page.route import LoginRoute, PageRoute
from adabkb_service.storage.files import Holder
from adabkb_service.storage.result_table import RowKind, Sort

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
data = APIRouter(include_in_schema=False, route_class=LoginRoute)
ROWS_PER_PAGE = 50
"""Rows per page of the table of results."""
Order = Literal["asc", "desc"]


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
    study, worker = manage.displayed(service, study_id), worker.replace("\0", "")
    if not sort:
        sort, order = ("trial", "asc") if kind == "open" else ("when", order or "desc")
    by = _sort(study, sort, is_descending=order == "desc")
    table = overview.table(study_id, kind or None, worker, by, (number - 1) * ROWS_PER_PAGE, ROWS_PER_PAGE)
    runs = [
        each.result.parameters if each.result else each.trial.parameters if each.trial else {} for each in table.lines
    ]
    rounded = [wording.as_shown(study, each) for each in runs]
    holders = [each.trial or each.result for each in table.lines]
    context: dict[str, Any] = {
        "runs": runs,
        **_numbers(study, [each.result for each in table.lines]),
        "settings": {each.name: columns_in_words.parameter_values(each, rounded) for each in study.parameters},
        "has_notes": any(each.attributes.get("note") for each in holders if each is not None)
        or any(each.trial.reason for each in table.lines if each.trial and not each.result),
        "has_reporters": any(holder.reported_by for each in table.lines if (holder := each.result or each.trial)),
        "chosen": {"kind": kind, "worker": worker, "sort": sort, "order": order},
        "number": number,
        "per_page": ROWS_PER_PAGE,
        "cursor": encoded(study.revision),
        "plate": _last_plate(study, overview) if kind == "open" and study.plates and not table.count else None,
        "may": sharing.right(service, caller, study_id),
    }
    return page(request, "results.html", study=study, table=table, **context)


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
    study = manage.displayed(service, study_id)
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


@data.get("/studies/{study_id}/results/{seq}/stored.json")
@needs("read")
@by_follower
def get_stored(study_id: StudyId, seq: Number, service: ServiceDep) -> Response:
    """Return what the page says about a result that was just stored."""
    return data_response(asdict(unusual.stored(service, study_id, seq)))


@data.get("/studies/{study_id}/results/{seq}/now.json")
@needs("read")
def get_result_now(study_id: StudyId, seq: Number, overview: OverviewDep) -> Response:
    """A result as it is stored, for a form that was opened earlier."""
    return data_response(overview.result(study_id, seq)[0].model_dump(mode="json"))


@data.get("/studies/{study_id}/unusual.json")
@needs("read")
@by_follower
def get_unusual(
    study_id: StudyId, service: ServiceDep, seq: Annotated[list[Count], Query(min_length=1, max_length=ROWS_PER_PAGE)]
) -> Response:
    """Return the warnings about those of the given results that are unusual, by number."""
    return data_response(unusual.warnings(service, study_id, seq))
