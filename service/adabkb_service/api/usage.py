"""/v1/usage"""

from __future__ import annotations

from fastapi import APIRouter, Request

from adabkb_service.api.admission import needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import PageDep, ServiceDep, encoded
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problems import responses
from adabkb_service.contract.access import UserUsage
from adabkb_service.contract.requests import Page
from adabkb_service.operations.access import usage

router = APIRouter(prefix="/v1/usage", tags=["access"], route_class=StrictRoute)


@router.get("", operation_id="listUsage", responses=responses(422))
@needs("admin")
def list_usage(request: Request, service: ServiceDep, page: PageDep) -> Page[UserUsage]:
    """The storage that each user uses, and the user's quotas, ordered by user name: of users with a study, a study in
    the trash or a valid token, and of people who have logged in."""
    defaults = parts_of(request.app).gate.defaults
    found, last = usage.page(service, defaults, page.after_name, page.limit)
    return Page(items=found, next_cursor=None if last is None else encoded(last))
