"""The errors of this client, as one tree.

AdaBKBError
├── ConnectionFailed          no answer arrived, although the request was repeated
├── UnexpectedAnswer          something answered, but not this API
├── NoTrialAvailable          nothing to evaluate now: see ``reason`` and ``retry_after``
│   └── StudyComplete         nothing to evaluate now or later
└── APIError                  the server refused: ``status``, ``code``, ``detail``, ``pointers``
    ├── Unauthorized          401, 403
    ├── NotFound              404
    ├── Conflict              409: contradicts what is stored
    ├── PreconditionFailed    412: the study changed meanwhile
    ├── Invalid               400, 413, 415, 422: ``pointers`` says which field and why
    └── Unavailable           429, 502, 503, 504: busy for longer than the client was willing to retry
"""

from collections.abc import Iterable, Mapping
from typing import Any


class AdaBKBError(Exception):
    """Any error of this client."""


class ConnectionFailed(AdaBKBError):
    """No answer from the server; the request may or may not have been performed."""


class UnexpectedAnswer(AdaBKBError):
    """The answer is not one of this API: a proxy's page, another service, an incompatible version."""


class NoTrialAvailable(AdaBKBError):
    """Nothing to evaluate right now.

    ``reason`` is "budget" or "exhausted" (all trials, or all points of a finite space, are handed out, and results are
    awaited), "pending_limit", "paused", or "failures" (the study was paused after too many failures in a row).
    ``retry_after`` is the time in seconds after which the server recommends to ask again.
    """

    def __init__(self, study: str, reason: str | None, retry_after: float | None) -> None:
        super().__init__(f"study {study!r} hands out no trial: {reason or 'no reason given'}")
        self.reason = reason
        self.retry_after = retry_after


class StudyComplete(NoTrialAvailable):
    """The study is over: ``reason`` is "budget", "converged" or "exhausted"."""


class APIError(AdaBKBError):
    """The server refused a request (an RFC 9457 problem).

    ``pointers`` maps a JSON pointer into the request's body to what is wrong there.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        request_id: str | None = None,
        pointers: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.pointers = dict(pointers or {})
        self.retry_after = retry_after
        fields = "".join(f"\n  {pointer}: {problem}" for pointer, problem in self.pointers.items())
        trace = f" (request {request_id})" if request_id else ""
        super().__init__(f"{status} {code}: {detail}{trace}{fields}")


class Unauthorized(APIError):
    """The token is missing, unknown, or not sufficient."""


class NotFound(APIError):
    """No such study, trial or observation."""


class Conflict(APIError):
    """The request contradicts what is stored, such as another value for a finished trial."""


class PreconditionFailed(APIError):
    """The study is no longer at the revision the request named."""


class Invalid(APIError):
    """The request's body is wrong: see ``pointers``."""


class Unavailable(APIError):
    """The server was busy, restarting, or still performing the same request, for as long as the client retried."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def from_problem(status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> APIError:
    """Build the error for a problem document, which is empty for the answer of a proxy."""
    kind = Unavailable if problem.get("retryable") else _BY_STATUS.get(status, APIError)
    return kind(
        status,
        problem.get("code", "unknown"),
        problem.get("detail") or problem.get("title") or "the server gave no detail",
        request_id=problem.get("request_id"),
        pointers=_by_pointer(problem.get("errors") or ()),
        retry_after=retry_after,
    )


def _by_pointer(faults: Iterable[Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for fault in faults:
        found.setdefault(fault["pointer"], []).append(fault["detail"])
    return {pointer: "; ".join(details) for pointer, details in found.items()}
