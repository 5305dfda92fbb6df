"""/account: who is logged in, their sessions, and for administrators all people who have logged in."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from adabkb_service.api.admission import CallerDep, needs, not_for_links
from adabkb_service.api.deps import ServiceDep
from adabkb_service.operations.access import sessions
from adabkb_service.page.rendering import page
from adabkb_service.page.route import PageRoute

MAX_USERS = 1000

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/account")
@needs("read")
@not_for_links
def get_account(request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """Return the account page of the user."""
    own = [] if caller.person is None else sessions.own(service, caller)
    people = sessions.page(service, "", MAX_USERS)[0] if caller.is_admin else []
    return page(request, "account.html", sessions=own, people=people)
