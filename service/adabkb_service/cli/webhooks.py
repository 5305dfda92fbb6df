"""Commands about the webhooks of a study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.identifiers import WEBHOOK
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId

Wanted = Annotated[
    list[str] | None,
    typer.Option(
        "--notification",
        help="trial.reserved, trial.overdue, trial.done, study.ended or study.needs_attention; may be repeated; "
        "default: all",
        show_default=False,
    ),
]
WebhookId = Annotated[str, typer.Argument(help="the webhook's id (adabkb study webhooks)", show_default=False), WEBHOOK]


def list_webhooks(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """List the webhooks of a study, oldest first."""
    found = server.items(StudyCalls(study).webhooks())
    rows = [[each["id"], each["url"], str(each["delivered"]), _state(each)] for each in found]
    text = table(["id", "url", "delivered", "state"], rows) if found else f"Study {study} has no webhooks."
    show(found, text, as_json=as_json)


def add(
    server: Server,
    study: StudyId,
    address: Annotated[str, typer.Argument(help="URL to which messages are sent by POST", show_default=False)],
    notifications: Wanted = None,
    as_json: AsJson = False,
) -> None:
    """Send signed messages about a study to an address.

    The address receives messages from now on. The signing secret is shown only once.

    \b
    adabkb study add-webhook svm https://lab.example/hooks/7 --notification trial.overdue
    """
    made = server.document(StudyCalls(study).add_webhook(address, notifications or None))
    text = (
        f"Webhook {made['id']} receives {', '.join(made['notifications'])}.\n"
        f"Its secret, shown only now: {made['secret']}\nTo remove it: adabkb study remove-webhook {study} {made['id']}"
    )
    show(made, text, as_json=as_json)


def change(
    server: Server,
    study: StudyId,
    webhook: WebhookId,
    address: Annotated[str | None, typer.Option(help="new URL", show_default=False)] = None,
    notifications: Wanted = None,
    is_on: Annotated[
        bool | None, typer.Option("--on/--off", help="on: also sends the messages missed while off", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change a webhook, or turn it on or off."""
    options: dict[str, Any] = {"url": address, "notifications": notifications, "is_on": is_on}
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        fail("there is nothing to change; give at least one option, such as --on")
    changed = server.document(StudyCalls(study).change_webhook(webhook, **given))
    show(changed, f"Webhook {webhook} of {changed['url']} is {_state(changed)}.", as_json=as_json)


def remove(server: Server, study: StudyId, webhook: WebhookId, as_json: AsJson = False) -> None:
    """Remove a webhook; it receives no more messages."""
    server.perform(StudyCalls(study).remove_webhook(webhook))
    show({"removed": webhook}, f"Webhook {webhook} is removed.", as_json=as_json)


def _state(webhook: dict[str, Any]) -> str:
    error = f": {webhook['error']}" if webhook["error"] else ""
    if not webhook["is_on"]:
        return f"off{error}"
    return f"trying again at {webhook['next_attempt_at']}{error}" if webhook["attempts"] else "on"
