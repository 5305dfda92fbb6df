"""The cost of webhooks: a write for each message, and one for the events without a message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any

import sqlalchemy as sa

from adabkb_service.access.caller import ANYBODY
from adabkb_service.contract.webhooks import WebhookBody
from adabkb_service.operations.service import Service
from adabkb_service.operations.webhooks import webhooks
from adabkb_service.operations.webhooks.delivery import Delivery
from adabkb_service.storage import studies
from adabkb_service.storage import webhooks as rows
from adabkb_service.storage.database import Database
from tests.integration.operations.receiver import LOOPBACK, Receiver, receiving
from tests.integration.operations.verbs import Ask, Value, observe, suggest
from tests.waiting import wait_for

NETWORKS = [ip_network(LOOPBACK)]


@contextmanager
def writes_to_webhooks(database: Database) -> Iterator[list[str]]:
    found: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("UPDATE webhooks"):
            found.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(database.engine, "before_cursor_execute", note)


def deliver(running: Service) -> None:
    """Send until every event is handled, in one round."""

    def is_done() -> bool:
        with running.database.reading() as connection:
            (webhook,) = rows.of_study(connection, "s")
            return webhook.seen_seq == studies.get(connection, "s").study_seq

    delivery = Delivery(running, NETWORKS, seconds=10.0, pause=1.0, hours=1.0)
    delivery.round()
    wait_for(is_done)
    delivery.close()


def add_webhook(running: Service, receiver: Receiver) -> None:
    body = WebhookBody.model_validate({"url": receiver.address, "notifications": ["trial.done"]})
    webhooks.add(running, ANYBODY, "s", body, NETWORKS)


def test_events_without_a_message_cost_one_write(running: Service, database: Database, study: str) -> None:
    with receiving() as receiver:
        add_webhook(running, receiver)
        suggest(running, study, Ask(3))
        with writes_to_webhooks(database) as writes:
            deliver(running)
        assert len(writes) == 1
        assert not receiver.received


def test_message_costs_two_writes(running: Service, database: Database, study: str) -> None:
    """One so that no other server sends it, and one when it is delivered."""
    with receiving() as receiver:
        add_webhook(running, receiver)
        for number in (1, 2):
            suggest(running, study, Ask())
            observe(running, study, Value(1.0, number))
        with writes_to_webhooks(database) as writes:
            deliver(running)
        assert len(writes) == 4
        assert [each["trial"]["number"] for each in receiver.accepted] == [1, 2]
