"""Webhooks: real servers send signed messages to a real receiver, despite failures and restarts, and to no other
address.
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from adabkb_service.operations.monitoring.sweeper import Sweeper
from adabkb_service.operations.webhooks.delivery import Delivery
from adabkb_service.operations.webhooks.outbound import NotSent, post, shut
from tests.calls import Seen, watching
from tests.integration.api.conftest import DEFINITION
from tests.integration.operations.receiver import LOOPBACK, Receiver, receiving
from tests.samples import some
from tests.servers import free_port, server_on
from tests.waiting import TIMEOUT_SECONDS, wait_for

PROMPT = {"webhook_networks": LOOPBACK, "sweep_seconds": 0.02, "webhook_retry_seconds": 0.05}


@contextmanager
def server(url: str, **settings: Any) -> Iterator[httpx.Client]:
    """A client of a server that checks for messages often, and may send them to loopback."""
    with server_on(url, **{**PROMPT, **settings}) as address, httpx.Client(base_url=address, timeout=60) as api:
        yield api


def study(api: httpx.Client, **definition: Any) -> str:
    made = api.post("/v1/studies", json={**DEFINITION, "id": "s", **definition})
    assert made.status_code == 201, made.text
    return "/v1/studies/s"


def add_webhook(api: httpx.Client, to: Receiver | str, *notifications: str) -> dict[str, Any]:
    body = {
        "url": to if isinstance(to, str) else to.address,
        **({"notifications": notifications} if notifications else {}),
    }
    answer = api.post("/v1/studies/s/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def the_webhook(api: httpx.Client) -> dict[str, Any]:
    (found,) = api.get("/v1/studies/s/webhooks").json()["items"]
    return dict(found)


def received_events(receiver: Receiver) -> list[tuple[str, int | None]]:
    return [(each["notification"], each["trial"] and each["trial"]["number"]) for each in receiver.accepted]


def test_messages_are_signed_and_sent_in_order(database_url: str) -> None:
    with server(database_url) as api, receiving() as receiver:
        path = study(api, budget=2, lease_seconds=3600)
        secret = add_webhook(api, receiver)["secret"]
        api.post(f"{path}/suggest", json={"worker": "anna"})
        api.post(f"{path}/observe", json={"trial": 1, "value": 3})
        api.post(f"{path}/observe", json={"parameters": {"x": 0.5, "n": 2}, "value": 2.25})
        api.post(f"{path}/suggest", json={"worker": "ben"})
        api.post(f"{path}/observe", json={"trial": 2, "state": "failed", "reason": "spilt"})
        wait_for(lambda: len(receiver.accepted) >= 5)
        assert received_events(receiver) == [
            ("trial.reserved", 1),
            ("trial.done", 1),
            ("trial.reserved", 2),
            ("trial.done", 2),
            ("study.ended", None),
        ]
        assert receiver.accepted[1]["text"] == "Trial 1 of study s gave 3."
        assert receiver.accepted[3]["text"] == "Trial 2 of study s failed: spilt."
        for headers, body in receiver.received:
            assert Webhook(secret).verify(body, dict(headers)) == json.loads(body)
        assert len({headers["Webhook-Id"] for headers, _ in receiver.received}) == 5
        wait_for(lambda: the_webhook(api)["delivered"] == 5)


@pytest.mark.long
def test_overdue_trials_and_automatic_pauses_are_sent(database_url: str) -> None:
    with server(database_url) as api, receiving() as receiver:
        path = study(api, failure_limit=1)
        add_webhook(api, receiver, "trial.overdue", "study.needs_attention")
        api.post(f"{path}/suggest", json={"worker": "anna", "lease_seconds": 1})
        wait_for(lambda: receiver.accepted)
        api.patch(path, json={"state": "paused"})
        api.patch(path, json={"state": "running"})
        api.post(f"{path}/observe", json={"trial": 1, "state": "failed"})
        wait_for(lambda: len(receiver.accepted) > 1)
        assert received_events(receiver) == [("trial.overdue", 1), ("study.needs_attention", None)]
        assert (
            receiver.accepted[0]["text"]
            == "Trial 1 of study s is overdue: the reservation of anna ended without a result."
        )


def test_renewal_of_an_expired_lease_is_sent(database_url: str) -> None:
    """Otherwise, the receiver would show the trial as overdue until its end."""
    with server(database_url) as api, receiving() as receiver:
        path = study(api)
        add_webhook(api, receiver, "trial.overdue", "trial.reserved")
        api.post(f"{path}/suggest", json={"worker": "anna", "lease_seconds": 0.5})
        wait_for(lambda: len(receiver.accepted) > 1)
        assert api.post(f"{path}/trials/1/heartbeat", json={"lease_seconds": 600}).status_code == 200
        wait_for(lambda: len(receiver.accepted) > 2)
        kinds = ["trial.reserved", "trial.overdue", "trial.reserved"]
        assert received_events(receiver) == [(kind, 1) for kind in kinds]
        assert receiver.accepted[2]["text"].startswith("Trial 1 of study s is reserved by anna until ")


def test_no_message_is_lost_while_the_receiver_fails_and_the_server_stops(database_url: str) -> None:
    with receiving(statuses=[500] * 3) as receiver:
        with server(database_url) as api:
            path = study(api)
            add_webhook(api, receiver, "trial.done")
            for number in range(1, 4):
                api.post(f"{path}/suggest")
                api.post(f"{path}/observe", json={"trial": number, "value": number})
            wait_for(lambda: receiver.received)
        with server(database_url, webhook_networks="") as api:
            api.post(f"{path}/suggest")  # this server is not allowed to send to loopback
            api.post(f"{path}/observe", json={"trial": 4, "value": 4})
        with server(database_url) as api:
            wait_for(lambda: len(receiver.accepted) >= 4)
            wait_for(lambda: the_webhook(api)["delivered"] == 4)
            assert (the_webhook(api)["attempts"], the_webhook(api)["error"]) == (0, None)
    assert received_events(receiver) == [("trial.done", number) for number in range(1, 5)]


def test_server_on_a_copy_sends_no_messages_with_the_setting(database_url: str) -> None:
    """A server with messages on then sends them."""
    rounds, deliveries = Counter[str](), Counter[str]()
    watched: dict[Callable[..., Any], Seen] = {
        Sweeper.round: lambda _, event: rounds.update([event]),
        Delivery.round: lambda _, event: deliveries.update([event]),
    }
    with receiving() as receiver:
        with watching(watched), server(database_url, send_webhooks=False) as api:
            path = study(api)
            add_webhook(api, receiver)
            api.post(f"{path}/suggest")
            before = rounds["return"]
            wait_for(lambda: rounds["return"] >= before + 2)
            assert the_webhook(api)["delivered"] == deliveries["call"] == 0
        assert receiver.received == []
        with server(database_url):
            wait_for(lambda: received_events(receiver) == [("trial.reserved", 1)])


@pytest.mark.long
def test_restored_study_keeps_its_webhooks_and_secrets(database_url: str) -> None:
    with receiving(statuses=[500]) as receiver, server(database_url, webhook_retry_seconds=3600) as api:
        path = study(api)
        secret = add_webhook(api, receiver, "trial.reserved", "trial.done")["secret"]
        reserved(api)
        wait_for(lambda: the_webhook(api)["error"])
        before = the_webhook(api)
        assert api.delete(path).status_code == 204
        assert api.post(f"{path}/restore").status_code == 200
        api.post(f"{path}/observe", json={"trial": 1, "value": 3})
        wait_for(lambda: the_webhook(api)["delivered"] == 2)
        assert received_events(receiver) == [("trial.reserved", 1), ("trial.done", 1)]
        assert receiver.received[0][0]["Webhook-Id"] == receiver.received[1][0]["Webhook-Id"]
        for headers, body in receiver.received:
            Webhook(secret).verify(body, dict(headers))
        changed = {"delivered", "delivered_at", "attempts", "failing_since", "error", "next_attempt_at"}
        assert {name: value for name, value in the_webhook(api).items() if name not in changed} == {
            name: value for name, value in before.items() if name not in changed
        }


def test_several_servers_send_each_message_once(database_url: str) -> None:
    with server(database_url) as api, server(database_url) as other, receiving() as receiver:
        path = study(api)
        add_webhook(api, receiver, "trial.done")
        for number in range(1, 7):
            api.post(f"{path}/observe", json={"trial": reserved(api), "value": number})
        wait_for(lambda: the_webhook(other)["delivered"] == 6)
    assert received_events(receiver) == [("trial.done", number) for number in range(1, 7)]


def reserved(api: httpx.Client) -> int:
    (trial,) = api.post("/v1/studies/s/suggest", json={}).json()["trials"]
    number: int = trial["number"]
    return number


def test_persistently_failing_webhook_is_disabled_until_enabled_again(database_url: str) -> None:
    gone = f"http://127.0.0.1:{free_port()}/"
    with server(database_url, webhook_hours=1e-6) as api:
        study(api)
        webhook = add_webhook(api, gone, "trial.reserved")
        reserved(api)
        wait_for(lambda: not the_webhook(api)["is_on"])
        assert the_webhook(api)["error"] == "the connection was refused"
        with receiving() as receiver:
            changes = {"url": receiver.address, "is_on": True}
            changed = api.patch(f"/v1/studies/s/webhooks/{webhook['id']}", json=changes)
            assert (changed.status_code, changed.json()["is_on"]) == (200, True), changed.text
            wait_for(lambda: receiver.accepted)
            assert received_events(receiver) == [("trial.reserved", 1)]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        pytest.param("http://192.168.0.1:8080/", marks=pytest.mark.long),
        pytest.param("http://[::1]/", marks=pytest.mark.long),
        pytest.param("http://[fd00::1]/", marks=pytest.mark.long),
        "http://[::ffff:127.0.0.1]/",
        "http://[fec0::2]/",
        pytest.param("http://[64:ff9b::7f00:1]/", marks=pytest.mark.long),
        pytest.param("http://[2002:7f00:1::]/", marks=pytest.mark.long),
        pytest.param("http://224.0.0.1/", marks=pytest.mark.long),
        pytest.param("http://0.0.0.0/", marks=pytest.mark.long),
        pytest.param("http://100.64.0.1/", marks=pytest.mark.long),
    ],
)
def test_addresses_inside_the_network_are_rejected(api: httpx.Client, url: str) -> None:
    path = study(api)
    answer = api.post(f"{path}/webhooks", json={"url": url})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/url"), answer.text
    assert "webhook_networks" in answer.json()["detail"]
    assert api.get(f"{path}/webhooks").json()["items"] == []


def test_public_addresses_are_accepted(api: httpx.Client) -> None:
    study(api)
    for url in ("https://lab.example/hooks/7?x=1", "http://8.8.8.8:8080", "https://[2001:4860:4860::8888]/"):
        add_webhook(api, url)


INVALID_URLS = [
    "ftp://lab.example/",
    "lab.example",
    "https://user:password@lab.example/",
    "https://a b/",
    "https://h:99999/",
    "https://h/#x",
    "https:///x",
    "https://h/\r\nX: 1",
]


@pytest.mark.parametrize("url", some(INVALID_URLS, INVALID_URLS[:3]))
def test_invalid_urls_are_rejected(api: httpx.Client, url: str) -> None:
    path = study(api)
    answer = api.post(f"{path}/webhooks", json={"url": url})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/url"), answer.text


@pytest.mark.parametrize("host", ["localhost", "nothing.invalid"])
def test_name_that_resolves_inside_the_network_receives_nothing(database_url: str, host: str) -> None:
    """The resolved address is checked when a message is sent. The error is that of a name that does not exist."""
    with socket.create_server(("127.0.0.1", 0)) as listener, server(database_url, webhook_networks="") as api:
        study(api)
        add_webhook(api, f"http://{host}:{listener.getsockname()[1]}/", "trial.reserved")
        reserved(api)
        wait_for(lambda: the_webhook(api)["error"])
        refusal = "is not the name of a public internet address, or of one in the server's setting webhook_networks"
        assert the_webhook(api)["error"] == f"{host} {refusal}"
        listener.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_redirects_are_not_followed(database_url: str) -> None:
    with (
        receiving() as other,
        receiving(statuses=[307], headers={"Location": other.address}) as receiver,
        server(database_url, webhook_retry_seconds=3600) as api,
    ):
        study(api)
        add_webhook(api, receiver, "trial.reserved")
        reserved(api)
        wait_for(lambda: the_webhook(api)["error"] == "it answered with status 307")
        assert (len(receiver.received), other.received) == (1, [])


def test_unresponsive_receiver_does_not_delay_others(database_url: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        receiving() as receiver,
        server(database_url, webhook_seconds=1) as api,
    ):
        study(api)
        add_webhook(api, f"http://127.0.0.1:{silent.getsockname()[1]}/", "trial.reserved")
        add_webhook(api, receiver, "trial.reserved")
        reserved(api)
        wait_for(lambda: receiver.accepted)
        wait_for(lambda: api.get("/v1/studies/s/webhooks").json()["items"][0]["error"] == "no answer in time")


def test_slow_response_is_ended_by_the_timeout(database_url: str) -> None:
    """Each read takes less than the timeout, so only the timeout of the whole request can end it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as slow,
        ThreadPoolExecutor(1) as pool,
        server(database_url, webhook_seconds=0.5, webhook_retry_seconds=3600) as api,
    ):
        study(api)
        add_webhook(api, f"http://127.0.0.1:{slow.getsockname()[1]}/", "trial.reserved")
        answering = pool.submit(answer_slowly, slow)
        reserved(api)
        wait_for(lambda: the_webhook(api)["error"] == "no answer in time")
        answering.result()


