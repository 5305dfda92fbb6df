"""A result survives a dead server: it is kept on disk, and stored once when the server answers again."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from adabkb_client import Client, ConnectionFailed, Float, ResultKept, Study, Unavailable
from tests.client.faults import Proxy


@pytest.fixture
def remote(study: Study, faulty: Proxy) -> Iterator[Study]:
    """The study as a client sees it that does not wait long for its server."""
    with Client(faulty.url, retry_for=0.1) as client:
        yield client.study(study.id)


def lose(faulty: Proxy) -> None:
    """Let the server be away for longer than a client waits."""
    faulty.faults.extend(["lose request"] * 20)


def values(study: Study) -> list[float]:
    return [observation.value for observation in study.observations()]


def test_a_result_that_cannot_be_delivered_is_kept_and_sent_at_the_next_contact(
    study: Study, remote: Study, faulty: Proxy, outbox: Path
) -> None:
    trial = remote.suggest()
    lose(faulty)
    with pytest.raises(ResultKept, match="The result is not lost: it is kept in") as caught:
        remote.observe(trial, 0.5)
    assert str(outbox) in str(caught.value)
    with Client(faulty.url) as other:
        assert other.outbox is not None
        (kept,) = other.outbox.waiting()
        assert str(kept) == f"the value 0.5 of trial 1 of study {study.id!r}"
        assert other.outbox.file(kept).exists()
        faulty.faults.clear()
        other.study(study.id)  # any call
        assert other.outbox.waiting() == []
    assert values(study) == [0.5]
    assert len(set(faulty.keys("/observe"))) == 1


def test_a_result_whose_answer_was_lost_is_stored_once(study: Study, remote: Study, faulty: Proxy) -> None:
    faulty.faults.append("lose answer")
    lose(faulty)
    with pytest.raises(ResultKept):
        remote.observe_point({"x": 0.5, "y": 2.0}, 1.5)
    faulty.faults.clear()
    remote.info()
    assert values(study) == [1.5]


def test_a_failure_and_the_result_of_a_block_and_of_a_run_are_kept_too(
    study: Study, remote: Study, faulty: Proxy
) -> None:
    def in_a_block(value: float) -> None:
        with remote.trial() as trial:
            lose(faulty)
            trial.observe(1 / value)

    with pytest.raises(ResultKept):
        in_a_block(1.0)
    faulty.faults.clear()
    with pytest.raises(ZeroDivisionError):
        in_a_block(0.0)
    faulty.faults.clear()

    def function(x: float, y: float) -> float:
        lose(faulty)
        return x + y

    with pytest.raises(ConnectionFailed):
        remote.run(function)
    faulty.faults.clear()
    remote.info()
    assert [trial.state for trial in study.trials()] == ["completed", "failed", "completed"]


PROGRAM = """
import sys
from adabkb_client import Client
study = Client(sys.argv[1], retry_for=600).study("s")
trial = study.suggest()
print("evaluated", flush=True)
sys.stdin.readline()
study.observe(trial, 0.5)
"""


def test_a_process_that_is_killed_while_it_waits_for_the_server_leaves_its_result(
    study: Study, faulty: Proxy, outbox: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, faulty.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "evaluated\n"
        faulty.faults.extend(["lose request"] * 1000)
        print(file=process.stdin, flush=True)
        while not list(outbox.rglob("*.json")):
            time.sleep(0.02)
        process.kill()
    faulty.faults.clear()
    with Client(faulty.url) as client:
        assert [kept.body["value"] for kept in client.deliver().sent] == [0.5]
    assert values(study) == [0.5]


def test_what_several_processes_send_at_once_is_stored_once(study: Study, remote: Study, faulty: Proxy) -> None:
    lose(faulty)
    for value in range(5):
        with pytest.raises(ResultKept):
            remote.observe_point({"x": 0.5, "y": 2.0}, value)
    faulty.faults.clear()
    faulty.faults.extend(["slow"] * 6)
    clients = [Client(faulty.url) for _ in range(3)]

    def deliver(client: Client) -> None:
        with suppress(Unavailable):  # another one is just telling the same
            client.deliver()

    threads = [threading.Thread(target=deliver, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    with Client(faulty.url) as client:
        client.deliver()
    assert sorted(values(study)) == [0, 1, 2, 3, 4]


def test_what_the_server_refuses_is_kept_apart_and_told_in_words(
    study: Study, remote: Study, faulty: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    trial = remote.suggest()
    lose(faulty)
    with pytest.raises(ResultKept):
        remote.observe(trial, 0.5)
    with pytest.raises(ResultKept):
        remote.observe_point({"x": 0.5, "y": 2.0}, 1.5)
    faulty.faults.clear()
    study.observe(trial, 7.0)
    with Client(faulty.url) as client:
        delivery = client.deliver()
        assert [kept.body["value"] for kept in delivery.sent] == [1.5]
        assert client.outbox is not None
        assert client.outbox.refused() == list(delivery.refused)
        (refused,) = delivery.refused
        assert refused.refusal is not None
        assert "409 result_conflict" in refused.refusal
        assert str(client.outbox.file(refused)) in caplog.text
        assert client.deliver().refused == (), "it is not sent again"
    assert values(study) == [7.0, 1.5]


def test_a_result_is_not_told_to_a_trial_of_another_study_that_has_the_name_now(
    client: Client, study: Study, remote: Study, faulty: Proxy
) -> None:
    trial = remote.suggest()
    lose(faulty)
    with pytest.raises(ResultKept):
        remote.observe(trial, 0.5)
    faulty.faults.clear()
    study.delete()
    anew = client.create_study(study.id, {"x": Float(0, 1), "y": Float(1, 100)}, direction="minimize", seed=1)
    assert anew.suggest().number == trial.number
    with Client(faulty.url) as other:
        (refused,) = other.deliver().refused
    assert "was created anew" in str(refused.refusal)
    assert values(anew) == []


def test_a_client_without_an_outbox_keeps_nothing(study: Study, faulty: Proxy, outbox: Path) -> None:
    with Client(faulty.url, retry_for=0.1, outbox=False) as client:
        remote = client.study(study.id)
        trial = remote.suggest()
        lose(faulty)
        with pytest.raises(ConnectionFailed) as caught:
            remote.observe(trial, 0.5)
        assert not isinstance(caught.value, ResultKept)
        assert client.outbox is None
    assert not outbox.exists()


def test_the_folder_is_the_given_one_then_that_of_the_environment_then_the_platforms(
    tmp_path: Path, outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(chosen: Path | None = None) -> Path:
        with Client("http://example.org:1/", outbox=chosen) as client:
            assert client.outbox is not None
            return client.outbox.folder

    assert folder(tmp_path / "mine") == tmp_path / "mine" / "http%3A%2F%2Fexample.org%3A1"
    assert folder().parent == outbox
    monkeypatch.delenv("ADABKB_OUTBOX")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert folder().is_relative_to(tmp_path)


def test_a_folder_that_cannot_be_written_or_read_spoils_no_other_call(
    study: Study, faulty: Proxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    with Client(faulty.url, retry_for=0.1, outbox=blocked) as client:
        remote = client.study(study.id)
        trial = remote.suggest()
        lose(faulty)
        with pytest.raises(ConnectionFailed) as caught:
            remote.observe(trial, 0.5)
        assert not isinstance(caught.value, ResultKept)
        assert "cannot be kept on disk" in caplog.text
        faulty.faults.clear()
        remote.observe(trial, 0.5)
    with Client(faulty.url) as client:
        assert client.outbox is not None
        client.outbox.folder.mkdir(parents=True)
        (client.outbox.folder / "strange.json").write_text(json.dumps({"path": 1}))
        client.study(study.id)
        assert client.outbox.waiting() == []
        assert (client.outbox.folder / "strange.unreadable").exists()
    assert values(study) == [0.5]
