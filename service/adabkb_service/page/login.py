"""/login and /logout: store a browser's token in a cookie that scripts and other sites cannot use. The browser sends
the token in a header, never in a URL; the fragment of a share link, which contains a token, is not sent to the server.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from adabkb_service.api.admission import COOKIE, CallerDep, GuardedRoute, needs, needs_nothing, token_of
from adabkb_service.page.rendering import page

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@router.get("/login")
@needs_nothing
async def get_login(request: Request) -> Response:
    """The form for a token."""
    return page(request, "login.html", detail=None)


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


@router.post("/logout", status_code=204)
@needs_nothing
async def log_out(request: Request) -> Response:
    """Delete the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=request.scope.get("root_path") or "/")
    return response
