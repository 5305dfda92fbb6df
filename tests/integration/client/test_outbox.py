"""If the server is down, a result is kept on disk, and stored once when the server answers again."""

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from adabkb_client import (
    AdaBKBError,
    Client,
    Conflict,
    ConnectionFailed,
    Delivery,
    Float,
    KeptResult,
    ResultKept,
    Study,
    Unauthorized,
    Unavailable,
)
from adabkb_client._http.outbox import Outbox
from tests.integration.client.faults import Fault, Proxy
from tests.waiting import wait_for


@pytest.fixture
def remote(study: Study, faulty: Proxy) -> Iterator[Study]:
    """The study, through a client with a short ``retry_for``."""
    with Client(faulty.url, retry_for=0.1) as client:
        yield client.study(study.id)


def lose(faulty: Proxy) -> None:
    """Make the server unreachable for longer than a client waits."""
    faulty.faults.extend(["lose request"] * 20)


def put(client: Client, study: Study, value: float, **body: object) -> KeptResult:
    """Put a result into the outbox, and return the kept result."""
    assert client.outbox is not None
    told = body or {"parameters": {"x": 0.5, "y": 2.0}}
    kept = KeptResult.of(f"/studies/{study.id}/observe", {**told, "value": value}, uuid.uuid4().hex, None)
    assert client.outbox._keep(kept)
    return replace(kept, file=client.outbox.file(kept))


def values(study: Study) -> list[float]:
    return [each.value for each in study.observations() if each.value is not None]


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
        remote.add_result({"x": 0.5, "y": 2.0}, 1.5)
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
        wait_for(lambda: list(outbox.rglob("*.json")))
        process.kill()
    faulty.faults.clear()
    with Client(faulty.url) as client:
        assert [kept.body["value"] for kept in client.deliver().sent] == [0.5]
    assert values(study) == [0.5]


