"""Webhooks of a study, as requests and answers, and the messages that they get."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import MISSING, AfterValidator, Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.answers import Answer, Trial
from adabkb_service.contract.parameters import Body

Notification = Literal["trial.reserved", "trial.overdue", "trial.done", "study.ended", "study.needs_attention"]
"""What a message is about."""
NOTIFICATIONS: tuple[Notification, ...] = (
    "trial.reserved",
    "trial.overdue",
    "trial.done",
    "study.ended",
    "study.needs_attention",
)
SCHEMES = ("http", "https")


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound or not url.isascii() or not url.isprintable() or " " in url:
        raise PydanticCustomError("url", "must be an address such as https://lab.example/hooks/7")
    if parts.username is not None or parts.password is not None:
        raise PydanticCustomError("url", "must not have a user or a password; the signature says who sends a message")
    if parts.fragment:
        raise PydanticCustomError("url", "must not have a fragment (#...), which is never sent")
    return url


Url = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_checked)]
Wanted = Annotated[
    list[Notification],
    Field(
        min_length=1,
        max_length=len(NOTIFICATIONS),
        description="trial.reserved: handed out; trial.overdue: its lease ran out; trial.done: completed, failed or "
        "stopped; study.ended: complete; study.needs_attention: paused by failures, or the model cannot follow",
    ),
]


class WebhookBody(Body):
    """A webhook that is to be added."""

    url: Annotated[Url, Field(description="where messages are sent by POST")]
    notifications: Annotated[Wanted, Field(description="by default all")] = Field(
        default_factory=lambda: list(NOTIFICATIONS)
    )


class WebhookChangeBody(Body):
    """Changes to a webhook. Fields that are absent keep their values."""

    url: Url | MISSING = MISSING
    notifications: Wanted | MISSING = MISSING
    is_on: Annotated[
        bool | MISSING, Field(description="true sends what has happened since it was turned off, or turned itself off")
    ] = MISSING


class Webhook(Answer):
    """A webhook of a study, without its secret."""

    id: str
    url: str
    notifications: list[Notification]
    is_on: Annotated[bool, Field(description="false: turned off, by somebody or after failing for too long")]
    created_at: datetime
    delivered: Annotated[int, Field(description="messages so far")]
    delivered_at: Annotated[datetime | None, Field(description="when the last one was delivered")]
    error: Annotated[str | None, Field(description="of the last attempt, if it failed")]
    attempts: Annotated[int, Field(description="that failed since the last success")]
    next_attempt_at: Annotated[datetime | None, Field(description="after a failure")]


class NewWebhook(Webhook):
    """A webhook that was just added."""

    secret: Annotated[str, Field(description="with which messages are signed, shown this once")]


class Message(Answer):
    """What is sent to a webhook."""

    notification: Notification
    study: str
    seq: Annotated[int, Field(description="of the event in the study's log")]
    at: Annotated[datetime, Field(description="when it happened")]
    text: Annotated[str, Field(description="in words")]
    trial: Annotated[Trial | None, Field(description="as it is when the message is sent")]
