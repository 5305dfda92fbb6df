"""Routes of the web interface, whose errors are shown as pages. Programs, which do not request pages, get a 404."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from adabkb_service.api.admission import GuardedRoute
from adabkb_service.api.prefix import own_path
from adabkb_service.api.problem_types import problem_type_of
from adabkb_service.api.problems import note_refusal
from adabkb_service.errors import AdaBKBError, StudyNotFound, Unauthorized
from adabkb_service.page.rendering import page

HTML = "text/html"
MISTYPED = "The address is incomplete or misspelled."
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
ErrorHandler = Callable[[Request, Exception], Coroutine[Any, Any, Response]]


def wants_page(request: Request) -> bool:
    """Whether the request comes from a browser. htmx accepts any type but identifies itself."""
    return HTML in request.headers.get("accept", "") or "hx-request" in request.headers


def refusal(request: Request, error: AdaBKBError) -> Response:
    """Render an error as a page. Without a valid token, it has the login form."""
    note_refusal(request, error)
    problem_type = problem_type_of(error)
    if isinstance(error, Unauthorized):
        detail = None if error.reason == "missing" else error.detail
        return page(request, "login.html", problem_type.status, detail=detail, next=_target(request))
    study = None if isinstance(error, StudyNotFound) else request.path_params.get("study_id")
    return page(request, "error.html", problem_type.status, title=problem_type.title, detail=error.detail, study=study)


def _is_of_page(request: Request) -> bool:
    return wants_page(request) and not own_path(request.scope).startswith("/v1/")


def show_missing_pages(app: FastAPI) -> None:
    """Show a page to browsers that request an unknown address, except below /v1. Other requests are answered as
    before."""
    usual_handler: ErrorHandler = app.exception_handlers[HTTPException]  # type: ignore[assignment]

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 404 and _is_of_page(request):
            return page(request, "error.html", 404, title="No such page", detail=MISTYPED)
        return await usual_handler(request, error)

    app.add_exception_handler(HTTPException, answer)


def _target(request: Request) -> str:
    """Return the path of the page to show after a login, below the prefix of the proxy."""
    if request.method != "GET" or "hx-request" in request.headers:
        return "/"
    path = own_path(request.scope)
    return f"{path}?{request.url.query}" if request.url.query else path


class LoginRoute(GuardedRoute):
    """A route that shows its errors to browsers as pages. Programs get problem documents."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI), with errors as pages for browsers."""
        try:
            await super().handle(scope, receive, send)
        except AdaBKBError as error:
            request = Request(scope)
            if not wants_page(request):
                raise
            await refusal(request, error)(scope, receive, send)

    def get_route_handler(self) -> Handler:
        """Return FastAPI's handler, with errors as pages for browsers."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except AdaBKBError as error:
                if not wants_page(request):
                    raise
                return refusal(request, error)
            except RequestValidationError:
                if not wants_page(request):
                    raise
                return page(request, "error.html", 404, title="No such page", detail=MISTYPED)

        return answer


class PageRoute(LoginRoute):
    """A route of the web interface. Programs get a 404 that names the call of the API."""

    def get_route_handler(self) -> Handler:
        """Return the handler, which refuses programs."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            if not wants_page(request):
                raise HTTPException(404)
            return await handler(request)

        return answer
