"""The exceptions of this client.

AdaBKBError
├── ConnectionFailed          no response arrived in spite of retries
│   └── ResultKept            the result is kept on disk, and is sent later
├── UnexpectedAnswer          the response is not from this API
├── NoTrialAvailable          nothing to evaluate now: see ``reason`` and ``retry_after``
│   └── StudyComplete         nothing to evaluate now or later
├── WrongFunction             a function that you passed has the wrong arguments (also a TypeError)
├── WrongResult               a value is not valid in a result (also a TypeError)
├── NotFinite                 a number is infinite or NaN (also a ValueError)
├── WorkerDied                a worker process of a run crashed in the middle of an evaluation
├── WorkerLost                a worker process was killed, or a cluster lost the worker's process or node
└── APIError                  the server refused: ``status``, ``code``, ``detail``, ``pointers``
    ├── Unauthorized          401, 403
    ├── QuotaExceeded         403: the user's quota is used up
    ├── NotFound              404
    ├── Conflict              409: contradicts what is stored
    ├── PreconditionFailed    412: the study changed meanwhile
    ├── Invalid               400, 413, 415, 422: ``pointers`` says which field and why
    └── Unavailable           429, 502, 503, 504, and other errors that a retry may solve
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar


class AdaBKBError(Exception):
    """Any error of this client."""


class ConnectionFailed(AdaBKBError):
    """No response from the server. It is unknown whether the request was performed."""


class ResultKept(ConnectionFailed):
    """A result could not be delivered. It is kept on disk, and sent when the server next responds to a client on this
    machine."""


class UnexpectedAnswer(AdaBKBError):
    """The response is not from this API, but from a proxy, another service or an incompatible version."""


class NoTrialAvailable(AdaBKBError):
    """There is no trial to evaluate now.

    ``retry_after`` is the number of seconds to wait before the next request. ``reason`` is one of:

    * "budget", "exhausted", "no_gain", "gain_unlikely": the study issues no new points, but results are pending;
    * "fixed_exhausted": all points with these values of ``fixed`` and ``context`` were issued;
    * "no_plate_left": the request needs a new plate, and the budget allows none;
    * "pending_limit": the study has as many unfinished trials as it allows;
    * "paused", "failures": the study was paused by a user, or after too many failures in a row;
    * "plate_full": the plate is full, and the next request begins a new one.
    """

    explanations: ClassVar[Mapping[str, str]] = {
        "budget": "all trials of its budget have been issued, and other workers' results are pending",
        "exhausted": "all points of its space have been issued, and other workers' results are pending",
        "fixed_exhausted": "all points with these values of fixed and context have been issued; give others",
        "no_plate_left": "its budget allows no other plate; call suggest with plate='open' and the values of the last "
        "plate, or raise the budget",
        "no_gain": "its last results were no better, so it ends unless a pending result is better",
        "gain_unlikely": "according to the model, further trials gain little, so it ends unless a pending result "
        "changes that",
        "pending_limit": "it has as many unfinished trials as its pending_limit allows; report or release one first",
        "paused": "it is paused; resume it with study.resume()",
        "plate_full": "the plate is full; call suggest again to begin a new one",
        "failures": "it was paused because failure_limit trials in a row failed; see the reasons in "
        'study.trials("failed"), remove the cause, then call study.retry_failed() and study.resume()',
    }

    def __init__(self, study: str, reason: str | None, retry_after: float | None) -> None:
        because = self.explanations.get(reason or "", "this client does not know the reason")
        super().__init__(f"study {study!r} issues no trial ({reason}): {because}")
        self.reason = reason
        self.retry_after = retry_after


class StudyComplete(NoTrialAvailable):
    """The study is over: ``reason`` is "budget", "converged", "exhausted", "no_gain" or "gain_unlikely"."""

    explanations: ClassVar[Mapping[str, str]] = {
        "budget": "its budget is used up; raise it with study.update(budget=...)",
        "converged": "it has converged: its gap is within the tolerance, or its algorithm has no cell left to divide",
        "exhausted": "all points of its space have been evaluated",
        "no_gain": "its last results brought no improvement, so its stop rule ended it; continue with "
        "study.update(stop=None)",
        "gain_unlikely": "its gap is below the share in its stop rule; continue with study.update(stop=None)",
    }


class WrongFunction(AdaBKBError, TypeError):
    """A function that you passed has the wrong arguments or kind, or an objective requests no parameter."""


class WrongResult(AdaBKBError, TypeError):
    """A value that you passed, or that your function returned, is not valid in a result: a programming error."""


class NotFinite(AdaBKBError, ValueError):
    """A number is infinite or NaN. If a function returns such a result, its trial fails and the run continues, since
    training may diverge."""


class WorkerDied(AdaBKBError):
    """A worker process of ``study.run(..., processes=True)`` crashed or exited during an evaluation, or was killed
    during the last attempt of a trial (``max_attempts``). The trial fails."""


class WorkerLost(AdaBKBError):
    """The worker process that evaluated a trial was killed, or the cluster of ``study.run(..., engine=...)`` lost the
    worker's process or node.

    The trial is released, and issued again before any new point.
    """


class APIError(AdaBKBError):
    """The server refused a request (an RFC 9457 problem).

    ``pointers`` maps JSON pointers into the request's body to errors; the text of the exception names the arguments
    instead. ``problem`` is the whole document, empty if the response is not from this API.

    Args:
        status: the status of the response.
        code: the stable error code.
        detail: the server's error message.
        request_id: the id of the request in the server's log.
        pointers: the errors in the body, by JSON pointer.
        names: the parameters of the search space in order, since pointers have only their positions.
        retry_after: the number of seconds to wait before a retry, from the header Retry-After; None without one.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        request_id: str | None = None,
        pointers: Mapping[str, str] | None = None,
        names: Sequence[str] = (),
        retry_after: float | None = None,
    ) -> None:
        self.problem: Mapping[str, Any] = {}
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.pointers = dict(pointers or {})
        self.retry_after = retry_after
        what = " ".join(filter(None, [detail, _REMEDIES.get(code)]))
        if self.pointers:  # ``detail`` repeats the first of them
            what = "\n".join(f"{_argument(pointer, names)}: {problem}" for pointer, problem in self.pointers.items())
        trace = f", request {request_id}" if request_id else ""
        separator = "\n" if len(self.pointers) > 1 else " "
        super().__init__(f"{what}{separator}[{status} {code}{trace}]")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and the fields: the arguments cannot be recovered from the text."""
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[APIError], arguments: tuple[Any, ...]) -> APIError:
    error = kind.__new__(kind)
    error.args = arguments
    return error


class Unauthorized(APIError):
    """The token is missing, unknown, or insufficient."""


class QuotaExceeded(APIError):
    """A quota of the token or of its user is used up: delete data, or ask an administrator for a larger quota. Results
    of issued trials are accepted nevertheless."""


class NotFound(APIError):
    """The study, trial or observation does not exist."""


class Conflict(APIError):
    """The request contradicts stored data, such as another value for a finished trial."""


class PreconditionFailed(APIError):
    """The study, trial or result has changed since the revision, or from the values, that the request named."""


class Invalid(APIError):
    """The request's body is invalid: see ``pointers``."""