def answer_slowly(server: socket.socket) -> None:
    """Answer one request with a byte every 0.1 s, until the client closes the connection."""
    connection, _ = server.accept()
    with connection, suppress(OSError):
        while True:
            connection.sendall(b"H")
            time.sleep(0.1)


def test_stop_ends_a_handshake() -> None:
    """Otherwise a receiver that sends its part byte by byte would delay the stop of the server until the timeout."""
    listener, opened = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def is_left() -> bool:
        with suppress(ConnectionError), listener.accept()[0] as receiver:
            receiver.recv(10_000)
            shut(opened)
            receiver.sendall(b"\x16\x03\x03\x40\x00")  # announces 16,384 bytes
            for _ in range(1000):
                receiver.sendall(b"\x02")
                time.sleep(0.02)
            return False
        return True

    with listener, ThreadPoolExecutor(1) as pool:
        left = pool.submit(is_left)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(NotSent):
            post(url, b"{}", {}, [ip_network(LOOPBACK)], TIMEOUT_SECONDS, opened)
        assert left.result()


def test_secret_is_shown_once_and_only_owners_see_webhooks(api: httpx.Client) -> None:
    path = study(api)
    key = {"Idempotency-Key": "once"}
    made = api.post(f"{path}/webhooks", json={"url": "https://lab.example/"}, headers=key)
    secret, webhook = made.json()["secret"], made.json()["id"]
    again = api.post(f"{path}/webhooks", json={"url": "https://lab.example/"}, headers=key)
    assert (again.status_code, again.json()["code"]) == (409, "webhook_made")
    for address in (f"{path}/webhooks", f"{path}/export", f"{path}/report", "/v1/audit", path):
        assert secret not in api.get(address).text
    tokens: dict[str, str] = {}
    for user, scopes in (("root", ["admin"]), ("ben", ["work"])):
        headers = {"Authorization": f"Bearer {tokens['root']}"} if tokens else {}
        made = api.post("/v1/tokens", json={"name": user, "scopes": scopes}, headers=headers)
        tokens[user] = made.json()["token"]
    root, ben = ({"Authorization": f"Bearer {tokens[user]}"} for user in ("root", "ben"))
    api.patch(f"{path}/access", json={"owner": "root", "shared_with": {"ben": "work"}}, headers=root)
    assert api.get(f"{path}/webhooks", headers=ben).status_code == 403
    assert api.delete(f"{path}/webhooks/{webhook}", headers=ben).status_code == 403
    assert api.delete(f"{path}/webhooks/{webhook}", headers=root).status_code == 204
    assert api.delete(f"{path}/webhooks/{webhook}", headers=root).json()["code"] == "webhook_not_found"


def test_number_of_webhooks_is_limited(api: httpx.Client) -> None:
    path = study(api)
    for number in range(10):
        add_webhook(api, f"https://lab.example/{number}")
    refused = api.post(f"{path}/webhooks", json={"url": "https://lab.example/10"})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "too_many_webhooks")
    assert len(api.get(f"{path}/webhooks").json()["items"]) == 10
