"""What can go wrong in the domain. No HTTP here: ``api/problem_types.py`` has the table error -> status.

AdaBKBError
├── Unauthorized              the request has no token that is good
├── Forbidden                 its token, or its user, may not do this
├── QuotaExceeded             more would be stored for a user than their token allows
├── TooManyRequests           a token has used up what it has for a time; try again later
├── TooManyAtOnce             a user has as many requests or streams at work as one may have
├── NotFound
│   ├── StudyNotFound
│   ├── TokenNotFound
│   ├── DeletionNotFound
│   ├── WebhookNotFound
│   ├── FileNotFound
│   ├── TrialNotFound
│   └── ObservationNotFound
├── Invalid                   the request cannot be understood; carries one FieldError per fault
│   └── IdempotencyKeyReused
├── Conflict                  the request is sound, the state of the study forbids it
│   ├── StudyExists
│   ├── TokenMade
│   ├── WebhookMade
│   ├── ResultConflict
│   ├── ReportConflict
│   ├── TrialFinished
│   ├── LeaseLost
│   ├── StudyComplete
│   └── RequestInProgress
├── PreconditionFailed        If-Match names another revision
├── Busy                      others were faster, several times; try again
│   └── Contention            the database undid a transaction for the sake of another one
│       └── RowRefused        the database refused a row, perhaps since there is one with the same key
├── Unavailable               the database or a model does not answer
│   └── ModelCannotFollow     a model cannot follow its log; asking again does not help
└── SchemaMismatch            the database was made by another version
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_ERRORS = 100
"""Faults that one answer lists; the others are counted."""
MOST_BATCH_ERRORS = 1000
"""Faults that the items of a batch list together, beyond the first one of each item."""
LONGEST_NAME = 200
"""Characters of a name in a pointer: no parameter has a longer name."""
LONGEST_POINTER = 500
"""Characters of a pointer."""
LONGEST_DETAIL = 256
"""Characters of a sentence about one fault."""
LONGEST_MESSAGE = 1000
"""Characters of the sentence about the whole request."""
LONGEST_VALUE = 200
"""Characters of a value in a sentence."""

_SECRET = re.compile(r"(adabkb_[0-9a-f]{12}_)[0-9a-f]+", re.IGNORECASE)
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = LONGEST_VALUE
_SHOWN.maxdict = _SHOWN.maxlist = 20


def shortened(text: str, most: int) -> str:
    """The text, or its beginning if it has more characters than ``most``."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def masked(text: str) -> str:
    """A text without the secrets of tokens, wherever they come from."""
    return _SECRET.sub(r"\1...", text)


def visible(text: str) -> str:
    """A text for an answer: without secrets, and with escapes for what readers cannot see, such as marks that turn the
    direction of writing."""
    hidden = masked(text)
    if hidden.isprintable():
        return hidden
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in hidden
    )


def shown(value: object) -> str:
    """A value as Python writes it, if it is not too long; a large text is never built."""
    return shortened(_SHOWN.repr(value), LONGEST_VALUE)


def json_pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of these names and indices; a name too long for a parameter is shortened."""
    names = (shortened(str(step), LONGEST_NAME) for step in steps)
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a request; what is too long for an answer is shortened."""

    pointer: str
    """JSON pointer into the body ("/parameters/0/low"), or "?name" for a query parameter."""
    detail: str
    code: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "pointer", shortened(visible(self.pointer), LONGEST_POINTER))
        object.__setattr__(self, "detail", shortened(visible(self.detail), LONGEST_DETAIL))


class AdaBKBError(Exception):
    """Anything the service refuses; the message says what and, where there is one, the remedy."""

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        self.detail = visible(detail)
        super().__init__(self.detail)
        self.errors = tuple(errors)


class Unauthorized(AdaBKBError):
    """No token was sent, or one that is of no use."""

    def __init__(self, detail: str, reason: str) -> None:
        """What is wrong, and for the audit log one of "missing", "unknown", "revoked" and "expired"."""
        super().__init__(detail)
        self.reason = reason


class Forbidden(AdaBKBError):
    """Somebody is known, and may not do this."""

    def __init__(self, detail: str, scope: str | None = None) -> None:
        """What is not allowed, and the scope that a token needs for it, if it is a matter of that."""
        super().__init__(detail)
        self.scope = scope


class QuotaExceeded(AdaBKBError):
    """A token would let more be stored for its user than its quotas allow."""

    def __init__(self, name: str, limit: float, has: float, adds: float) -> None:
        """The quota, and what there is and would be added of it."""
        super().__init__(
            f"The token allows its user {limit:,.10g} {name}; there are {has:,.10g}, and this would add {adds:,.10g}."
        )


class RateLimit(NamedTuple):
    """What is left of something that is limited by time."""

    name: str
    quota: int
    """In a window."""
    window: int
    """In seconds."""
    left: int
    reset: int
    """Seconds until there is more, or all of it."""


class TooManyRequests(AdaBKBError):
    """A token has used up something that is limited by time."""

    def __init__(self, detail: str, limit: RateLimit) -> None:
        """What it was, and when there will be more."""
        super().__init__(f"{detail} There will be more in {limit.reset:,} s.")
        self.limit = limit