class Unavailable(APIError):
    """The server was busy, restarting, or still performing the same request, for as long as the client retried."""


_REMEDIES = {
    "unauthorized": "Give a valid token: Client(token=...), or ADABKB_TOKEN in the environment.",
    "forbidden": 'Use a token with this scope, or ask the study\'s owner to call study.share(user, "work").',
    "not_owner": "No share gives this right. Ask the owner (study.access().owner) to do it, or to call "
    "study.give(user), which gives you the study.",
    "deletion_not_found": "client.trash() lists the studies that can be restored.",
    "study_not_found": "client.studies() lists the existing studies; client.create_study() creates one.",
    "trial_not_found": "study.trials() lists the existing trials.",
    "observation_not_found": "study.observations() lists the existing observations.",
    "study_exists": "client.study(id) opens the existing study, and study.update(parameters=...) edits its space. A "
    "different definition needs another id.",
    "restore_conflict": "Delete the present study first: client.delete_study(id). Then restore the other one by its "
    "number in client.trash().",
    "id_taken": "Give another id, such as one that begins with the name of your group.",
    "result_conflict": "study.correct(seq, value) replaces a stored value, and study.retry(trial) issues a failed "
    "trial again.",
    "report_conflict": "Reports cannot be corrected; study.release(trial) restarts the trial with a new curve.",
    "trial_finished": "study.exclude(seq) excludes a wrong result.",
    "lease_lost": "Stop evaluating it; study.suggest() leases another trial.",
    "study_complete": "study.update(budget=...) raises its budget; study.add_result(parameters, value) does not count "
    "towards it.",
    "not_found": "Give Client the URL of the server without a path, such as http://127.0.0.1:8000.",
}
"""Remedies in terms of this client, by code."""

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


