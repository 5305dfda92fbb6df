"""Messages to webhooks: the events that cause them, their texts and their signatures."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping

from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.contract.webhooks import Message, Notification
from adabkb_service.operations.words import wording
from adabkb_service.operations.words.reasons import REASONS, reason_of
from adabkb_service.storage.rows import EventKind, EventRow, StudyRow, TrialRow
from adabkb_service.study import render

PREFIX = "whsec_"
SECRET_BYTES = 32

KINDS: Mapping[EventKind, Notification] = {
    "suggested": "trial.reserved",
    "leased": "trial.reserved",
    "expired": "trial.overdue",
    "observed": "trial.done",
    "failed": "trial.done",
    "stopped": "trial.done",
    "completed": "study.ended",
    "paused": "study.needs_attention",
    "model_failed": "study.needs_attention",
}
"""Kind of event -> notification. Some events of these kinds cause none (see ``notification_of``)."""


def notification_of(event: EventRow) -> Notification | None:
    """Return the notification that an event causes; None for results without a trial, and pauses that a user requested.
    A heartbeat that renews an expired lease causes one, since the trial is no longer overdue."""
    match event.kind:
        case "paused" if not event.payload.get("reason"):
            return None
        case "observed" if event.trial is None:
            return None
    return KINDS.get(event.kind)


def message(study: StudyRow, event: EventRow, trial: TrialRow | None, notification: Notification) -> Message:
    """Return the message about an event.

    Args:
        study: the current row of the study.
        event: an event of its log.
        trial: the current row of the event's trial, if any.
        notification: the notification that the event causes.
    """
    definition = definition_of(study.definition)
    return Message(
        notification=notification,
        study=study.id,
        seq=event.seq,
        at=event.created_at,
        text=_text(study, definition, event, trial),
        trial=None if trial is None else render.trial(trial, definition),
    )


def new_secret() -> str:
    """Return a secret of 256 random bits in the format of Standard Webhooks: ``whsec_`` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed(secret: str, delivery: str, seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks 1.0 (standardwebhooks.com): an HMAC-SHA256, in base64, of the message id,
    the time and the body.

    Args:
        secret: the webhook's secret, from ``new_secret``.
        delivery: the id of the message, which is the same in each attempt to deliver it.
        seconds: the time of sending, in seconds since 1970.
        body: the body of the request.
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    found = hmac.digest(key, f"{delivery}.{seconds}.".encode() + body, hashlib.sha256)
    return {
        "Webhook-Id": delivery,
        "Webhook-Timestamp": str(seconds),
        "Webhook-Signature": f"v1,{base64.b64encode(found).decode()}",
    }


def _text(study: StudyRow, definition: StoredDefinition, event: EventRow, trial: TrialRow | None) -> str:
    if event.trial is None:
        return f"Study {study.id} {_of_study(event)}"
    return f"Trial {event.trial} of study {study.id} {_of_trial(definition, event, trial)}"


def _of_study(event: EventRow) -> str:
    match event.kind:
        case "completed":
            return f"is complete. {reason_of(event)}"
        case "paused":
            return f"needs attention. {REASONS['failures']}"
        case "model_failed":
            return f"needs attention: its model failed to process the results ({event.payload['error']})."
    raise ValueError(f"events of the kind {event.kind} cause no notification about a study")


def _of_trial(definition: StoredDefinition, event: EventRow, trial: TrialRow | None) -> str:
    match event.kind:
        case "suggested" | "leased":
            until = None if trial is None or trial.state != "active" else trial.leased_until
            by = f" by {event.payload['worker']}" if event.payload["worker"] else ""
            return f"is reserved{by}{f' until {until:%Y-%m-%d %H:%M} UTC' if until else ''}."
        case "expired":
            of = f" of {event.payload['worker']}" if event.payload["worker"] else ""
            return f"is overdue: the reservation{of} ended without a result."
        case "observed":
            return f"gave {wording.result(definition.quantities, event.payload)}."
        case "failed":
            return f"failed{_because(event)}."
        case "stopped":
            return f"was stopped at step {event.payload['step']}{_because(event)}."
    raise ValueError(f"events of the kind {event.kind} cause no notification about a trial")


def _because(event: EventRow) -> str:
    reason = reason_of(event)
    return f": {reason}" if reason else ""
