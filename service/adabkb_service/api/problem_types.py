"""The problem types of responses (RFC 9457). ``TABLE`` alone decides the status of a domain error."""

from __future__ import annotations

from typing import NamedTuple

from adabkb_service import errors


class ProblemType(NamedTuple):
    """The response to an error."""

    status: int
    code: str
    title: str
    retryable: bool = False
    remedy: str | None = None
    """What to do, in terms of the API, if the ``detail`` of the error does not say so."""


TABLE: dict[type[errors.AdaBKBError], ProblemType] = {
    errors.Unauthorized: ProblemType(
        401,
        "unauthorized",
        "A token is needed",
        remedy="Send a valid token: Authorization: Bearer adabkb_... An administrator creates tokens with adabkb token "
        "create, or POST /v1/tokens.",
    ),
    errors.Forbidden: ProblemType(
        403,
        "forbidden",
        "The token does not allow this",
        remedy="Use a token with this scope, or ask an administrator for one. To work on another user's study, ask "
        "the owner to share it: PATCH /v1/studies/.../access.",
    ),
    errors.NotOwner: ProblemType(
        403,
        "not_owner",
        "Only the owner may do this",
        remedy="No share gives this right. Ask the owner, whom GET /v1/studies/.../access names, to do it, or to "
        "give you the study: PATCH /v1/studies/.../access with owner.",
    ),
    errors.LoginRefused: ProblemType(403, "login_refused", "The login was refused"),
    errors.LoginFailed: ProblemType(400, "login_failed", "The login failed"),
    errors.QuotaExceeded: ProblemType(
        403,
        "quota_exceeded",
        "The quota is used up",
        remedy="Results of issued trials are still accepted. Permanently delete studies that you no longer need: "
        "DELETE /v1/studies/...?purge=true, DELETE /v1/trash/.... Or ask an administrator for more: adabkb "
        "token quota, or PATCH /v1/tokens/.... GET /v1/tokens/self shows your quotas and how much of them is used.",
    ),
    errors.TooManyRequests: ProblemType(
        429,
        "too_many_requests",
        "Too many requests per time",
        retryable=True,
        remedy="Wait for the number of seconds in Retry-After, then send the request again; the clients of this "
        "service do so "
        "automatically. An "
        "administrator may allow more: adabkb token quota, or PATCH /v1/tokens/....",
    ),
    errors.TooManyAtOnce: ProblemType(
        429,
        "too_many_at_once",
        "Too many concurrent requests",
        retryable=True,
        remedy="End some of them, such as event streams of open pages, or send the request again later; the clients "
        "of this service do so automatically. An administrator may raise the server's setting user_requests, "
        "user_streams "
        "or user_waits.",
    ),
    errors.TokenNotFound: ProblemType(
        404, "token_not_found", "No such token", remedy="GET /v1/tokens lists the existing tokens."
    ),
    errors.PersonNotFound: ProblemType(
        404, "person_not_found", "No such person", remedy="GET /v1/people lists the people who have logged in."
    ),
    errors.DeletionNotFound: ProblemType(
        404,
        "deletion_not_found",
        "Not in the trash",
        remedy="GET /v1/trash lists the studies that can be restored.",
    ),
    errors.StudyNotFound: ProblemType(
        404,
        "study_not_found",
        "No such study",
        remedy="GET /v1/studies lists the existing ones, and POST /v1/studies creates one.",
    ),
    errors.StudyDeleted: ProblemType(
        404,
        "study_deleted",
        "The study was deleted",
        remedy="POST .../restore restores a study from the trash, and GET /v1/trash lists what is in it. To read the "
        "events of a new study with this id, leave out Last-Event-ID.",
    ),
    errors.WebhookNotFound: ProblemType(
        404, "webhook_not_found", "No such webhook", remedy="GET .../webhooks lists the existing ones by id."
    ),
    errors.FileNotFound: ProblemType(
        404, "file_not_found", "No such file", remedy="GET .../files of the trial or result lists the existing ones."
    ),
    errors.TrialNotFound: ProblemType(
        404, "trial_not_found", "No such trial", remedy="GET .../trials lists the existing ones."
    ),
    errors.ObservationNotFound: ProblemType(
        404,
        "observation_not_found",
        "No such observation",
        remedy="GET .../observations lists the existing ones; use the seq of an observation.",
    ),
    errors.StudyExists: ProblemType(
        409,
        "study_exists",
        "The id is taken",
        remedy="Give another id, or the same definition to continue the existing study. PATCH /v1/studies/... "
        "changes its limits, stop, tags and parameters; the rest of a definition cannot change.",
    ),
    errors.RestoreConflict: ProblemType(
        409,
        "restore_conflict",
        "Another study has the id",
        remedy="A deleted study is restored under its own id. Move the present study to the trash with DELETE "
        "/v1/studies/..., then restore the other one by its number in GET /v1/trash: POST .../restore with "
        '{"deletion": 3}.',
    ),
    errors.IdTaken: ProblemType(
        409,
        "id_taken",
        "The id is taken by another user",
        remedy="Give another id, such as one that begins with the name of your group. All users of a server share "
        "the ids.",
    ),
    errors.TokenExists: ProblemType(
        409,
        "token_made",
        "The token was created before",
        remedy="If the response with the token was lost, revoke the token with DELETE /v1/tokens/..., and create "
        "another one with a new Idempotency-Key.",
    ),
    errors.WebhookExists: ProblemType(
        409,
        "webhook_made",
        "The webhook was added before",
        remedy="If the response with the secret was lost, delete the webhook with DELETE .../webhooks/..., and add "
        "another one with a "
        "new Idempotency-Key.",
    ),
    errors.ResultConflict: ProblemType(
        409,
        "result_conflict",
        "The attempt has another result",
        remedy="PATCH .../observations/... corrects a stored result, and POST .../retry makes the server issue a "
        "failed trial again.",
    ),
    errors.ReportConflict: ProblemType(
        409,
        "report_conflict",
        "The attempt has reported another value",
        remedy="Reports cannot be corrected. Report the next value at a later step, or release the trial with POST "
        ".../release to restart it: each attempt has its own curve.",
    ),
    errors.TrialFinished: ProblemType(
        409,
        "trial_finished",
        "The trial is finished",
        remedy="The trial needs no more work. DELETE .../observations/... excludes a wrong result, and POST .../retry "
        "makes the server issue a failed trial again.",
    ),
    errors.LeaseLost: ProblemType(
        409,
        "lease_lost",
        "The attempt has lost its lease",
        remedy="Stop working on the trial and ask for another with POST .../suggest. If you already have a result, you "
        "may still report it; include its attempt.",
    ),
    errors.StudyComplete: ProblemType(
        409,
        "study_complete",
        "The study takes no further trials",
        remedy="If the budget is the reason, PATCH /v1/studies/... with a larger budget continues the study. A result "
        "at your own point does not count towards the budget: POST .../observe with parameters and value.",
    ),
    errors.RequestInProgress: ProblemType(
        409, "request_in_progress", "The same request is in progress", retryable=True
    ),
    errors.PreconditionFailed: ProblemType(
        412,
        "precondition_failed",
        "The study, trial or result has changed",
        remedy="GET it, decide again, and send the present values in was, or the present ETag in If-Match: that of the "
        "trial for a trial, that of the study for a study or a result. Without both, the request is performed whatever "
        "has changed.",
    ),
    errors.IdempotencyKeyReused: ProblemType(
        422,
        "idempotency_key_reused",
        "The idempotency key belongs to another request",
        remedy="To repeat a request, send it unchanged under its key. Send each other request with a new key.",
    ),
    errors.Invalid: ProblemType(
        422,
        "invalid",
        "The request is not valid",
        remedy="Correct what errors lists, and send the request again; /api describes the fields of each call.",
    ),
    errors.Busy: ProblemType(503, "busy", "Busy", retryable=True),
    errors.ModelBusy: ProblemType(503, "model_busy", "Model busy", retryable=True),
    errors.ModelCannotFold: ProblemType(503, "unavailable", "Unavailable"),
    errors.ProviderUnavailable: ProblemType(
        503, "provider_unavailable", "The identity provider is not available", retryable=True
    ),
    errors.Unavailable: ProblemType(503, "unavailable", "Unavailable", retryable=True),
}

