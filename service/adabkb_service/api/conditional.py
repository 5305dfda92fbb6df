"""Conditional requests (RFC 9110). A client that already has the current response gets a 304 without a body. A change
with If-Match is refused with 412 if the study or trial has changed since then."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from adabkb_service.contract.answers import Study
from adabkb_service.contract.entity_tags import content_tag, revision_tag, revisions_in, study_tag, tags_in
from adabkb_service.errors import FieldError, Invalid

IF_MATCH = "If-Match"


async def _known_tags(
    request: Request,
    if_none_match: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            description="ETags of responses that the client has; 304 if the current one is among them",
        ),
    ] = None,
) -> frozenset[str]:
    if if_none_match is None:
        return frozenset()
    given = ",".join(request.headers.getlist("If-None-Match"))
    return frozenset("*") if given.strip() == "*" else tags_in(given)


UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the current response"}}

KnownDep = Annotated[frozenset[str], Depends(_known_tags)]


def conditional(answer: BaseModel | str, known: frozenset[str], *, is_weak: bool = False) -> Response:
    """Return a response with its ETag, or 304 without a body if the client has this response.

    Args:
        answer: a Pydantic model, or its JSON.
        known: the ETags of the request.
        is_weak: whether the ETag is weak. If-Match does not compare weak ETags, such as those of lists.
    """
    text = answer if isinstance(answer, str) else answer.model_dump_json()
    tag = content_tag(text)
    return _unless_known(text, known, tag, f'W/"{tag}"' if is_weak else f'"{tag}"')


def conditional_study(study: Study, text: str, known: frozenset[str]) -> Response:
    """Return a study, whose JSON is ``text``, with its ETag, or 304 without a body."""
    tag = etag_of(study, text)
    return _unless_known(text, known, tag, f'"{tag}"')


def etag_of(study: Study, text: str) -> str:
    """Return the tag of a study, whose JSON is ``text``. It begins with the tag of the revision, which is all that
    If-Match compares."""
    return study_tag(revision_tag(study.created_at, study.seed, study.revision), text)


def _unless_known(text: str, known: frozenset[str], tag: str, etag: str) -> Response:
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if tag in known or "*" in known:
        return Response(None, 304, {**headers, "Vary": "Accept-Encoding"})
    return Response(text, 200, headers, media_type="application/json")


async def _revisions(
    request: Request,
    if_match: Annotated[
        str | None,
        Header(alias=IF_MATCH, description="ETag of the study; the request is refused if the study has changed"),
    ] = None,
) -> frozenset[str] | None:
    tags = None if if_match is None else _expected(request, "study")
    return None if tags is None else revisions_in(tags)


RevisionsDep = Annotated[frozenset[str] | None, Depends(_revisions)]
"""The tags of the study's revisions in If-Match; None if the request does not depend on the revision."""


async def _trial_tags(
    request: Request,
    if_match: Annotated[
        str | None,
        Header(alias=IF_MATCH, description="ETag of the trial; the request is refused if the trial has changed"),
    ] = None,
) -> frozenset[str] | None:
    return None if if_match is None else _expected(request, "trial")


TrialTagsDep = Annotated[frozenset[str] | None, Depends(_trial_tags)]
"""The tags of the trial in If-Match; None if the request does not depend on them."""


def _expected(request: Request, what: str) -> frozenset[str] | None:
    """Return the tags in If-Match; None for ``*``, which any existing object matches.

    Raises:
        Invalid: the header has no tag.
    """
    given = ",".join(request.headers.getlist(IF_MATCH))
    if given.strip() == "*":
        return None
    tags = tags_in(given)
    if not tags:
        detail = f"must be the ETag of a GET of the {what}, with its quotation marks"
        raise Invalid([FieldError(f"header:{IF_MATCH}", detail, "invalid_etag")])
    return tags
