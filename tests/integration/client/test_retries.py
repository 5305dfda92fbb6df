"""Despite network failures, a call has exactly one effect, or fails with a clear error."""

import socket
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from adabkb_client import (
    Client,
    Conflict,
    ConnectionFailed,
    Float,
    Invalid,
    NotFound,
    Study,
    Unavailable,
    UnexpectedAnswer,
)
from tests.integration.client.faults import Fault, Proxy
from tests.waiting import TIMEOUT_SECONDS


@pytest.mark.parametrize("fault", ["lose request", "lose answer", "stall", "busy"])
def test_a_result_is_stored_once_whatever_befalls_its_answer(study: Study, faulty: Proxy, fault: Fault) -> None:
    with Client(faulty.url, timeout=1 if fault == "stall" else 30, retry_for=TIMEOUT_SECONDS) as client:
        remote = client.study(study.id)
        trial = remote.suggest()
        faulty.faults.extend([fault, fault])
        remote.observe(trial, 0.5)
    assert [observation.value for observation in study.observations()] == [0.5]
    keys = faulty.keys("/observe")
    assert not faulty.faults, "it was sent again after each fault"
    assert len(set(keys)) == 1
    assert keys[0]


@pytest.mark.parametrize("fault", ["lose request", "lose answer"])
def test_a_suggestion_whose_answer_was_lost_is_not_a_second_trial(study: Study, faulty: Proxy, fault: Fault) -> None:
    with Client(faulty.url) as client:
        remote = client.study(study.id)
        faulty.faults.append(fault)
        trial = remote.suggest()
    assert [each.number for each in study.trials()] == [trial.number]


def test_a_user_supplied_point_is_stored_once(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        remote = client.study(study.id)
        faulty.faults.append("lose answer")
        remote.add_result({"x": 0.25, "y": 10.0}, 1.5)
    assert [observation.value for observation in study.observations()] == [1.5]


def test_two_calls_have_two_keys(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        first, second = client.study(study.id).suggest(2)
        client.study(study.id).observe(first, 1.0)
        client.study(study.id).observe(second, 1.0)
    assert len(set(faulty.keys("/observe"))) == 2


def test_a_deletion_whose_answer_was_lost_is_a_success(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        remote = client.study(study.id)
        faulty.faults.append("lose answer")
        remote.delete()
        with pytest.raises(NotFound):
            client.delete_study(study.id)


def test_the_servers_retry_after_is_waited_for(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        faulty.faults.append("busy")
        start = time.monotonic()
        client.study(study.id)
    assert time.monotonic() - start >= 1.0


def test_clients_that_are_refused_together_do_not_return_together(study: Study, faulty: Proxy) -> None:
    def seconds(_: int) -> float:
        with Client(faulty.url) as client:
            start = time.monotonic()
            client.study(study.id)
            return time.monotonic() - start

    faulty.faults.extend(["busy"] * 16)
    with ThreadPoolExecutor(16) as pool:
        waited = sorted(pool.map(seconds, range(16)))
    assert waited[0] >= 1.0
    assert waited[-1] - waited[0] > 0.05


def test_a_server_that_stays_busy_is_reported_as_unavailable(faulty: Proxy) -> None:
    faulty.faults.extend(["busy"] * 10)
    with Client(faulty.url, retry_for=0.5) as client, pytest.raises(Unavailable) as caught:
        client.study("s")
    assert caught.value.status == 503


def test_refusals_are_not_repeated(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        remote = client.study(study.id)
        trial = remote.suggest()
        remote.observe(trial, 1.0)
        faulty.sent.clear()
        with pytest.raises(Conflict):
            remote.observe(trial, 2.0)
        with pytest.raises(Invalid):
            remote.add_result({"x": 7.0, "y": 10.0}, 2.0)
    assert len(faulty.sent) == 2


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address that is reserved, so that no server can listen there."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_an_unreachable_server_is_reported_in_two_lines_with_the_remedy(
    nobody: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(nobody, retry_for=0.5) as client, pytest.raises(ConnectionFailed) as caught:
        client.study("s")
    what, remedy = str(caught.value).splitlines()
    assert nobody in what
    assert "`adabkb serve`" in remedy
    assert "ADABKB_URL" in remedy
    assert "Trying again for up to 0.5 s." in caplog.text


def test_the_traceback_of_a_refusal_shows_the_programs_call_and_little_else(nobody: str) -> None:
    with Client(nobody, retry_for=0.5) as client, pytest.raises(ConnectionFailed) as caught:
        client.study("s")
    assert len("".join(traceback.format_exception(caught.value)).splitlines()) <= 25


@pytest.mark.parametrize("retry_for", [0.1, 7.0])
def test_a_server_that_has_not_started_yet_is_waited_for_as_long_as_the_program_says(
    nobody: str, retry_for: float, caplog: pytest.LogCaptureFixture
) -> None:
    """And not only for five seconds, the default at the first contact."""
    begin = time.monotonic()
    with Client(nobody, retry_for=retry_for) as client, pytest.raises(ConnectionFailed):
        client.study("s")
    assert time.monotonic() - begin >= retry_for
    assert f"Trying again for up to {retry_for:g} s." in caplog.text


def test_something_else_that_answers_is_named(faulty: Proxy) -> None:
    faulty.faults.append("not ours")
    with (
        Client(faulty.url) as client,
        pytest.raises(UnexpectedAnswer, match=f"something else answers at {faulty.url}.*not JSON"),
    ):
        client.create_study("s", {"x": Float(0, 1)}, direction="maximize")


def test_a_refusal_that_is_not_of_this_service_is_named_so() -> None:
    """A 404 of another program must not look like a missing study."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}"
        with Client(url) as client, pytest.raises(UnexpectedAnswer, match=f"something else answers at {url}"):
            client.study("s")
        other.shutdown()
