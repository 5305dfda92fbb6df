"""/login/oidc: log in with an OpenID Connect provider, by the authorization code flow with PKCE.

The browser keeps state, nonce and verifier in a separate cookie. So only the browser that began a login can complete
it, and the server stores nothing for a login that is never completed. The session is a token in the cookie of the web
interface.
"""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from adabkb_service.api.admission import COOKIE, cookie_of, needs_nothing
from adabkb_service.api.deps import ServiceDep
from adabkb_service.api.middleware import sender
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problem_types import problem_type_of
from adabkb_service.errors import AdaBKBError, LoginFailed, LoginRefused, Unavailable
from adabkb_service.identity.claims import identify
from adabkb_service.identity.login import LOGIN_TIMEOUT_SECONDS, Login, local_path
from adabkb_service.identity.provider import Provider
from adabkb_service.operations.access import sessions
from adabkb_service.operations.service import Service
from adabkb_service.page.login import base_url
from adabkb_service.page.rendering import page
from adabkb_service.page.route import LoginRoute, wants_page

BEGUN = "adabkb_login"
CALLBACK = "/login/oidc/callback"
NO_STORE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

router = APIRouter(include_in_schema=False, route_class=LoginRoute)


@router.get("/login/oidc")
@needs_nothing
async def begin(request: Request, target: Annotated[str, Query(alias="next", max_length=2000)] = "/") -> Response:
    """Send a browser to the provider."""
    login = Login.begin(target)
    try:
        url = await _provider(request).authorization_url(login, _redirect_uri(request))
    except Unavailable as error:
        return _refusal(request, error, login.next)
    response = RedirectResponse(url, 303, NO_STORE)
    name, secure = _begun(request)
    # Lax, as the provider leads back here from another site.
    response.set_cookie(
        name, login.cookie, LOGIN_TIMEOUT_SECONDS, path="/", secure=secure, httponly=True, samesite="lax"
    )
    return response


@router.get(CALLBACK)
@needs_nothing
async def end(request: Request, service: ServiceDep) -> Response:
    """Log in the person whom the provider has authenticated, and redirect to the page where the login began."""
    provider, target = _provider(request), "/"
    name, secure = _begun(request)
    root = request.scope.get("root_path", "")
    try:
        answer = {key: value for key, value in request.query_params.items() if len(value) <= 8000}
        login = Login.read(request.cookies.get(name), answer.get("state", ""))
        target = local_path(login.next)
        token = await _session(request, service, provider, login, answer)
    except (LoginRefused, LoginFailed, Unavailable) as error:
        _note(request, error)
        response = _refusal(request, error, target)
    else:
        response = RedirectResponse(f"{root}{target}", 303, NO_STORE)
        # Lax, as browsers do not send strict cookies with the request that follows a redirect of another site.
        response.set_cookie(COOKIE, token, path=root or "/", secure=secure, httponly=True, samesite="lax")
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="lax")
    return response


async def _session(request: Request, service: Service, provider: Provider, login: Login, answer: dict[str, str]) -> str:
    """Start a session, and return its token."""
    person = await provider.authenticate(login, answer, _redirect_uri(request), service.clock())
    identity = identify(person.claims, provider.config)
    hours, previous = provider.config.session_hours, cookie_of(request.scope)
    token = await run_sync(sessions.start, service, identity, person.id_token, hours, sender(request.scope), previous)
    await run_sync(parts_of(request.app).gate.rights_changed)
    return token


def _provider(request: Request) -> Provider:
    provider = parts_of(request.app).provider
    if provider is None:
        raise HTTPException(404)
    return provider


def _redirect_uri(request: Request) -> str:
    return f"{base_url(request)}{CALLBACK}"


def _begun(request: Request) -> tuple[str, bool]:
    """Return the name of the cookie of a login that has begun, and whether it needs https. No other host can set a
    cookie with the prefix ``__Host-``."""
    secure = request.url.scheme == "https"
    return f"__Host-{BEGUN}" if secure else BEGUN, secure


def _note(request: Request, error: AdaBKBError) -> None:
    """Count a login that was refused, for the audit log."""
    if isinstance(error, LoginRefused | LoginFailed):
        parts_of(request.app).gate.refusals.note(sender(request.scope), error.reason, None)


def _refusal(request: Request, error: AdaBKBError, target: str) -> Response:
    """Return an error as a page from which the user can try again.

    Raises:
        AdaBKBError: the error itself, for programs, which get it as a problem document.
    """
    if not wants_page(request):
        raise error
    kind = problem_type_of(error)
    return page(request, "login_failed.html", kind.status, title=kind.title, detail=error.detail, next=target)
