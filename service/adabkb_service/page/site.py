"""/docs/: the documentation site, which is installed with the server, since lab machines may not reach other hosts.

It is the distribution ``adabkb-docs``. In a checkout, ``make install`` builds it; a server never builds anything.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from adabkb_service.page.rendering import HEADERS, page
from adabkb_service.page.route import wants_page

NOT_INSTALLED = (
    "`pip install adabkb-docs` installs it. In a checkout, `make install` builds it, and `make docs` previews it; the "
    "sources are in docs/."
)
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
KEPT = HEADERS | {"Cache-Control": "no-cache"}
"""Browsers cache a file and revalidate it each time."""


def find_pages() -> Path | None:
    """Return the folder of the installed site; None without the distribution ``adabkb-docs``."""
    try:
        from adabkb_docs import PAGES  # noqa: PLC0415 (it may be missing)
    except ModuleNotFoundError:
        return None
    return PAGES


def install(app: FastAPI, calls: str, folder: Path | None) -> None:
    """Serve the site below ``/docs/``.

    Args:
        app: the application with the interactive API page.
        calls: the path of that page. At ``/docs``, programs get it too, and browsers are redirected to the site.
        folder: the built site; None if it is not installed.
    """
    (original,) = [route for route in app.routes if isinstance(route, Route) and route.path == calls]
    app.router.routes.remove(original)

    @app.get(calls, include_in_schema=False)
    async def show_calls(request: Request) -> Response:
        shown: Response = await original.endpoint(request)
        shown.headers.update({"Content-Security-Policy": _policy(bytes(shown.body)), "Referrer-Policy": "same-origin"})
        return shown

    @app.get("/docs", include_in_schema=False)
    async def get_docs(request: Request) -> Response:
        if wants_page(request):
            return RedirectResponse("docs/", headers={"Vary": "Accept"})
        return await show_calls(request)

    app.mount("/docs/", Site(folder), name="site")


def _policy(page: bytes) -> str:
    """Return the content security policy of the interactive API page. It allows only the page's own files and
    scripts."""
    digests = (b64encode(sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    scripts = " ".join(["'self'", *(f"'sha256-{digest}'" for digest in digests)])
    # Swagger UI writes styles into its elements.
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


class Site(StaticFiles):
    """Serves the built site with the web interface's policy. Without it, a page explains how to install it."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)
        self._index = folder / "index.html" if folder else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        mounted = dict(scope)
        scope["root_path"] = scope["app_root_path"]  # error pages name the whole path, as for other routes
        if self._index and self._index.is_file():
            await super().__call__(mounted, receive, send)
            return
        answer = page(
            Request(scope), "error.html", 404, title="The documentation is not installed", detail=NOT_INSTALLED
        )
        await answer(scope, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file of the site, or a 404."""
        response = await super().get_response(path, scope)
        response.headers.update(KEPT)
        return response
