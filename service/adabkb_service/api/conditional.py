"""Conditional GET (RFC 9110): a client that already has the current response gets a 304 without a body."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any

from fastapi import Depends, Header, Response
from pydantic import BaseModel

_TAG = re.compile(r'"[^"]*"')


async def _known_tags(
    if_none_match: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            description="ETags of responses that the client has; 304 if the current one is among them",
        ),
    ] = None,
) -> frozenset[str]:
    return frozenset(_TAG.findall(if_none_match or "")) | ({"*"} if (if_none_match or "").strip() == "*" else set())


UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the current response"}}

KnownDep = Annotated[frozenset[str], Depends(_known_tags)]


def conditional(answer: BaseModel | str, known: frozenset[str], revision: int | None = None) -> Response:
    """Return an answer with its ETag, or 304 without a body.

    Args:
        answer: a model, or its JSON.
        known: the ETags of the request, without the prefix of weak ones.
        revision: the study's revision, the first part of the ETag and the only one that ``If-Match`` compares.
    """
    text = answer if isinstance(answer, str) else answer.model_dump_json()
    digest = hashlib.blake2b(text.encode(), digest_size=9).hexdigest()
    tag = f'"{digest}"' if revision is None else f'"{revision}.{digest}"'
    headers = {"ETag": f"W/{tag}" if revision is None else tag, "Cache-Control": "no-cache"}
    if tag in known or "*" in known:
        return Response(None, 304, headers)
    return Response(text, 200, headers, media_type="application/json")
