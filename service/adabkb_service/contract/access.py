"""Requests and answers about tokens, the sharing of studies, the trash and the audit log."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from adabkb_service.contract.answers import Answer
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import MAX_SAFE_INTEGER, Body, Changes, Whole
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, NotNull, Sparse
from adabkb_service.storage.tokens import Scope

USER = r"^[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}$"
STUDIES = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\*?$"

User = Annotated[str, StringConstraints(pattern=USER)]
Patterns = Annotated[
    list[Annotated[str, StringConstraints(pattern=STUDIES)]],
    Field(
        min_length=1,
        max_length=100,
        description="ids of the studies that the token may access, or prefixes of ids followed by *; all if absent",
    ),
    LIMIT_ERRORS,
]
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _utc(given: object) -> datetime:
    """Return a time in UTC. Texts must be as in RFC 3339: other numbers and texts could mean several times."""
    try:
        time = given if isinstance(given, datetime) else None
        if isinstance(given, str) and _TIME.fullmatch(given):
            time = datetime.fromisoformat(given.upper())
        if time is not None and time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("invalid_time", "must be a time with its offset, such as 2030-12-01T00:00:00Z")


Until = Annotated[
    Annotated[AwareDatetime, BeforeValidator(_utc)] | None,
    Field(description="time of expiry, with its offset, such as 2030-12-01T00:00:00Z; by default never"),
]


Amount = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER), Whole] | None
Megabytes = Annotated[float, Field(ge=0, le=1e12)] | None
Rate = Annotated[float, Field(gt=0, le=1e6)] | None
STUDIES_QUOTA = Field(description="maximum number of studies that the token's user may own")
TRIALS_QUOTA = Field(
    description="maximum number of trials in the user's studies, including results at user-supplied points"
)
MEGABYTES_QUOTA = Field(
    description="maximum size of the logs and files of the user's studies, and of the user's trash, in megabytes"
)
REQUESTS_QUOTA = Field(
    description="requests per second on each server, averaged over ten seconds: with this token, if it has its own "
    "quotas, otherwise of its user"
)
MODEL_QUOTA = Field(
    description="processor seconds per minute for models and large requests, on each server: of this token, if it has "
    "its own quotas, otherwise of its user"
)


class QuotasBody(Changes):
    """Quotas of a token. null means the server's default; absent fields keep their values."""

    studies: Annotated[Amount, STUDIES_QUOTA] = None
    trials: Annotated[Amount, TRIALS_QUOTA] = None
    megabytes: Annotated[Megabytes, MEGABYTES_QUOTA] = None
    requests_per_second: Annotated[Rate, REQUESTS_QUOTA] = None
    model_seconds_per_minute: Annotated[Rate, MODEL_QUOTA] = None


class TokenChangeBody(Body):
    """Changes to a token."""

    quotas: QuotasBody = Field(default_factory=QuotasBody)


class Quotas(Answer):
    """Quotas of a token. null means the server's default or, among the quotas in force, no limit."""

    studies: Annotated[int | None, STUDIES_QUOTA] = None
    trials: Annotated[int | None, TRIALS_QUOTA] = None
    megabytes: Annotated[float | None, MEGABYTES_QUOTA] = None
    requests_per_second: Annotated[float | None, REQUESTS_QUOTA] = None
    model_seconds_per_minute: Annotated[float | None, MODEL_QUOTA] = None


class Usage(Answer):
    """The studies, trials and megabytes stored for a user."""

    studies: int
    trials: int
    megabytes: float


class StorageQuotas(Answer):
    """The storage quotas of a user; null for no limit."""

    studies: Annotated[int | None, STUDIES_QUOTA]
    trials: Annotated[int | None, TRIALS_QUOTA]
    megabytes: Annotated[float | None, MEGABYTES_QUOTA]


class UserUsage(Usage):
    """A user with the studies, trials and megabytes that are stored for the user."""

    user: str
    quotas: Annotated[
        StorageQuotas | None,
        Field(description="the largest quotas among the user's valid tokens and sessions; null without one"),
    ]


class TokenBody(Body):
    """A token to create."""

    name: Annotated[User, Field(description="name of the user or program, such as ann or ann-gpu-1")]
    user: Annotated[User | None, Field(description="user whose studies the token may access; by default its name")] = (
        None
    )
    scopes: Annotated[
        list[Scope],
        Field(min_length=1, max_length=3, description="work includes read; admin includes both, for all studies"),
    ]
    studies: Patterns | None = None
    expires_at: Until = None
    quotas: Annotated[QuotasBody, Field(description="by default the server's quotas")] = Field(
        default_factory=QuotasBody
    )


