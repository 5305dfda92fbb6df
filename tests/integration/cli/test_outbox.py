"""``adabkb outbox``: results that wait for a server, including one that has moved."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import Client, ConnectionFailed, KeptResult, Outbox, Study
from tests.integration.cli.shell import adabkb
from tests.integration.client.faults import proxy

OLD = "http://old.example:8000"


@pytest.fixture(autouse=True)
def _environment(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)
    monkeypatch.setenv("ADABKB_OUTBOX", str(tmp_path / "outbox"))


def put(url: str, study: str, key: str, minutes: int = 0, **body: Any) -> None:
    """Put a result for a server into the outbox, as if it had been kept some minutes ago."""
    at = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    assert Outbox(url)._keep(KeptResult(f"/studies/{study}/observe", body, key, None, at))


def test_queued_requests_are_listed_with_age_and_last_error(create: Callable[..., Study], address: str) -> None:
    study = create()
    assert adabkb("outbox", "list") == "No results wait on this machine.\n"
    put(OLD, study.id, "1" * 32, 150, trial=7, state="failed", reason="out of memory")
    with proxy(address) as faulty, Client(faulty.url, retry_for=0) as client:
        there = client.study(study.id)
        faulty.faults.append("lose request")
        with pytest.raises(ConnectionFailed):
            there.add_result({"lr": 0.5, "layers": 2}, 0.75)
        lines = adabkb("outbox", "list").splitlines()
        assert lines[0] == f"for {faulty.url}:"
        assert f" {study.id} lr=0.5 layers=2: value 0.75, kept " in lines[1]
        assert f" s ago; last error: no server answers at {faulty.url} (Server disc" in lines[1]
        assert lines[2:] == [f"for {OLD}:", f"  11111111 {study.id} trial 7: failure (out of memory), kept 2 hours ago"]
        faulty.faults.append("internal")
        assert "0 sent to" in adabkb("outbox", "send", "--url", faulty.url, code=1)
        [entry] = json.loads(adabkb("outbox", "list", "--kept-for", faulty.url, "--json"))
        assert (entry["study"], entry["value"], entry["refusal"]) == (study.id, 0.75, None)
        assert entry["last_error"] == "Internal error [500 internal]"
        assert adabkb("outbox", "send", "--url", faulty.url) == f"1 sent to {faulty.url}, 0 refused, 0 not sent yet.\n"
    best = study.best()
    assert best is not None
    assert best.value == 0.75


def test_what_was_kept_for_a_server_that_has_moved_is_sent_to_the_new_address(
    create: Callable[..., Study], address: str
) -> None:
    study = create()
    point = {"lr": 0.5, "layers": 2}
    put(OLD, study.id, "a" * 32, parameters=point, value=1.0)
    put(OLD, "nowhere", "b" * 32, parameters=point, value=2.0)
    said = adabkb("outbox", "send").splitlines()
    assert said[0] == f"Nothing waits for {address}."
    assert said[1] == f"There are results for {OLD}; if that server has moved here: --kept-for SERVER"
    said = adabkb("outbox", "send", "--kept-for", OLD, code=1).splitlines()
    assert said[0] == f"1 sent to {address}, 1 refused, 0 not sent yet."
    assert "bbbbbbbb nowhere lr=0.5 layers=2: value 2.0" in said[1]
    assert "; refused: There is no study" in said[1]
    assert "[404 study_not_found, request " in said[1]
    assert [row.value for row in study.observations()] == [1.0]
    assert adabkb("outbox", "send", "--kept-for", OLD).startswith(f"Nothing waits for {OLD}.")
    tried = json.loads(adabkb("outbox", "send", "--kept-for", OLD, "--refused", "--json", code=1))
    assert [len(tried[fate]) for fate in ("sent", "refused", "waiting")] == [0, 1, 0]


def test_a_server_that_is_away_leaves_everything_where_it_is() -> None:
    put("http://127.0.0.1:1", "s", "c" * 32, trial=1, value=0.5)
    away = ("--url", "http://127.0.0.1:1", "--retry-for", "0")
    assert "no server answers at http://127.0.0.1:1" in adabkb("outbox", "send", *away, code=1)
    assert "trial 1: value 0.5, kept" in adabkb("outbox", "list")


def test_a_kept_measurement_without_a_value_is_not_a_failure(create: Callable[..., Study], address: str) -> None:
    """If it were listed as a failure, its user might drop it."""
    objectives = [{"metric": name, "direction": "minimize"} for name in ("error", "nodes")]
    study = create(direction=None, objectives=objectives)
    with proxy(address) as faulty, Client(faulty.url, retry_for=0) as client:
        there = client.study(study.id)
        first, second = there.suggest(), there.suggest()
        faulty.faults.append("lose request")
        with pytest.raises(ConnectionFailed):
            there.observe(first, metrics={"error": 0.25, "nodes": 3.0})
        faulty.faults.append("lose request")
        with pytest.raises(ConnectionFailed):
            there.observe(second, metrics={"nodes": 4.0}, partial=True)
        assert client.outbox is not None
        names = [str(kept) for kept in client.outbox.waiting()]
        lines = adabkb("outbox", "list", "--kept-for", faulty.url).splitlines()
        complete, partial = json.loads(adabkb("outbox", "list", "--kept-for", faulty.url, "--json"))
    assert names[0].startswith("the metrics error=0.25 nodes=3.0 of trial 1 of study ")
    assert "trial 1: metrics error=0.25 nodes=3.0, kept" in lines[1]
    assert "trial 2: metrics nodes=4.0, kept" in lines[2]
    assert complete["metrics"] == {"error": 0.25, "nodes": 3.0}
    assert [partial[name] for name in ("metrics", "partial", "state")] == [{"nodes": 4.0}, True, None]


def test_results_are_dropped_only_by_an_answer_or_yes() -> None:
    for key in "de":
        put(OLD, "s", key * 32, trial=1, value=0.5)
    assert "there is no kept result 'f'; list them: adabkb outbox list" in adabkb("outbox", "drop", "f", code=1)
    assert "no terminal to confirm the deletion of 2 results; pass --yes" in adabkb("outbox", "drop", code=1)
    assert adabkb("outbox", "drop", "dddddddd", "--yes") == "Dropped: 1.\n"
    assert "eeeeeeee" in adabkb("outbox", "list")
    assert adabkb("outbox", "drop", "--kept-for", "http://other.example", "--yes") == "Dropped: 0.\n"
    assert adabkb("outbox", "drop", "--yes") == "Dropped: 1.\n"
    assert adabkb("outbox", "list") == "No results wait on this machine.\n"