def test_what_several_processes_send_at_once_is_stored_once(study: Study, remote: Study, faulty: Proxy) -> None:
    lose(faulty)
    for value in range(5):
        with pytest.raises(ResultKept):
            remote.add_result({"x": 0.5, "y": 2.0}, value)
    faulty.faults.clear()
    faulty.faults.extend(["slow"] * 6)
    before = len(faulty.keys("/observe"))
    clients = [Client(faulty.url) for _ in range(3)]

    def deliver(client: Client) -> None:
        with suppress(Unavailable):  # another process is sending the same result
            client.deliver()

    threads = [threading.Thread(target=deliver, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(faulty.keys("/observe")) == before + 3)
    faulty.go_on.set()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    with Client(faulty.url) as client:
        client.deliver()
    assert sorted(values(study)) == [0, 1, 2, 3, 4]


def test_refused_requests_are_stored_separately_with_a_message(
    study: Study, remote: Study, faulty: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    trial = remote.suggest()
    lose(faulty)
    with pytest.raises(ResultKept):
        remote.observe(trial, 0.5)
    with pytest.raises(ResultKept):
        remote.add_result({"x": 0.5, "y": 2.0}, 1.5)
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


def test_a_result_is_not_sent_to_another_study_with_the_same_name(
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
    assert "was created again" in str(refused.refusal)
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


@pytest.mark.parametrize("name", ["a file", "a name that is too long" * 20], ids=["a file", "too long a name"])
def test_a_folder_that_cannot_be_used_spoils_no_call(
    study: Study, faulty: Proxy, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (tmp_path / "a file").touch()
    with Client(faulty.url, retry_for=1.0, outbox=tmp_path / name) as client:
        remote = client.study(study.id)
        trial = remote.suggest()
        lose(faulty)
        with pytest.raises(ConnectionFailed) as caught:
            remote.observe(trial, 0.5)
        assert not isinstance(caught.value, ResultKept)
        (said,) = [record.message for record in caplog.records if "cannot be kept on disk" in record.message]
        assert "ADABKB_OUTBOX" in said
        faulty.faults.clear()
        caplog.clear()
        remote.observe(trial, 0.5)
        remote.fail(remote.suggest())
    assert values(study) == [0.5]
    assert caplog.text == "", "nobody is warned of a folder that is not needed"


def test_a_result_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    """Each retry of a call writes its result again, so the parts of files would fill the disk."""
    box = Outbox("http://127.0.0.1:1", tmp_path)
    kept = KeptResult.of("/studies/s/observe", {"value": 1.0}, "key", None)
    box.file(kept).mkdir(parents=True)  # no file can replace a folder
    box._keep(kept)
    assert [entry.name for entry in box.folder.iterdir()] == [kept.name]


NO_REFUSALS: list[Fault] = ["not ours", "no route", "too large", "internal"]


@pytest.mark.parametrize("fault", ["token", *(pytest.param(each, marks=pytest.mark.long) for each in NO_REFUSALS)])
def test_only_a_refusal_by_the_service_itself_takes_a_result_out_of_the_outbox(
    study: Study, faulty: Proxy, fault: Fault
) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        remote = client.study(study.id)
        trial = remote.suggest()
        faulty.faults.extend(["lose request", fault])
        with pytest.raises(ResultKept, match="The result is not lost"):
            remote.observe(trial, 0.5)
        (kept,) = client.outbox.waiting()
        faulty.faults.append(fault)
        with suppress(AdaBKBError):
            assert client.deliver() == Delivery((), ())
        assert client.outbox.waiting() == [kept]
        assert client.deliver().sent == (kept,)
    assert values(study) == [0.5]


def test_what_the_service_refuses_when_it_is_back_is_the_programs_to_handle(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        remote = client.study(study.id)
        trial = remote.suggest()
        study.observe(trial, 7.0)
        faulty.faults.append("lose request")
        with pytest.raises(Conflict):
            remote.observe(trial, 0.5)
        assert client.outbox.waiting() == []


def test_an_error_at_the_first_attempt_means_what_it_says(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        remote = client.study(study.id)
        trial = remote.suggest()
        faulty.faults.append("token")
        with pytest.raises(Unauthorized):
            remote.observe(trial, 0.5)
        assert client.outbox.waiting() == []


def test_a_result_that_cannot_be_stored_now_does_not_hold_up_the_others(
    study: Study, faulty: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(faulty.url) as client:
        first, second = put(client, study, 1.0), put(client, study, 2.0)
        faulty.faults.append("internal")
        assert client.deliver() == Delivery((second,), ())
        assert "is not delivered yet: Internal error [500 internal]" in caplog.text
        assert client.deliver() == Delivery((first,), ())
    assert values(study) == [2.0, 1.0]


def test_a_result_that_cannot_be_put_apart_stays_where_it_is(study: Study, faulty: Proxy) -> None:
    study.observe(study.suggest(), 7.0)
    with Client(faulty.url) as client:
        assert client.outbox is not None
        kept = put(client, study, 0.5, trial=1)
        (client.outbox.folder / "refused").touch()
        (refused,) = client.deliver().refused
        assert "409 result_conflict" in str(refused.refusal)
        assert client.outbox.waiting() == [kept]


def test_a_refused_result_is_sent_once_more_when_its_file_is_put_back_under_any_name(
    study: Study, faulty: Proxy
) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        refused = client.outbox._refuse(put(client, study, 0.5), "the study was not there")
        assert client.outbox.waiting() == []
        client.outbox.file(refused).rename(client.outbox.folder / "again.json")
        (waiting,) = client.outbox.waiting()
        assert waiting.refusal is None
        assert client.deliver().sent == (waiting,)
        assert client.outbox.waiting() == client.outbox.refused() == []
        assert client.deliver() == Delivery((), ())
    assert values(study) == [0.5]


STRANGE: dict[str, list[object]] = {
    "path": [1, "/studies/../import/observe", "/studies/s/observe?x=1", "/studies/s/trials/1/retry"],
    "body": [1, [], {"value": float("nan")}, {"metrics": [1]}, {"parameters": "x"}],
    "idempotency_key": [None, "two\nlines", ""],
    "trial_created_at": [1, "yesterday", "2026-01-02T03:04:05Z"],
    "kept_at": [None, "../../victim"],
    "refusal": [1],
}


def test_files_that_no_client_wrote_are_not_sent_and_hold_up_nothing(
    study: Study, faulty: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        folder = client.outbox.folder
        good = json.loads(client.outbox.file(put(client, study, 0.5)).read_text())
        documents: list[object] = [{**good, field: value} for field, values in STRANGE.items() for value in values]
        texts = [*map(json.dumps, [*documents, [], None, {"path": 1}]), "", "[" * 100_000]
        for number, text in enumerate(texts):
            (folder / f"{number}.json").write_text(text)
        client.study(study.id)  # any call
        assert client.outbox.waiting() == []
        assert caplog.text.count("is not a kept result") == len(list(folder.glob("*.unreadable"))) == len(texts)
    assert values(study) == [0.5]
    assert [path for method, path, _ in faulty.sent if method == "POST"] == [f"/v1/studies/{study.id}/observe"]


def test_what_a_file_says_does_not_lead_to_another_file(study: Study, faulty: Proxy) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        file = client.outbox.file(put(client, study, 0.5))
        document = {**json.loads(file.read_text()), "idempotency_key": "/../../victim"}
        file.write_text(json.dumps(document))
        (waiting,) = client.outbox.waiting()
        aim = Path(os.path.normpath(client.outbox.folder / waiting.name))
        assert aim.parent == client.outbox.folder.parent
        aim.touch()
        assert client.deliver().sent == (waiting,)
        assert aim.exists()
        assert not file.exists()


def test_a_file_that_cannot_be_read_holds_up_nothing(
    study: Study, faulty: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(faulty.url) as client:
        assert client.outbox is not None
        kept = put(client, study, 0.5)
        closed = client.outbox.folder / "1.json"
        closed.mkdir()  # unreadable like another user's file, even for root
        assert client.outbox.waiting() == [kept]
        assert client.deliver().sent == (kept,)
        assert "1.json cannot be read, and is skipped" in caplog.text
        assert closed.exists()
    assert values(study) == [0.5]
