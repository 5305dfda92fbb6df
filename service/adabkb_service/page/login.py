"""/login and /logout: store a browser's token in a cookie that scripts and other sites cannot use. The browser sends
the token in a header, never in a URL; the fragment of a share link, which contains a token, is not sent to the server.
"""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from adabkb_service.access.gate import Gate
from adabkb_service.api.admission import (
    COOKIE,
    CallerDep,
    GuardedRoute,
    cookie_of,
    needs,
    needs_nothing,
    not_for_links,
    token_of,
)
from adabkb_service.api.deps import ServiceDep
from adabkb_service.api.middleware import sender
from adabkb_service.api.parts import parts_of
from adabkb_service.operations.access import sessions
from adabkb_service.operations.access.sessions import EndedSession
from adabkb_service.operations.service import Service
from adabkb_service.page.rendering import page

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@router.get("/login")
@needs_nothing
async def get_login(request: Request, target: Annotated[str, Query(alias="next", max_length=2000)] = "/") -> Response:
    """Return the page with the form for a token and the button of the identity provider."""
    return page(request, "login.html", detail=None, next=target)


@router.post("/login", status_code=204)
@needs("read")
async def log_in(request: Request, caller: CallerDep) -> Response:
    """Store the token of this request as a session cookie."""
    response = Response(status_code=204)
    token = token_of(request.scope)
    if caller.token is not None and token is not None:
        path, secure = request.scope.get("root_path") or "/", request.url.scheme == "https"
        response.set_cookie(COOKIE, token, path=path, secure=secure, httponly=True, samesite="strict")
    return response


@router.post("/logout")
@needs_nothing
async def log_out(request: Request, service: ServiceDep) -> Response:
    """Delete the cookie. If its token belongs to a session, end the session. Return the address of the next page."""
    token = cookie_of(request.scope)
    ended = None if token is None else await run_sync(_end, request, service, token)
    return await _logged_out(request, ended)


@router.post("/logout/everywhere")
@needs("read")
@not_for_links
async def log_out_everywhere(request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """End all sessions of the person who is logged in, and return the address of the next page."""
    token = cookie_of(request.scope)
    ended = None if token is None else await run_sync(_end, request, service, token)
    if caller.person is not None and caller.user is not None:
        await run_sync(sessions.end_all, service, caller, caller.user)
        await run_sync(_gate(request).rights_changed)
    return await _logged_out(request, ended)


def _end(request: Request, service: Service, token: str) -> EndedSession | None:
    ended = sessions.end(service, token, sender(request.scope))
    if ended is not None:
        _gate(request).rights_changed()
    return ended


def _gate(request: Request) -> Gate:
    return parts_of(request.app).gate


async def _logged_out(request: Request, ended: EndedSession | None) -> Response:
    """Delete the cookie, and return the address of the next page: the logout of the provider if the session began
    there, otherwise the login page."""
    root = request.scope.get("root_path", "")
    target, provider = f"{root}/login", parts_of(request.app).provider
    if ended is not None and provider is not None:
        target = await provider.logout_url(ended.id_token, f"{base_url(request)}/login") or target
    response = JSONResponse({"goto": target})
    response.delete_cookie(COOKIE, path=root or "/")
    return response


def base_url(request: Request) -> str:
    """Return the address of this server for the browser, according to the headers of trusted proxies."""
    return f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"
