"""/v1/studies/{id}/webhooks"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.body import StrictRoute
from adabkb_service.api.deps import KeyDep, PageDep, ServiceDep, StudyId, encoded_time
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problems import responses
from adabkb_service.api.tokens import SECRET
from adabkb_service.contract.requests import Page
from adabkb_service.contract.webhooks import NewWebhook, Webhook, WebhookBody, WebhookChangeBody
from adabkb_service.errors import WebhookNotFound
from adabkb_service.operations.webhooks import webhooks
from adabkb_service.operations.webhooks.outbound import Network

router = APIRouter(prefix="/v1/studies/{study_id}/webhooks", tags=["webhooks"], route_class=StrictRoute)


async def _webhook_id(study_id: StudyId, webhook_id: Annotated[str, Path(description="the webhook's id")]) -> str:
    if re.fullmatch("[0-9a-f]{12}", webhook_id) is None:
        raise WebhookNotFound(study_id, webhook_id)
    return webhook_id


WebhookId = Annotated[str, Depends(_webhook_id)]


async def _networks(request: Request) -> Sequence[Network]:
    return parts_of(request.app).outbound


NetworksDep = Annotated[Sequence[Network], Depends(_networks)]


@router.post("", operation_id="addWebhook", status_code=201, responses=responses(400, 404, 409, 413, 415, 422))
@needs("own")
def add_webhook(
    study_id: StudyId,
    body: WebhookBody,
    service: ServiceDep,
    caller: CallerDep,
    networks: NetworksDep,
    key: KeyDep,
    response: Response,
) -> NewWebhook:
    """Add a webhook, which receives messages about the study from now on. Only this response contains the signing
    secret, so a repeated idempotency key is refused."""
    response.headers.update(SECRET)
    return webhooks.add(service, caller, study_id, body, networks, key)


@router.get("", operation_id="listWebhooks", responses=responses(404, 422))
@needs("own")
def list_webhooks(study_id: StudyId, service: ServiceDep, page: PageDep) -> Page[Webhook]:
    """The webhooks of a study, oldest first, without their secrets."""
    found, last = webhooks.page(service, study_id, page.after_study, page.limit)
    return Page(items=found, next_cursor=encoded_time(last))


@router.patch("/{webhook_id}", operation_id="changeWebhook", responses=responses(400, 404, 413, 415, 422))
@needs("own")
def change_webhook(
    study_id: StudyId,
    webhook_id: WebhookId,
    body: WebhookChangeBody,
    service: ServiceDep,
    caller: CallerDep,
    networks: NetworksDep,
) -> Webhook:
    """Change the URL or the notifications of a webhook, or turn it off and on. A webhook that is turned on also gets
    the messages that it missed while it was off."""
    return webhooks.change(service, caller, study_id, webhook_id, body.changes(), networks)


@router.delete(
    "/{webhook_id}", operation_id="deleteWebhook", status_code=204, response_model=None, responses=responses(404, 422)
)
@needs("own")
def delete_webhook(study_id: StudyId, webhook_id: WebhookId, service: ServiceDep, caller: CallerDep) -> None:
    """Delete a webhook. A message that is being sent may still arrive."""
    webhooks.remove(service, caller, study_id, webhook_id)