_BY_CODE: dict[str, type[APIError]] = {"quota_exceeded": QuotaExceeded}


def from_problem(
    status: int,
    problem: Mapping[str, Any],
    retry_after: float | None = None,
    names: Sequence[str] = (),
    otherwise: str = "the server gave no detail",
) -> APIError:
    """Return the error for a problem document, which is empty if a proxy answered. ``names`` are the parameters of the
    search space in the request; ``otherwise`` is the text without a detail."""
    kind = _BY_CODE.get(problem.get("code", ""), _BY_STATUS.get(status, APIError))
    kind = Unavailable if problem.get("retryable") else kind
    error = kind(
        status,
        problem.get("code", "unknown"),
        problem.get("detail") or problem.get("title") or otherwise,
        request_id=problem.get("request_id"),
        pointers=_by_pointer(problem.get("errors") or ()),
        names=names,
        retry_after=retry_after,
    )
    error.problem = problem
    return error


def is_refusal(error: AdaBKBError) -> bool:
    """Return whether the service itself refused a request permanently. Errors of a proxy or of a failing server do not
    count, nor does a refused token, which can be replaced, or a quota, which can be raised.
    """
    if not isinstance(error, APIError) or isinstance(error, Unauthorized | QuotaExceeded | Unavailable):
        return False
    return bool(error.problem) and 400 <= error.status < 500


def _by_pointer(field_errors: Iterable[Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for field_error in field_errors:
        found.setdefault(field_error["pointer"], []).append(field_error["detail"])
    return {pointer: "; ".join(problems) for pointer, problems in found.items()}


def steps_of(pointer: str) -> list[str]:
    """Return the names and positions on the path to the target of a JSON pointer (RFC 6901)."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.lstrip("/?").split("/")]


MAX_NAME_LENGTH = 60
"""The maximum length of a parameter's name in an error."""


def _argument(pointer: str, names: Sequence[str]) -> str:
    """Name the target of a pointer as the program does: "parameter 'depth', high" for "/parameters/0/high", and
    "constraints[0]" for "/constraints/0"."""
    first, *rest = steps_of(pointer)
    if first == "parameters" and rest:
        position = rest[0]
        is_position = position.isdecimal() and int(position) < len(names)
        name = names[int(position)] if is_position else position
        name = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 3]}..."
        field, inner = rest[1:2], rest[2:]
        if field == ["when"] and inner:
            return f"parameter {name!r}, when[{inner[0]!r}]{_path(inner[1:])}"
        return ", ".join([f"parameter {name!r}", *(f"{each}{_path(inner)}" for each in field)])
    if first == "points" and len(rest) > 1:
        return f"points[{rest[0]}], parameter {rest[1]!r}"
    return first + _path(rest)


def _path(steps: Sequence[str]) -> str:
    """Return names and positions as Python writes them: ".name" and "[0]"."""
    return "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps)
