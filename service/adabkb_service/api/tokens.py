"""/v1/tokens and /v1/audit"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, PageDep, ServiceDep, encoded_time
from adabkb_service.api.problems import responses
from adabkb_service.contract.access import AuditEntry, NewToken, Self, Token, TokenBody, TokenChangeBody
from adabkb_service.contract.requests import Page
from adabkb_service.errors import TokenNotFound
from adabkb_service.operations.access import audit, tokens

router = APIRouter(prefix="/v1", tags=["access"], route_class=StrictRoute)


async def _token_id(token_id: Annotated[str, Path(description="the token's id")]) -> str:
    if re.fullmatch("[0-9a-f]{12}", token_id) is None:
        raise TokenNotFound(token_id)
    return token_id


TokenId = Annotated[str, Depends(_token_id)]
SECRET = {"Cache-Control": "no-store"}


@router.post("/tokens", operation_id="createToken", status_code=201, responses=responses(400, 409, 413, 415, 422))
@needs("admin")
def create_token(body: TokenBody, service: ServiceDep, caller: CallerDep, key: KeyDep, response: Response) -> NewToken:
    """Create a token. Only this response contains its secret, so a repeated idempotency key is refused. After the first
    token, the server refuses requests without a token."""
    response.headers.update(SECRET)
    return tokens.create(service, caller, body, key)


@router.get("/tokens", operation_id="listTokens", responses=responses(422))
@needs("admin")
def list_tokens(service: ServiceDep, page: PageDep) -> Page[Token]:
    """Tokens, newest first, without their secrets, including expired and revoked ones."""
    found, last = tokens.page(service, page.after_study, page.limit)
    return Page(items=found, next_cursor=encoded_time(last))


@router.get("/tokens/self", operation_id="getOwnToken", responses=responses())
@needs("read")
def get_own_token(service: ServiceDep, caller: CallerDep) -> Self:
    """The identity, rights, quotas and usage of the sender of the request."""
    return tokens.own(service, caller)


@router.patch("/tokens/{token_id}", operation_id="changeToken", responses=responses(400, 404, 413, 415, 422))
@needs("admin")
def change_token(token_id: TokenId, body: TokenChangeBody, service: ServiceDep, caller: CallerDep) -> Token:
    """Change the quotas of a token; other servers with the same database apply them within 5 seconds."""
    return tokens.change(service, caller, token_id, body.quotas.changes())


@router.delete(
    "/tokens/{token_id}",
    operation_id="revokeToken",
    status_code=204,
    response_model=None,
    responses=responses(404, 422),
)
@needs("admin")
def revoke_token(token_id: TokenId, service: ServiceDep, caller: CallerDep) -> None:
    """Revoke a token; on other servers with the same database, it works for up to 5 more seconds."""
    tokens.revoke(service, caller, token_id)


@router.get("/audit", operation_id="listAudit", responses=responses(422))
@needs("admin")
def list_audit(service: ServiceDep, page: PageDep) -> Page[AuditEntry]:
    """The audit log, newest first: changes of tokens, of whole studies and of sharing, and refused requests."""
    entries = audit.page(service, page.after, page.limit)
    return Page(items=entries, next_cursor=page.cursor_after(len(entries), entries[-1].number if entries else 0))
