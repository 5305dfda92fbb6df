"""The service's errors. Independent of HTTP: ``api/problem_types.py`` maps them to statuses.

AdaBKBError
├── Unauthorized              the request has no valid token
├── Forbidden                 the token or its user lacks the permission
│   └── NotOwner              only the study's owner has the permission
├── LoginRefused              the identity provider, or the person's groups, do not allow a login
├── LoginFailed               the answer of the identity provider is not valid
├── QuotaExceeded             the addition exceeds the user's quota
├── TooManyRequests           the token or its user has reached a rate limit; retry later
├── TooManyAtOnce             the user has reached a limit on concurrent requests or streams
├── NotFound
│   ├── StudyNotFound
│   │   └── StudyDeleted
│   ├── TokenNotFound
│   ├── PersonNotFound
│   ├── DeletionNotFound
│   ├── WebhookNotFound
│   ├── FileNotFound
│   ├── TrialNotFound
│   └── ObservationNotFound
├── Invalid                   the request is not valid; carries one FieldError per error
│   └── IdempotencyKeyReused
├── Conflict                  the request is valid, but the state of the study forbids it
│   ├── StudyExists
│   ├── RestoreConflict
│   ├── IdTaken
│   ├── TokenExists
│   ├── WebhookExists
│   ├── ResultConflict
│   ├── ReportConflict
│   ├── TrialFinished
│   ├── LeaseLost
│   ├── StudyComplete
│   └── RequestInProgress
├── PreconditionFailed        If-Match names another revision, or a field has another value than in was
├── Busy                      too much concurrent work; retry
│   ├── ModelBusy             the model has not decided on points in time
│   └── Contention            the database rolled a transaction back because of another one
│       └── RowRefused        the database rejected a row, probably because its key exists
├── Unavailable               the database or a model does not respond
│   ├── DatabaseUnavailable   the database does not respond, or cannot be written
│   │   └── DatabaseFull      the disk of PostgreSQL is full
│   ├── ProviderUnavailable   the identity provider does not respond, or is not usable
│   ├── NotReady              parts of the server do not work; carries one FieldError per part
│   └── ModelCannotFold       a model cannot fold its log; retrying does not help
└── SchemaMismatch            the database has another schema version
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MAX_ERRORS = 100
"""The maximum number of errors listed in one response; the others are counted."""
MAX_BATCH_ERRORS = 1000
"""The maximum number of errors listed for all items of a batch together, beyond the first one of each item."""
MAX_NAME_LENGTH = 200
"""The maximum length of a name in a pointer, in characters; no parameter name is longer."""
MAX_POINTER_LENGTH = 500
"""The maximum length of a pointer, in characters."""
MAX_DETAIL_LENGTH = 512
"""The maximum length of the detail of one error, in characters."""
MAX_MESSAGE_LENGTH = 1000
"""The maximum length of the message about the whole request, in characters."""
MAX_VALUE_LENGTH = 200
"""The maximum length of a value in a message, in characters."""

_SECRET = re.compile(r"(adabkb_[0-9a-f]{12}_)[0-9a-f]+", re.IGNORECASE)
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = MAX_VALUE_LENGTH
_SHOWN.maxdict = _SHOWN.maxlist = 20


def shortened(text: str, most: int) -> str:
    """Return the text, cut to ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def masked(text: str) -> str:
    """Return a text without the secrets of tokens."""
    return _SECRET.sub(r"\1...", text)


def visible(text: str) -> str:
    """Return a text for a response: without secrets, and with invisible characters escaped, such as marks that change
    the writing direction."""
    hidden = masked(text)
    if hidden.isprintable():
        return hidden
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in hidden
    )


def shown(value: object) -> str:
    """Return the Python representation of a value, cut if it is long. The full text of a large value is never built."""
    return shortened(_SHOWN.repr(value), MAX_VALUE_LENGTH)


def json_pointer(*steps: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of these names and indices; long names are cut."""
    names = (shortened(str(step), MAX_NAME_LENGTH) for step in steps)
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error in a request; long texts are cut."""

    pointer: str
    """JSON pointer into the body ("/parameters/0/low"), "?name" for a query parameter, or "header:Name" for a header.
    Empty for the whole body."""
    detail: str
    code: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "pointer", shortened(visible(self.pointer), MAX_POINTER_LENGTH))
        object.__setattr__(self, "detail", shortened(visible(self.detail), MAX_DETAIL_LENGTH))


