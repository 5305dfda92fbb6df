"""/v1/studies/{id}/access and /links"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, PageDep, ServiceDep, StudyId, encoded_time
from adabkb_service.api.problems import responses
from adabkb_service.api.tokens import SECRET, TokenId
from adabkb_service.contract.access import Access, AccessBody, LinkBody, NewToken, Token
from adabkb_service.contract.requests import Page
from adabkb_service.operations.access import sharing, tokens

router = APIRouter(prefix="/v1/studies/{study_id}", tags=["access"], route_class=StrictRoute)


@router.get("/access", operation_id="getAccess", responses=responses(404, 422))
@needs("own")
def get_access(study_id: StudyId, service: ServiceDep) -> Access:
    """The owner of a study, and the users with whom it is shared."""
    return sharing.access(service, study_id)


@router.patch("/access", operation_id="changeAccess", responses=responses(400, 404, 413, 415, 422))
@needs("own")
def change_access(study_id: StudyId, body: AccessBody, service: ServiceDep, caller: CallerDep) -> Access:
    """Share a study with users or with everybody, stop sharing it, or give it to another owner."""
    return sharing.change(service, caller, study_id, body.changes())


@router.post("/links", operation_id="createLink", status_code=201, responses=responses(400, 404, 409, 413, 415, 422))
@needs("own")
def create_link(
    study_id: StudyId,
    service: ServiceDep,
    caller: CallerDep,
    key: KeyDep,
    response: Response,
    body: Annotated[LinkBody, Body(default_factory=LinkBody)],
) -> NewToken:
    """Create a share link: a token with which anyone can read this study. Only this response contains the token."""
    response.headers.update(SECRET)
    return tokens.create_link(service, caller, study_id, body.expires_at, key)


@router.get("/links", operation_id="listLinks", responses=responses(404, 422))
@needs("own")
def list_links(study_id: StudyId, service: ServiceDep, page: PageDep) -> Page[Token]:
    """The links to a study, newest first, without their secrets, including expired and revoked ones."""
    found, last = tokens.page(service, page.after_study, page.limit, link_study_id=study_id)
    return Page(items=found, next_cursor=encoded_time(last))


@router.delete(
    "/links/{token_id}", operation_id="revokeLink", status_code=204, response_model=None, responses=responses(404, 422)
)
@needs("own")
def revoke_link(study_id: StudyId, token_id: TokenId, service: ServiceDep, caller: CallerDep) -> None:
    """Revoke a link; on other servers with the same database, it works for up to 5 more seconds."""
    tokens.revoke(service, caller, token_id, link_study_id=study_id)