class TooManyAtOnce(AdaBKBError):
    """A user has as many of something as one may have at the same time."""

    def __init__(self, user: str, what: str, most: int, setting: str) -> None:
        super().__init__(
            f"User {user!r} has {most:,} {what} at the same time, which is as many as one user may have "
            f"(the setting {setting} of the server)."
        )


class NotFound(AdaBKBError):
    """A thing that was named does not exist."""


class StudyNotFound(NotFound):
    """No such study."""

    def __init__(self, study: str) -> None:
        super().__init__(f"There is no study {shown(study)}.")


class TokenNotFound(NotFound):
    """No such token."""

    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {shown(token_id)}.")


class DeletionNotFound(NotFound):
    """No such study in the trash."""


class WebhookNotFound(NotFound):
    """No such webhook."""

    def __init__(self, study: str, webhook_id: str) -> None:
        super().__init__(f"Study {study!r} has no webhook {shown(webhook_id)}.")


class FileNotFound(NotFound):
    """No such file."""

    def __init__(self, study: str, trial: int, number: int) -> None:
        super().__init__(f"Trial {trial} of study {study!r} has no file {number}.")


class TrialNotFound(NotFound):
    """No such trial."""

    def __init__(self, study: str, number: int) -> None:
        super().__init__(f"Study {study!r} has no trial {number}.")


class ObservationNotFound(NotFound):
    """No such observation."""

    def __init__(self, study: str, seq: int) -> None:
        super().__init__(f"Study {study!r} has no observation {seq}.")


class Invalid(AdaBKBError):
    """The request is not valid; ``errors`` points at each fault, up to ``MOST_ERRORS``."""

    def __init__(self, errors: Sequence[FieldError], uncollected: int = 0) -> None:
        """The faults, and how many there are beyond these."""
        first, listed = errors[0], errors[:MOST_ERRORS]
        unlisted = len(errors) - len(listed) + uncollected
        others = len(listed) - 1
        rest = [f"and {others} more fault{'s' if others > 1 else ''}"] if others else []
        rest += [f"{unlisted:,} more not listed"] if unlisted else []
        more = f" ({'; '.join(rest)})" if rest else ""
        super().__init__(f"{first.pointer or 'The body'}: {first.detail}{more}", listed)


class IdempotencyKeyReused(Invalid):
    """The Idempotency-Key came before with another request."""

    def __init__(self, key: str) -> None:
        detail = f"{shown(key)} was used for another request before; use a new key for a new request."
        super().__init__([FieldError("header:Idempotency-Key", detail, "idempotency_key_reused")])


class Conflict(AdaBKBError):
    """The state of the study forbids what was asked."""


class StudyExists(Conflict):
    """The id is taken by a study with another definition."""


class TokenMade(Conflict):
    """A token was made with the same idempotency key; its secret cannot be shown again."""

    def __init__(self, token_id: str) -> None:
        """By its id."""
        super().__init__(
            f"Token {token_id} was made with this Idempotency-Key before, and only that answer had its secret."
        )


class WebhookMade(Conflict):
    """A webhook was added with the same idempotency key; its secret cannot be shown again."""

    def __init__(self, webhook_id: str) -> None:
        """By its id."""
        super().__init__(
            f"Webhook {webhook_id} was added with this Idempotency-Key before, and only that answer had its secret."
        )


class ResultConflict(Conflict):
    """The attempt already has another result; both are in the message."""


class ReportConflict(Conflict):
    """The attempt has reported another value at the same step; both are in the message."""


class TrialFinished(Conflict):
    """The trial is completed, failed or stopped, so it cannot be given back, failed, or go on."""


class LeaseLost(Conflict):
    """The attempt is no longer the one that holds the trial."""


class StudyComplete(Conflict):
    """The study takes no further trials."""


class RequestInProgress(Conflict):
    """A request with the same Idempotency-Key is not answered yet."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The request with the key {shown(key)} is still in progress; send it again for its answer.")


class PreconditionFailed(AdaBKBError):
    """The study has changed since the revision the caller named."""


class Busy(AdaBKBError):
    """Other writers were faster several times, or too many requests wait; nothing was written, ask again."""


class Contention(Busy):
    """The database undid a transaction for the sake of another one (both wrote the same row, a deadlock, ...); done
    again, it will see what the other one did."""


class RowRefused(Contention):
    """The database refused a row, most likely because another transaction has written one with the same key."""


class Unavailable(AdaBKBError):
    """The database or a model does not answer; nothing was acknowledged."""


class NotReady(Unavailable):
    """A part of the server does not do its work; ``errors`` points at each that does not."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        """The parts."""
        super().__init__("; ".join(f"{error.pointer[1:]}: {error.detail}" for error in errors), errors)


class ModelCannotFollow(Unavailable):
    """The model of a study cannot follow its log, until a result is corrected or excluded."""


class SchemaMismatch(AdaBKBError):
    """The database's schema is not this version's; the message names the remedy."""
