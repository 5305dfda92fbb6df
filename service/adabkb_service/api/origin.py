"""Check which web pages may send requests to the server from a browser: its own, and those of configured origins.

A browser lets any page send requests to any address, and sends the page's origin. A server without tokens performs
every request, so this middleware refuses cross-site requests (see docs/security.md).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from adabkb_service.api.problem_types import CROSS_SITE, FOREIGN_HOST, ProblemType
from adabkb_service.api.problems import problem
from adabkb_service.errors import shown

INSPECTED_HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"})
CORS_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
CORS_REQUEST_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    "Traceparent",
    "X-Request-ID",
)
"""Headers that pages of the configured origins may send."""
CORS_RESPONSE_HEADERS = (
    "Content-Disposition",
    "ETag",
    "Idempotent-Replayed",
    "Preference-Applied",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "X-Request-ID",
)
"""Headers of a response that pages of the configured origins can read."""
OWN_SITE = (b"same-origin", b"none")
"""Values of Sec-Fetch-Site for the server's own pages, and for an address that a user typed or bookmarked."""


class OriginMiddleware:
    """Refuses requests that a browser sends for a page of another site, unless the user follows a link. It also refuses
    foreign host names, which prevents DNS rebinding. Starlette's ``TrustedHostMiddleware`` cannot allow all IP
    addresses, and does not send problem documents.

    Args:
        app: the application for all other requests.
        hosts: names of the server in addition to its IP addresses and localhost.
        origins: other origins whose pages may use it, such as ``https://notebook.lab.example``.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] == "http":
            headers = {name: value for name, value in scope["headers"] if name in INSPECTED_HEADERS}
            if refusal := self._refusal(scope["method"], headers):
                await problem(Request(scope), *refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Mapping[bytes, bytes]) -> tuple[ProblemType, str] | None:
        host = headers.get(b"host", b"")
        name = _name(host)
        if name is not None and name not in self._hosts:
            return FOREIGN_HOST, f"Unrecognized Host: {shown(name)}."
        if headers.get(b"origin") not in self._origins and _is_cross_site(method, host, headers):
            return CROSS_SITE, "A browser sent this request for a page of another site."
        return None


@lru_cache(maxsize=128)
def _name(host: bytes) -> str | None:
    """Return the name in a Host header; None for an IP address, localhost and a missing Host. An attacker can make
    other names, but not these, resolve to this server."""
    text = host.decode("latin-1")
    try:
        name = urlsplit(f"//{text}").hostname or "localhost"
    except ValueError:
        return text
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return None if name == "localhost" else name
    return None


def _is_cross_site(method: str, host: bytes, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a page of another site sent the request, according to Sec-Fetch-Site or, without it, to Origin.
    Programs send neither header. A browser sends Sec-Fetch-Site to loopback and over TLS, and Origin with each request
    that does more than fetch a document."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is None:
        return origin is not None and urlsplit(origin).netloc != host
    return site not in OWN_SITE and not _follows_link(method, headers)


def _follows_link(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the response replaces the page, so that the page cannot read it."""
    is_document = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return is_document and method in ("GET", "HEAD")
