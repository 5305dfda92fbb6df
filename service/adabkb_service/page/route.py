"""Routes that answer people: refusals are pages too. Programs, which ask for no page, find nothing here."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from adabkb_service.api.problems import kind_of
from adabkb_service.errors import AdaBKBError
from adabkb_service.page.rendering import page

HTML = "text/html"


def wants_page(request: Request) -> bool:
    """Whether it comes from a browser, as opposed to a program. htmx takes any type, and says who it is."""
    return HTML in request.headers.get("accept", "") or "hx-request" in request.headers


class PageRoute(APIRoute):
    """A route of the page. Programs are told that there is nothing here, and where the API has it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, whose refusals become pages."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            if not wants_page(request):
                raise HTTPException(404)
            try:
                return await handler(request)
            except AdaBKBError as error:
                kind = kind_of(error)
                return page(request, "error.html", kind.status, title=kind.title, detail=error.detail)
            except RequestValidationError:
                return page(request, "error.html", 404, title="No such page", detail="Its address is not quite right.")

        return answer