class AdaBKBError(Exception):
    """Base class of the service's errors. The message gives the cause and, if there is one, the remedy."""

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        self.detail = visible(detail)
        super().__init__(self.detail)
        self.errors = tuple(errors)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and the fields: the arguments of the constructor cannot be recovered from the text."""
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[AdaBKBError], arguments: tuple[Any, ...]) -> AdaBKBError:
    error = kind.__new__(kind)
    error.args = arguments
    return error


class Unauthorized(AdaBKBError):
    """The request has no token, or an invalid one."""

    def __init__(self, detail: str, reason: str) -> None:
        """Create it with a reason for the audit log: "missing", "unknown", "revoked" or "expired"."""
        super().__init__(detail)
        self.reason = reason


class Forbidden(AdaBKBError):
    """The caller is known but lacks the permission."""

    def __init__(self, detail: str, scope: str | None = None) -> None:
        """Create it with the required scope, if a larger scope would help."""
        super().__init__(detail)
        self.scope = scope


class NotOwner(Forbidden):
    """The study is shared with the caller, but only its owner may do this."""


class LoginRefused(AdaBKBError):
    """A person may not log in."""

    def __init__(self, detail: str, reason: str) -> None:
        """Create it with a reason for the audit log."""
        super().__init__(detail)
        self.reason = reason


class LoginFailed(AdaBKBError):
    """The answer of the identity provider is not valid, or not for this browser."""

    def __init__(self, detail: str, reason: str) -> None:
        """Create it with a reason for the audit log."""
        super().__init__(detail)
        self.reason = reason


class QuotaExceeded(AdaBKBError):
    """The addition exceeds a quota of the user's token."""

    def __init__(self, name: str, limit: float, has: float, adds: float) -> None:
        """Create it with the quota's name and limit, the present amount and the addition."""
        super().__init__(
            f"The token allows its user {limit:,.10g} {name}; there are {has:,.10g}, and this would add {adds:,.10g}."
        )


class RateLimit(NamedTuple):
    """State of a rate limit."""

    name: str
    quota: int
    """Amount per window."""
    window: int
    """Length of the window in seconds."""
    left: int
    reset: int
    """Seconds until more is available or, if nothing is missing, until the quota is full."""


class TooManyRequests(AdaBKBError):
    """A token, or all tokens of a user together, have reached a rate limit."""

    def __init__(self, detail: str, limit: RateLimit) -> None:
        """Create it with the limit, which gives the waiting time."""
        super().__init__(f"{detail} Retry in {limit.reset:,} s.")
        self.limit = limit


class TooManyAtOnce(AdaBKBError):
    """A user has reached a limit on concurrent use."""

    def __init__(self, user: str, what: str, most: int, setting: str) -> None:
        super().__init__(
            f"User {user!r} has reached the limit of {most:,} {what} at the same time (the server's setting {setting})."
        )


class NotFound(AdaBKBError):
    """Something named in the request does not exist."""


class StudyNotFound(NotFound):
    """The study does not exist."""

    def __init__(self, study: str, sentence: str = "") -> None:
        super().__init__(sentence or f"There is no study {shown(study)}.")


class StudyDeleted(StudyNotFound):
    """The study whose events a client has read was deleted."""

    def __init__(self, study: str, meanwhile: str | None = None) -> None:
        super().__init__(study, f"Study {shown(study)} was deleted{f'; {meanwhile}' if meanwhile else ''}.")


