"""The list of studies, the comparison and the trash."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from adabkb_service.api.admission import CallerDep, needs, not_for_links
from adabkb_service.api.deps import ServiceDep
from adabkb_service.operations.data import trash
from adabkb_service.operations.studies import manage
from adabkb_service.page.deps import OverviewDep, PageNumber
from adabkb_service.page.rendering import page
from adabkb_service.page.route import LoginRoute, PageRoute, wants_page
from adabkb_service.storage.rows import StudyState

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
data = APIRouter(include_in_schema=False, route_class=LoginRoute)
STUDIES_PER_PAGE = 25
MAX_DELETIONS = 100
"""The maximum number of studies in the trash that are listed."""
MAX_COMPARED, MAX_OFFERED = 12, 200
"""The maximum numbers of studies that are compared, and that are offered for comparison."""


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
    listed = overview.studies(text, state or None, offset, STUDIES_PER_PAGE, manage.readable(caller))
    count = sum(listed.counts.values()) if not state else listed.counts.get(state, 0)
    context: dict[str, Any] = {
        "text": text,
        "state": state,
        "number": number,
        "count": count,
        "per_page": STUDIES_PER_PAGE,
        "has_deleted": not listed.lines and caller.has("work") and bool(trash.page(service, caller, 0, 1)),
    }
    return page(request, "studies.html", lines=listed.lines, counts=listed.counts, **context)


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


@pages.get("/trash")
@needs("work")
def get_trash(request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """The page with the deleted studies."""
    deletions = trash.page(service, caller, 0, MAX_DELETIONS)
    return page(request, "trash.html", deletions=deletions, most=MAX_DELETIONS)
