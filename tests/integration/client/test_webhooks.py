"""Webhooks in the client and the command line: added, shown, changed and removed, and their messages verified."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_client import Client, Float, Invalid, Study, verify_webhook
from tests.acceptance.docs.blocks import DOCS, blocks
from tests.integration.cli.shell import adabkb
from tests.integration.operations.receiver import LOOPBACK, receiving, serving
from tests.servers import server_on
from tests.waiting import wait_for

GUIDE = DOCS / "guides/webhooks.md"


@pytest.fixture
def study(sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    """A study on a server that sends to loopback."""
    path = tmp_path / "adabkb.db"
    path.write_bytes(sqlite_template.read_bytes())
    with server_on(f"sqlite:///{path}", webhook_networks=LOOPBACK, sweep_seconds=0.02) as address:
        monkeypatch.setenv("ADABKB_URL", address)
        with Client(address) as client:
            yield client.create_study("svm", {"C": Float(0, 1)}, direction="maximize")


def test_messages_of_a_webhook_are_verified(study: Study) -> None:
    with receiving() as receiver:
        webhook = study.add_webhook(receiver.address, ["trial.done"])
        assert webhook.secret is not None
        assert webhook.secret not in repr(webhook)
        study.observe(study.suggest(), 0.5)
        wait_for(lambda: receiver.received)
        headers, body = receiver.received[0]
        message = verify_webhook(webhook.secret, headers, body)
        assert (message["notification"], message["trial"]["value"]) == ("trial.done", 0.5)
        with pytest.raises(ValueError, match="another secret"):
            verify_webhook("whsec_AAAA", headers, body)
        with pytest.raises(ValueError, match="changed in transit"):
            verify_webhook(webhook.secret, headers, body.replace(b"0.5", b"0.9"))
        with pytest.raises(ValueError, match="changed in transit"):
            verify_webhook(webhook.secret, {**headers, "Webhook-Timestamp": "1"}, body)
        with pytest.raises(ValueError, match="no valid header webhook-signature"):
            verify_webhook(webhook.secret, {"Webhook-Id": "a", "Webhook-Timestamp": "1"}, body)
        with pytest.raises(ValueError, match="s old"):
            verify_webhook(webhook.secret, headers, body, max_age=-1)


def test_the_guide_adds_a_webhook_and_its_receiver_verifies_messages(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    creation, receiver = (block.text for block in blocks(GUIDE) if block.language == "python")
    names: dict[str, Any] = {}
    exec(creation + receiver, names)
    added, handler = names["webhook"], names["Receiver"]
    assert capsys.readouterr().out == f"{added.secret}\n"
    with names["client"], serving(handler) as address:
        handler.secret = names["study"].change_webhook(added.id, is_on=False) and study.add_webhook(address).secret
        study.observe(study.suggest(), 0.5)
        wait_for(lambda: study.webhooks()[0].delivered == 2)
        assert len(handler.seen) == 2
        assert capsys.readouterr().out.endswith("Trial 1 of study svm gave 0.5.\n")
        handler.secret = "whsec_AAAA"
        study.suggest()
        wait_for(lambda: study.webhooks()[0].error)
        assert study.webhooks()[0].error == "it answered with status 401"


def test_webhooks_are_listed_changed_and_removed(study: Study) -> None:
    with receiving() as receiver, receiving() as other:
        first = study.add_webhook(receiver.address)
        assert [each.id for each in study.webhooks()] == [first.id]
        assert study.webhooks()[0].secret is None
        assert study.change_webhook(first.id, is_on=False).is_on is False
        study.observe(study.suggest(), 0.5)
        second = study.add_webhook(other.address + "2", ["study.ended"])
        listed = f"{os.environ['ADABKB_URL']}/v1/studies/svm/webhooks?limit=1"
        page = httpx.get(listed).json()
        rest = httpx.get(f"{listed}&cursor={page['next_cursor']}").json()
        assert [each["id"] for each in page["items"] + rest["items"]] == [first.id, second.id]
        assert [each.id for each in study.webhooks()[::-1]] == [second.id, first.id]
        assert list(study.webhooks().to_frame().url) == [first.url, second.url]
        study.remove_webhook(second)
        study.change_webhook(first.id, url=other.address, notifications=["trial.done"], is_on=True)
        wait_for(lambda: other.accepted)
        assert (receiver.received, len(other.accepted)) == ([], 1)
        for absent in ({"url": None}, {"notifications": None}, {"is_on": None}):
            with pytest.raises(Invalid, match="cannot be null"):
                study.change_webhook(first.id, **absent)  # type: ignore[arg-type]
        study.remove_webhook(first.id)
        assert not study.webhooks()
    with pytest.raises(Invalid, match="webhook_networks"):
        study.add_webhook("http://10.0.0.1/")


def test_the_command_has_the_same(study: Study) -> None:
    with receiving() as receiver:
        made = json.loads(
            adabkb("study", "add-webhook", "svm", receiver.address, "--notification", "trial.reserved", "--json")
        )
        study.suggest()
        wait_for(lambda: study.webhooks()[0].delivered)
        assert receiver.address in adabkb("study", "webhooks", "svm")
        assert adabkb("study", "change-webhook", "svm", made["id"], "--off").endswith("is off.\n")
        assert "give at least one option" in adabkb("study", "change-webhook", "svm", made["id"], code=1)
        assert adabkb("study", "remove-webhook", "svm", made["id"]) == f"Webhook {made['id']} is removed.\n"
        assert adabkb("study", "webhooks", "svm") == "Study svm has no webhooks.\n"
