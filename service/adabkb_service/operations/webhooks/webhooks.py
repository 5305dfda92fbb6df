"""/v1/studies/{id}/webhooks: manage the webhooks of a study."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from adabkb_service.access.caller import Caller
from adabkb_service.contract.webhooks import NewWebhook, Webhook, WebhookBody
from adabkb_service.errors import Contention, FieldError, Invalid, WebhookExists, WebhookNotFound
from adabkb_service.operations.access import audit
from adabkb_service.operations.access.tokens import id_of as token_id_of
from adabkb_service.operations.service import Service
from adabkb_service.operations.webhooks.notifications import new_secret
from adabkb_service.operations.webhooks.outbound import Network, NotAllowed, check_literal
from adabkb_service.storage import studies, webhooks
from adabkb_service.storage.rows import as_values
from adabkb_service.storage.webhooks import WebhookRow
from adabkb_service.study.request import Key

MOST = 10
"""The maximum number of webhooks of a study."""


def listed(service: Service, study_id: str) -> list[Webhook]:
    """Return the webhooks of a study, oldest first.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return [Webhook.model_validate(_fields_of(row)) for row in webhooks.of_study(connection, study_id)]


def page(
    service: Service, study_id: str, after: tuple[datetime, str] | None, limit: int
) -> tuple[list[Webhook], tuple[datetime, str] | None]:
    """Return a page of the webhooks of a study, oldest first. The second value returned is the ``after`` of the next
    page; None if this page is not full.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        rows = webhooks.of_study(connection, study_id)
    rows = [row for row in rows if after is None or (row.created_at, row.id) > after][:limit]
    last = (rows[-1].created_at, rows[-1].id) if len(rows) == limit else None
    return [Webhook.model_validate(_fields_of(row)) for row in rows], last


def add(
    service: Service,
    caller: Caller,
    study_id: str,
    body: WebhookBody,
    networks: Sequence[Network],
    key: Key | None = None,
) -> NewWebhook:
    """Add a webhook. It gets messages about events from now on.

    Args:
        service: the running service.
        caller: the user who adds it.
        study_id: the study's id.
        body: the URL and the notifications.
        networks: private networks to which messages may be sent.
        key: the idempotency key of the request.

    Raises:
        StudyNotFound: the study does not exist.
        WebhookExists: the key has already created a webhook.
        Invalid: the URL is not allowed, or the study has too many webhooks.
    """
    _check(body.url, networks)
    now = service.clock()
    with service.database.writing() as connection:
        study = studies.get(connection, study_id)
        webhook_id = secrets.token_hex(6) if key is None else token_id_of(key)
        if key is not None and webhooks.find(connection, study_id, webhook_id) is not None:
            raise WebhookExists(webhook_id)
        if len(webhooks.of_study(connection, study_id)) >= MOST:
            detail = f"The study has {MOST} webhooks, which is the limit; delete one first"
            raise Invalid([FieldError("", detail, "too_many_webhooks")])
        row = WebhookRow(
            study_id=study_id,
            id=webhook_id,
            url=body.url,
            secret=new_secret(),
            notifications=list(dict.fromkeys(body.notifications)),
            created_at=now,
            seen_seq=study.study_seq,
            is_on=True,
            due_at=now,
        )
        webhooks.add(connection, row)
        audit.note(connection, caller, now, "study webhook added", study_id, webhook=row.id, url=row.url)
    return NewWebhook.model_validate({**_fields_of(row), "secret": row.secret})


def change(
    service: Service,
    caller: Caller,
    study_id: str,
    webhook_id: str,
    changes: dict[str, Any],
    networks: Sequence[Network],
) -> Webhook:
    """Change a webhook, or turn it on or off. A webhook that is turned on continues with the first event that has not
    been handled.

    Raises:
        StudyNotFound, WebhookNotFound: the study or the webhook does not exist.
        Invalid: the URL is not allowed.
        Contention: a server changed the webhook at the same time, to send a message; nothing is changed.
    """
    if "url" in changes:
        _check(changes["url"], networks)
    if "notifications" in changes:
        changes = {**changes, "notifications": list(dict.fromkeys(changes["notifications"]))}
    now = service.clock()
    reset = {"attempts": 0, "failing_since": None, "error": None, "due_at": now}
    with service.database.writing() as connection:
        studies.get(connection, study_id)
        row = webhooks.find(connection, study_id, webhook_id)
        if row is None:
            raise WebhookNotFound(study_id, webhook_id)
        if not webhooks.change(connection, row, **changes, **reset):
            raise Contention(f"Webhook {webhook_id} is being used at this moment; try again.")
        audit.note(connection, caller, now, "study webhook changed", study_id, webhook=webhook_id, **changes)
        changed = webhooks.find(connection, study_id, webhook_id)
    assert changed is not None
    return Webhook.model_validate(_fields_of(changed))


def remove(service: Service, caller: Caller, study_id: str, webhook_id: str) -> None:
    """Delete a webhook.

    Raises:
        StudyNotFound, WebhookNotFound: the study or the webhook does not exist.
    """
    with service.database.writing() as connection:
        studies.get(connection, study_id)
        if not webhooks.remove(connection, study_id, webhook_id):
            raise WebhookNotFound(study_id, webhook_id)
        audit.note(connection, caller, service.clock(), "study webhook deleted", study_id, webhook=webhook_id)


def _check(url: str, networks: Sequence[Network]) -> None:
    try:
        check_literal(url, networks)
    except NotAllowed as error:
        raise Invalid([FieldError("/url", f"is refused: {error}", "not_allowed")]) from error


def _fields_of(row: WebhookRow) -> dict[str, Any]:
    fields = {name: value for name, value in as_values(row).items() if name in Webhook.model_fields}
    return {**fields, "next_attempt_at": row.due_at if row.is_on and row.attempts else None}
