"""/v1/people"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import PageDep, ServiceDep, encoded
from adabkb_service.api.problems import responses
from adabkb_service.contract.access import USER, Person
from adabkb_service.contract.requests import Page
from adabkb_service.errors import PersonNotFound
from adabkb_service.operations.access import sessions

router = APIRouter(prefix="/v1/people", tags=["access"], route_class=StrictRoute)


async def _user(user: Annotated[str, Path(description="the person's user name")]) -> str:
    if re.fullmatch(USER, user) is None:
        raise PersonNotFound(user)
    return user


@router.get("", operation_id="listPeople", responses=responses(422))
@needs("admin")
def list_people(service: ServiceDep, page: PageDep) -> Page[Person]:
    """People who have logged in by OpenID Connect, ordered by user name."""
    found, last = sessions.page(service, page.after_name, page.limit)
    return Page(items=found, next_cursor=None if last is None else encoded(last))


@router.delete(
    "/{user}/sessions", operation_id="endSessions", status_code=204, response_model=None, responses=responses(404, 422)
)
@needs("admin")
def end_sessions(user: Annotated[str, Depends(_user)], service: ServiceDep, caller: CallerDep) -> None:
    """End all sessions of a person; on other servers with the same database, they work for up to 5 more seconds."""
    sessions.end_all(service, caller, user)
