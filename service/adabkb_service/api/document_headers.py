"""The headers of responses in the OpenAPI document."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_SECONDS = {"type": "integer"}

REQUEST_ID = {"description": "id of the request, also in the server's log", "schema": _TEXT}
ETAG = {"description": "entity tag, for If-None-Match and, where a call has it, If-Match", "schema": _TEXT}
REPLAYED = {
    "description": "true: the stored response to an earlier request with this Idempotency-Key",
    "schema": {"const": "true", "type": "string"},
}
APPLIED = {"description": "wait=SECONDS, if the request was allowed to wait", "schema": _TEXT}
RETRY_AFTER = {"description": "seconds after which to repeat the request, if it can be repeated", "schema": _SECONDS}
LIMITS = {
    "RateLimit-Policy": {"description": "with a quota of requests: q, the quota, in w seconds", "schema": _TEXT},
    "RateLimit": {
        "description": "with a quota of requests: r, the remaining requests, and t, the seconds until the quota is "
        "full or, in a 429, until the next request is allowed",
        "schema": _TEXT,
    },
}
AUTHENTICATE = {"description": "what is missing, such as the scope of the token (RFC 6750)", "schema": _TEXT}
DISPOSITION = {"description": "attachment or inline, and the name of the file", "schema": _TEXT}
ACCEPTED = {"description": "identity, if the body was compressed", "schema": _TEXT}

WITH_ETAG = frozenset({"createStudy", "getStudy", "changeStudy", "restoreStudy", "listTrials", "getTrial"})
FILES = frozenset({"readFile", "readResultFile", "export", "getReport"})
CONDITIONAL = frozenset({"409", "429", "503"})
"""The statuses of which some are retryable."""


def describe_headers(operation: dict[str, Any]) -> None:
    """Add the headers of its responses to an operation of the document."""
    parameters = {each["name"] for each in operation.get("parameters", ())}
    for status, answer in operation["responses"].items():
        headers: dict[str, Any] = {"X-Request-ID": REQUEST_ID}
        if status < "400":
            headers |= _of_success(operation["operationId"], parameters)
        if status in CONDITIONAL:
            headers["Retry-After"] = RETRY_AFTER
        if status in ("401", "403"):
            headers["WWW-Authenticate"] = AUTHENTICATE
        if status == "415":
            headers["Accept-Encoding"] = ACCEPTED
        if "security" in operation and (status < "400" or status == "429"):
            headers |= LIMITS
        answer["headers"] = headers


def _of_success(name: str, parameters: set[str]) -> dict[str, Any]:
    headers = {"ETag": ETAG} if name in WITH_ETAG else {}
    if "Idempotency-Key" in parameters:
        headers["Idempotent-Replayed"] = REPLAYED
    if "Prefer" in parameters:
        headers["Preference-Applied"] = APPLIED
    if name in FILES:
        headers["Content-Disposition"] = DISPOSITION
    return headers