class LinkBody(Body):
    """A link for reading a study."""

    expires_at: Until = None


class Token(Answer):
    """A token, without its secret."""

    id: str
    name: str
    user: str
    scopes: list[Scope]
    studies: list[str] | None
    link: Annotated[str | None, Field(description="the study that the token reads, if it is a link")]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: Annotated[datetime | None, Field(description="time of the last use, to the minute")]
    quotas: Annotated[Quotas, Field(description="the token's own quotas")]


class NewToken(Sparse, Token):
    """A new token with its secret."""

    token: Annotated[str, Field(description="the token itself, shown only once; the server stores only its SHA-256")]
    inherited_studies: Annotated[
        tuple[str, ...],
        Field(
            description="up to 100 studies on which its user already has a right, if the user had no valid token and "
            "has never logged in: if this is another person, choose another name; absent if there are none"
        ),
        ABSENT_BY_DEFAULT,
    ] = ()


class Person(Answer):
    """A person who has logged in by OpenID Connect."""

    user: str
    name: str
    email: str | None
    issuer: Annotated[str, Field(description="the identity provider")]
    subject: Annotated[str, Field(description="the provider's identifier of the person, which never changes")]
    scope: Annotated[Scope, Field(description="the scope of the person's groups at the last login")]
    sessions: Annotated[int, Field(description="number of sessions that have not ended")]
    created_at: Annotated[datetime, Field(description="time of the first login")]
    seen_at: Annotated[datetime, Field(description="time of the last login")]


class Self(Answer):
    """The identity and the rights of the sender of a request."""

    user: Annotated[str | None, Field(description="null if the server requires no tokens")]
    scope: Annotated[Scope, Field(description="the highest scope of the token")]
    studies: list[str] | None
    token: Annotated[str | None, Field(description="the id of the token")]
    quotas: Annotated[Quotas, Field(description="the quotas in force")]
    usage: Annotated[Usage | None, Field(description="usage of the user; null for links and without tokens")]


class Access(Sparse, Answer):
    """The owner of a study and the rights of other users."""

    owner: Annotated[str | None, Field(description="null if the study has no owner")]
    shared_with: Annotated[dict[str, Literal["read", "work"]], Field(description='rights by user; "*" means everybody')]
    unknown_users: Annotated[
        tuple[str, ...],
        Field(
            description="users who just got a right, but have no token and have never logged in, such as mistyped "
            "names; absent if there are none"
        ),
        ABSENT_BY_DEFAULT,
    ] = ()
    webhooks_turned_off: Annotated[
        tuple[str, ...],
        Field(
            description="ids of webhooks that this change of the owner turned off, since the former owner may get "
            "their messages; absent if there are none"
        ),
        ABSENT_BY_DEFAULT,
    ] = ()
    links_revoked: Annotated[
        tuple[str, ...],
        Field(
            description="ids of links that this change of the owner revoked, since they acted for the former owner; "
            "absent if there are none"
        ),
        ABSENT_BY_DEFAULT,
    ] = ()


class AccessBody(Changes):
    """Changes to the owner and to rights. Absent fields keep their values."""

    owner: NotNull[User] = None
    shared_with: NotNull[
        Annotated[
            dict[Annotated[str, StringConstraints(pattern=rf"{USER}|^\*$")], Literal["read", "work"] | None],
            Field(
                max_length=1000,
                description='rights by user, "*" for everybody; null removes a right; absent users keep theirs',
            ),
            LIMIT_ERRORS,
        ]
    ] = None


class Deletion(Answer):
    """A study in the trash."""

    deletion: Annotated[int, Field(description="number of the deletion, used to restore or purge the study")]
    study: str
    title: str | None
    owner: str | None
    results: int
    deleted_by: str | None
    deleted_at: datetime
    purged_at: Annotated[datetime, Field(description="time of permanent deletion")]


class RestoreBody(Body):
    """Which of the deleted studies with this id to restore."""

    deletion: Annotated[
        Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER), Whole] | None,
        Field(description="number of the deletion; by default the latest one"),
    ] = None


class AuditEntry(Answer):
    """An action on a token, a study or its sharing; or a request without a valid token."""

    number: int
    at: datetime
    action: str
    subject: Annotated[str, Field(description="the study or the token, or why the request was refused")]
    user: str | None
    token: Annotated[str | None, Field(description="id of the token that was sent")]
    address: str
    detail: dict[str, Any]
    count: Annotated[int, Field(description="number of refusals since the previous entry")]
