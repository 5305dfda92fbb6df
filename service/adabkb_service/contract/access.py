"""Tokens, the sharing of studies, the trash and the audit log, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import MISSING, AwareDatetime, Field, StringConstraints

from adabkb_service.contract.answers import Answer
from adabkb_service.contract.faults import SPARING
from adabkb_service.contract.parameters import MAX_SAFE_INTEGER, Body, Whole
from adabkb_service.storage.tokens import Scope

USER = r"^[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}$"
STUDIES = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\*?$"

User = Annotated[str, StringConstraints(pattern=USER)]
Patterns = Annotated[
    list[Annotated[str, StringConstraints(pattern=STUDIES)]],
    Field(
        min_length=1,
        max_length=100,
        description="ids of studies, and beginnings of ids with a * behind, that the token is good for; all if absent",
    ),
    SPARING,
]
Until = Annotated[
    Annotated[AwareDatetime, Field(strict=False)] | None,
    Field(description="with its time zone; never if absent"),
]


Amount = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER), Whole] | None
Megabytes = Annotated[float, Field(ge=0, le=1e12)] | None
Rate = Annotated[float, Field(gt=0, le=1e6)] | None
STUDIES_QUOTA = Field(description="that the user of the token may own")
TRIALS_QUOTA = Field(description="in these studies, with results at points of one's own")
MEGABYTES_QUOTA = Field(description="of the logs of these studies, and of the user's trash")
REQUESTS_QUOTA = Field(description="over ten seconds, of each server")
MODEL_QUOTA = Field(description="processor seconds of models that the token lets work, of each server")


class QuotasBody(Body):
    """Quotas of a token. null stands for the default of the server; fields that are absent keep their values."""

    studies: Annotated[Amount | MISSING, STUDIES_QUOTA] = MISSING
    trials: Annotated[Amount | MISSING, TRIALS_QUOTA] = MISSING
    megabytes: Annotated[Megabytes | MISSING, MEGABYTES_QUOTA] = MISSING
    requests_per_second: Annotated[Rate | MISSING, REQUESTS_QUOTA] = MISSING
    model_seconds_per_minute: Annotated[Rate | MISSING, MODEL_QUOTA] = MISSING


class TokenChangeBody(Body):
    """Changes to a token."""

    quotas: QuotasBody | MISSING = MISSING


class Quotas(Answer):
    """How much a token allows. null: the default of the server, or, in what is in force, no limit."""

    studies: Annotated[int | None, STUDIES_QUOTA] = None
    trials: Annotated[int | None, TRIALS_QUOTA] = None
    megabytes: Annotated[float | None, MEGABYTES_QUOTA] = None
    requests_per_second: Annotated[float | None, REQUESTS_QUOTA] = None
    model_seconds_per_minute: Annotated[float | None, MODEL_QUOTA] = None


class Usage(Answer):
    """How much is stored for a user."""

    studies: int
    trials: int
    megabytes: float


class TokenBody(Body):
    """A token that is to be made."""

    name: Annotated[User, Field(description="who or what is to use it, such as ann or ann-gpu-1")]
    user: Annotated[User | None, Field(description="whose studies it is for; by default the name")] = None
    scopes: Annotated[
        list[Scope],
        Field(min_length=1, max_length=3, description="work includes read, and admin includes both, for all studies"),
    ]
    studies: Patterns | None = None
    expires_at: Until = None
    quotas: Annotated[QuotasBody | MISSING, Field(description="by default those of the server")] = MISSING


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
    link: Annotated[str | None, Field(description="the study that it is a link to")]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: Annotated[datetime | None, Field(description="when it was last used, to the minute")]
    quotas: Annotated[Quotas, Field(description="of its own")]


class NewToken(Token):
    """A token that was just made."""

    token: Annotated[str, Field(description="the token itself, shown this once; only its SHA-256 is stored")]


class Self(Answer):
    """Whom the server takes the sender of a request for."""

    user: Annotated[str | None, Field(description="null where the server asks for no tokens")]
    scope: Annotated[Scope, Field(description="the largest one")]
    studies: list[str] | None
    token: Annotated[str | None, Field(description="the id of the token")]
    quotas: Annotated[Quotas, Field(description="in force")]
    usage: Annotated[Usage | None, Field(description="of the user; null for links, and without tokens")]


class Access(Answer):
    """Who may do what with a study."""

    owner: Annotated[str | None, Field(description="null for a study that only administrators see")]
    shared_with: Annotated[dict[str, Literal["read", "work"]], Field(description='by user; "*" is everybody')]


class AccessBody(Body):
    """Changes to who may do what. Fields that are absent keep their values."""

    owner: User | MISSING = MISSING
    shared_with: (
        Annotated[
            dict[Annotated[str, StringConstraints(pattern=rf"{USER}|^\*$")], Literal["read", "work"] | None],
            Field(max_length=1000, description='rights by user, "*" for everybody; null removes one, others stay'),
            SPARING,
        ]
        | MISSING
    ) = MISSING


class Deletion(Answer):
    """A study in the trash."""

    deletion: Annotated[int, Field(description="its number, for restoring or purging it")]
    study: str
    owner: str | None
    results: int
    deleted_by: str | None
    deleted_at: datetime
    purged_at: Annotated[datetime, Field(description="when it is deleted for good")]


class RestoreBody(Body):
    """Which of the deleted studies of this id is meant."""

    deletion: Annotated[
        Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER), Whole] | None,
        Field(description="its number in the trash; by default that of the last one"),
    ] = None


class AuditEntry(Answer):
    """An action on a token, a study or its sharing; or a request without a valid token."""

    number: int
    at: datetime
    action: str
    subject: Annotated[str, Field(description="the study or the token; why somebody was refused")]
    user: str | None
    token: Annotated[str | None, Field(description="the id of the token that was sent")]
    address: str
    detail: dict[str, Any]
    count: Annotated[int, Field(description="how often, for refusals, since the entry before")]