class TokenNotFound(NotFound):
    """The token does not exist."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {shown(token_id)}.")


class PersonNotFound(NotFound):
    """No person with this user name has logged in."""

    def __init__(self, user: str) -> None:
        super().__init__(f"No person has logged in as {shown(user)}.")


class DeletionNotFound(NotFound):
    """The deleted study is not in the trash."""


class WebhookNotFound(NotFound):
    """The webhook does not exist."""

    def __init__(self, study: str, webhook_id: str) -> None:
        super().__init__(f"Study {study!r} has no webhook {shown(webhook_id)}.")


class FileNotFound(NotFound):
    """The file does not exist."""

    def __init__(self, study: str, trial: int | None, observation: int | None, number: int) -> None:
        holder = f"Result {observation}" if trial is None else f"Trial {trial}"
        super().__init__(f"{holder} of study {study!r} has no file {number}.")


class TrialNotFound(NotFound):
    """The trial does not exist."""

    def __init__(self, study: str, number: int) -> None:
        super().__init__(f"Study {study!r} has no trial {number}.")


class ObservationNotFound(NotFound):
    """The observation does not exist."""

    def __init__(self, study: str, seq: int) -> None:
        super().__init__(f"Study {study!r} has no observation {seq}.")


class Invalid(AdaBKBError):
    """The request is not valid; ``errors`` lists up to ``MAX_ERRORS`` errors."""

    def __init__(self, errors: Sequence[FieldError], uncollected: int = 0) -> None:
        """Create it with the errors, and the number of further ones."""
        first, listed = errors[0], errors[:MAX_ERRORS]
        unlisted = len(errors) - len(listed) + uncollected
        others = len(listed) - 1
        rest = [f"and {others} more error{'s' if others > 1 else ''}"] if others else []
        rest += [f"{unlisted:,} more not listed"] if unlisted else []
        more = f" ({'; '.join(rest)})" if rest else ""
        super().__init__(f"{first.pointer or 'The body'}: {first.detail}{more}", listed)


class IdempotencyKeyReused(Invalid):
    """The Idempotency-Key was used with another request."""

    def __init__(self, key: str) -> None:
        detail = f"{shown(key)} was used for another request before; use a new key for a new request."
        super().__init__([FieldError("header:Idempotency-Key", detail, "idempotency_key_reused")])


class Conflict(AdaBKBError):
    """The state of the study forbids the request."""


class RestoreConflict(Conflict):
    """A deleted study cannot be restored, because another study has its id."""


class StudyExists(Conflict):
    """A study with this id and another definition exists."""


class IdTaken(Conflict):
    """The id belongs to a study that the caller may not read, or to one in another user's trash."""

    def __init__(self, study_id: str) -> None:
        """Reveal only that the study exists."""
        super().__init__(f"The id {study_id!r} is taken by a study of another user.")


class TokenExists(Conflict):
    """The idempotency key created a token before; its secret cannot be shown again."""

    def __init__(self, token_id: str) -> None:
        """Create it with the id of that token."""
        super().__init__(
            f"Token {token_id} was created with this Idempotency-Key before. Only that response had its secret."
        )


class WebhookExists(Conflict):
    """A webhook was added with the same idempotency key; its secret cannot be shown again."""

    def __init__(self, webhook_id: str) -> None:
        """Create it with the id of that webhook."""
        super().__init__(
            f"Webhook {webhook_id} was added with this Idempotency-Key before. Only that response had its secret."
        )


class ResultConflict(Conflict):
    """The attempt already has another result; the message has both."""

    def __init__(self, detail: str, observation: int | None = None) -> None:
        """Create it with the number of that result; None if the attempt was reported as failed."""
        super().__init__(detail)
        self.observation = observation


class ReportConflict(Conflict):
    """The attempt has reported another value at the same step; the message has both."""


class TrialFinished(Conflict):
    """The trial is completed, failed, stopped or withdrawn, so it cannot be released, failed or continued; or it cannot
    be retried."""


class LeaseLost(Conflict):
    """The attempt has lost its lease of the trial."""


class StudyComplete(Conflict):
    """The study accepts no further trials."""


class RequestInProgress(Conflict):
    """A request with the same Idempotency-Key is still in progress."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The request with the key {shown(key)} is still in progress; repeat it for its response.")


class PreconditionFailed(AdaBKBError):
    """The study, or a field, has changed since the revision or the value in the request."""


class Busy(AdaBKBError):
    """A queue is full, no lock or connection was free in time, or other transactions repeatedly committed first.
    Nothing was written; retry."""


class ModelBusy(Busy):
    """The model has not decided on points in time, and the request accepts no others."""

    def __init__(self, study_id: str) -> None:
        super().__init__(f"The model of study {shown(study_id)} has not chosen the next point yet; try again.")


class Contention(Busy):
    """The database rolled a transaction back because of another one (both wrote the same row, a deadlock, ...). A retry
    sees the changes of the other transaction."""


class RowRefused(Contention):
    """The database rejected a row, most likely because another transaction wrote one with the same key."""


class Unavailable(AdaBKBError):
    """The database or a model does not respond; nothing was acknowledged."""


class DatabaseUnavailable(Unavailable):
    """The database does not respond, or cannot be written."""


class DatabaseFull(DatabaseUnavailable):
    """The disk of PostgreSQL is full."""


class DatabaseForbidden(DatabaseUnavailable):
    """The role of the service in PostgreSQL lacks a privilege."""


class ProviderUnavailable(Unavailable):
    """The identity provider does not respond, or its answers are not usable."""


class NotReady(Unavailable):
    """Parts of the server do not work; ``errors`` has one entry for each."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        """Create it with one error per part."""
        super().__init__("; ".join(f"{error.pointer[1:]}: {error.detail}" for error in errors), errors)


class ModelCannotFold(Unavailable):
    """The model of a study cannot fold its log until a result is corrected or excluded."""


class SchemaMismatch(AdaBKBError):
    """The database has another schema version; the message gives the remedy."""
