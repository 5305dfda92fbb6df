"""The page of a study, with its sharing and its webhooks."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.deps import ServiceDep, StudyId, encoded
from adabkb_service.operations.access import sharing, tokens
from adabkb_service.operations.reports import report_in_words
from adabkb_service.operations.studies import manage, read
from adabkb_service.operations.webhooks import webhooks
from adabkb_service.operations.words import wording
from adabkb_service.page.deps import OverviewDep
from adabkb_service.page.rendering import page
from adabkb_service.page.route import PageRoute
from adabkb_service.storage.result_table import Sort

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
MAX_ACTIVE = 50
"""The maximum number of active trials that are listed."""
MAX_LINKS = 100
"""The maximum number of links to a study that are listed."""
FEED = 40
"""Number of past events at the top of the feed."""


@pages.get("/studies/{study_id}")
@needs("read")
def get_study(
    request: Request, study_id: StudyId, service: ServiceDep, overview: OverviewDep, caller: CallerDep
) -> Response:
    """The page of a study."""
    study = manage.displayed(service, study_id)
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
    links, _ = tokens.page(service, None, MAX_LINKS, link_study_id=study_id)
    access, study = sharing.access(service, study_id), manage.displayed(service, study_id)
    now = service.clock()
    working = {each.id for each in links if not each.revoked_at and (each.expires_at is None or each.expires_at > now)}
    return page(request, "sharing.html", study=study, access=access, links=links, working=working)


@pages.get("/studies/{study_id}/webhooks")
@needs("own")
def get_webhooks(request: Request, study_id: StudyId, service: ServiceDep) -> Response:
    """The webhooks of a study."""
    study = manage.displayed(service, study_id)
    return page(request, "webhooks.html", study=study, webhooks=webhooks.listed(service, study_id))
