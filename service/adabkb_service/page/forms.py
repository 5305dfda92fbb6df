"""The forms for a new study, and for the space and the rules of a running one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from adabkb_service.api.admission import needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import ServiceDep, StudyId
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.preview import preview
from adabkb_service.operations.studies.template import template
from adabkb_service.page.deps import data_response
from adabkb_service.page.rendering import page
from adabkb_service.page.route import LoginRoute, PageRoute

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
data = APIRouter(include_in_schema=False, route_class=LoginRoute)
bodies = APIRouter(include_in_schema=False, route_class=StrictRoute)
"""Routes with a body as in the API. Their errors are problem documents."""


@pages.get("/new")
@needs("work")
async def get_form(request: Request, like: Annotated[str, Query(max_length=100)] = "") -> Response:
    """The form for a new study. With ``like``, the page fills it in from an older study, which it loads separately."""
    return page(request, "new.html", study=None, like=like.replace("\0", ""))


@pages.get("/studies/{study_id}/edit")
@needs("work")
def get_editor(request: Request, study_id: StudyId, service: ServiceDep) -> Response:
    """The form for the space and the stopping rules of a running study."""
    study = manage.displayed(service, study_id)
    return page(request, "new.html", study=study, like=study.id)


@data.get("/studies/{study_id}/template.json")
@needs("read")
def get_template(study_id: StudyId, service: ServiceDep) -> Response:
    """The definition of a study, to fill in a form."""
    return data_response(service.do(template(study_id)).view.definition)


@bodies.post("/studies/{study_id}/preview")
@needs("work")
def get_preview(study_id: StudyId, body: PatchStudyBody, service: ServiceDep) -> Response:
    """Return what a change of a study would do. Nothing is stored."""
    return data_response(service.do(preview(study_id, body.changes())).view.model_dump(mode="json"))
