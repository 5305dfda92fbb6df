"""Suggest the most similar existing path for a request to a path that does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from adabkb_service.api.prefix import own_path
from adabkb_service.engine.wording import nearest

MAX_SEGMENTS = 8
"""The maximum number of segments of a path; no path of this service has more."""


def suggest_path(routes: Sequence[APIRoute], scope: Scope) -> str | None:
    """Return an existing path that is similar to the path of a request; None if there is none."""
    segments = own_path(scope).strip("/").split("/")
    if len(segments) > MAX_SEGMENTS:
        return None
    candidates = ("/" + "/".join(each) for each in _alike(routes, segments))
    prefix = scope.get("root_path", "")
    return next((prefix + path for path in candidates if _exists(routes, {**scope, "path": prefix + path})), None)


def _alike(routes: Sequence[APIRoute], segments: list[str]) -> Iterator[list[str]]:
    """Yield the path without a trailing slash, the path with the API version, and the paths with one corrected word."""
    yield segments
    yield ["v1", *segments]
    words = {word for route in routes for word in route.path.split("/") if word and not word.startswith("{")}
    for position, segment in enumerate(segments):
        if segment not in words and (word := nearest(segment, words)):
            yield [*segments[:position], word, *segments[position + 1 :]]


def _exists(routes: Sequence[APIRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is not Match.NONE for route in routes)
