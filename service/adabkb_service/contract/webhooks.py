"""Requests and answers about webhooks, and the messages sent to webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.answers import Answer, Trial
from adabkb_service.contract.parameters import Body, Changes
from adabkb_service.contract.sparse import NotNull

Notification = Literal["trial.reserved", "trial.overdue", "trial.done", "study.ended", "study.needs_attention"]
"""The kinds of messages."""
NOTIFICATIONS: tuple[Notification, ...] = (
    "trial.reserved",
    "trial.overdue",
    "trial.done",
    "study.ended",
    "study.needs_attention",
)
SCHEMES = ("http", "https")


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not url.isascii() or not url.isprintable() or " " in url:
        raise PydanticCustomError("url", "must be an address such as https://lab.example/hooks/7")
    if parts.username is not None or parts.password is not None:
        raise PydanticCustomError(
            "url", "must not have a user or a password; verify the signature of each message instead"
        )
    if parts.fragment:
        raise PydanticCustomError("url", "must not have a fragment (#...), which is never sent")
    return url


Url = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_check_url)]
NotificationList = Annotated[
    list[Notification],
    Field(
        min_length=1,
        max_length=len(NOTIFICATIONS),
        description="trial.reserved: issued; trial.overdue: its lease expired; trial.done: completed, failed or "
        "stopped; study.ended: complete; study.needs_attention: paused after failures, or the model failed",
    ),
]


class WebhookBody(Body):
    """A webhook to add."""

    url: Annotated[Url, Field(description="URL to which messages are sent by POST")]
    notifications: Annotated[NotificationList, Field(description="notifications to send; by default all")] = Field(
        default_factory=lambda: list(NOTIFICATIONS)
    )


class WebhookChangeBody(Changes):
    """Changes to a webhook. Absent fields keep their values."""

    url: NotNull[Url] = None
    notifications: NotNull[NotificationList] = None
    is_on: Annotated[
        NotNull[bool], Field(description="true turns it on and sends the messages missed while it was off")
    ] = None


class Webhook(Answer):
    """A webhook of a study, without its secret."""

    id: str
    url: str
    notifications: list[Notification]
    is_on: Annotated[bool, Field(description="false: turned off by a user, or by the server after repeated failures")]
    created_at: datetime
    delivered: Annotated[int, Field(description="number of messages delivered")]
    delivered_at: Annotated[datetime | None, Field(description="time of the last delivery")]
    error: Annotated[str | None, Field(description="error of the last attempt, if it failed")]
    attempts: Annotated[int, Field(description="number of failed attempts since the last success")]
    next_attempt_at: Annotated[datetime | None, Field(description="time of the next attempt after a failure")]


class NewWebhook(Webhook):
    """A new webhook with its secret."""

    secret: Annotated[str, Field(description="secret that signs messages, shown only once")]


class Message(Answer):
    """A message to a webhook."""

    notification: Notification
    study: str
    seq: Annotated[int, Field(description="number of the event in the study's log")]
    at: Annotated[datetime, Field(description="time of the event")]
    text: Annotated[str, Field(description="what happened, in words")]
    trial: Annotated[Trial | None, Field(description="the trial at the time of sending")]