HTTP: dict[int, ProblemType] = {
    400: ProblemType(
        400,
        "malformed_body",
        "The body is not JSON",
        remedy="Send JSON in UTF-8: names and texts in double quotation marks, true, false and null in lower case, no "
        "comma after the last item.",
    ),
    404: ProblemType(
        404, "not_found", "No such page", remedy="/api documents all calls; /openapi.json lists them for programs."
    ),
    405: ProblemType(
        405,
        "method_not_allowed",
        "Method not allowed",
        remedy="Use one of the methods in the header Allow; /api documents each call.",
    ),
    413: ProblemType(
        413,
        "body_too_large",
        "The body is too large",
        remedy="Send less at once, for example results in several batches, or raise the server's setting body_limit "
        "and, for files, also file_limit.",
    ),
    415: ProblemType(415, "unsupported_media_type", "The server does not read such bodies"),
    500: ProblemType(500, "internal", "Internal error"),
}

CROSS_SITE = ProblemType(
    403,
    "cross_site",
    "Cross-site request",
    remedy="Open a page of the server itself, or use a program. The server's setting origins lists other sites whose "
    "pages may use it.",
)
FOREIGN_HOST = ProblemType(
    421,
    "foreign_host",
    "Unrecognized host name",
    remedy="Use the server's IP address, or localhost on its own machine; the server's setting hosts lists the names "
    "that it answers to.",
)
BROWSERS = (CROSS_SITE, FOREIGN_HOST)
"""Refusals before routing: cross-site requests and foreign host names."""

CONNECTIONS: dict[int, ProblemType] = {
    400: ProblemType(400, "malformed_request", "Not an HTTP request", remedy="Use an HTTP library."),
    408: ProblemType(
        408,
        "too_slow",
        "The request arrived too slowly",
        retryable=True,
        remedy="Use a faster connection, send less at once, or raise the server's settings header_seconds and "
        "body_seconds.",
    ),
    431: ProblemType(
        431,
        "header_too_large",
        "The header is too large",
        remedy="Send a shorter URL and shorter headers, or raise the server's setting header_limit.",
    ),
    503: ProblemType(
        503,
        "too_many_connections",
        "Too many connections",
        retryable=True,
        remedy="Try again with fewer connections, or raise the server's setting connections.",
    ),
}
"""Refusals of a connection, before a request is complete."""


def problem_type_of(error: errors.AdaBKBError) -> ProblemType:
    """Return the entry of the table for the class of the error, or for its nearest base class."""
    return next(TABLE[cls] for cls in type(error).__mro__ if cls in TABLE)


def all_problem_types() -> list[ProblemType]:
    """Return all problem types."""
    return [*TABLE.values(), *HTTP.values(), *BROWSERS, *CONNECTIONS.values()]
