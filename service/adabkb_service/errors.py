"""What can go wrong in the domain. No HTTP here: ``api/problems.py`` has the table error -> status.

AdaBKBError
├── NotFound
│   ├── StudyNotFound
│   ├── TrialNotFound
│   └── ObservationNotFound
├── Invalid                   the request cannot be understood; carries one FieldError per fault
│   └── IdempotencyKeyReused
├── Conflict                  the request is sound, the state of the study forbids it
│   ├── StudyExists
│   ├── ResultConflict
│   ├── TrialFinished
│   ├── LeaseLost
│   ├── StudyComplete
│   └── RequestInProgress
├── PreconditionFailed        If-Match names another revision
├── Busy                      others were faster, several times; try again
│   └── Contention            the database undid a transaction for the sake of another one
├── Unavailable               the database does not answer
└── SchemaMismatch            the database was made by another version
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a request."""

    pointer: str
    """JSON pointer into the body ("/parameters/0/low"), or "?name" for a query parameter."""
    detail: str
    code: str


class AdaBKBError(Exception):
    """Anything the service refuses; the message says what and, where there is one, the remedy."""

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)


class NotFound(AdaBKBError):
    """A thing that was named does not exist."""


class StudyNotFound(NotFound):
    """No such study."""

    def __init__(self, study: str) -> None:
        super().__init__(f"There is no study {study!r}.")


class TrialNotFound(NotFound):
    """No such trial."""

    def __init__(self, study: str, number: int) -> None:
        super().__init__(f"Study {study!r} has no trial {number}.")


class ObservationNotFound(NotFound):
    """No such observation."""

    def __init__(self, study: str, seq: int) -> None:
        super().__init__(f"Study {study!r} has no observation {seq}.")


class Invalid(AdaBKBError):
    """The request is not valid; ``errors`` points at each fault."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{first.pointer or 'The body'}: {first.detail}{more}", errors)


class IdempotencyKeyReused(Invalid):
    """The Idempotency-Key came before with another request."""

    def __init__(self, key: str) -> None:
        detail = f"{key!r} was used for another request before; use a new key for a new request."
        super().__init__([FieldError("header:Idempotency-Key", detail, "idempotency_key_reused")])


class Conflict(AdaBKBError):
    """The state of the study forbids what was asked."""


class StudyExists(Conflict):
    """The id is taken by a study with another definition."""


class ResultConflict(Conflict):
    """The attempt already has another result; both are in the message."""


class TrialFinished(Conflict):
    """The trial is completed or failed, so it cannot be given back or failed."""


class LeaseLost(Conflict):
    """The attempt is no longer the one that holds the trial."""


class StudyComplete(Conflict):
    """The study takes no further trials."""


class RequestInProgress(Conflict):
    """A request with the same Idempotency-Key is not answered yet."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The request with the key {key!r} is still in progress; send it again for its answer.")


class PreconditionFailed(AdaBKBError):
    """The study has changed since the revision the caller named."""


class Busy(AdaBKBError):
    """Other writers were faster several times; nothing was written, ask again."""


class Contention(Busy):
    """The database undid a transaction for the sake of another one (both wrote the same row, a deadlock, ...); done
    again, it will see what the other one did."""


class Unavailable(AdaBKBError):
    """The database does not answer; nothing was acknowledged."""


class SchemaMismatch(AdaBKBError):
    """The database's schema is not this version's; the message names the remedy."""
