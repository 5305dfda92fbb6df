"""Intermediate values from Python: in runs, in processes, asynchronous, and while the server is down."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adabkb_client import (
    AshaRule,
    AsyncClient,
    AsyncLeasedTrial,
    Client,
    Conflict,
    Float,
    Invalid,
    LeasedTrial,
    PatienceRule,
    Study,
)
from tests.integration.client import objectives
from tests.integration.client.faults import Proxy

ASHA = AshaRule(9, eta=3)


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1)}, direction="minimize", budget=3, seed=1, early_stopping=ASHA)


def test_a_run_stops_what_the_study_stops_and_spends_the_budget_by_steps(study: Study) -> None:
    report = study.run(objectives.learns, pass_trial=True)
    counts = study.info().counts
    assert (report.completed, report.stopped, report.reason) == (counts.completed, counts.stopped, "budget")
    assert counts.stopped > 0
    assert counts.trials > 3
    stopped = study.trials("stopped")[0]
    assert stopped.curve is not None
    assert [point.step for point in study.curve(stopped)][-1] == stopped.curve.step < 9
    assert stopped.estimate is not None


def test_reports_have_the_values_that_are_measured_with_the_result(client: Client, server: str) -> None:
    """Each way to report passes them, and a stopped trial has those of its last report."""
    space = {"x": Float(0, 1), "humidity": Float(0, 1, context="measured")}
    rule = PatienceRule(9, no_gain_for=2)
    study = client.create_study("h", space, direction="minimize", early_stopping=rule)
    study.suggest(2)
    assert not study.report(1, 1, 0.5, parameters={"humidity": 0.1})
    assert study.report_many(1, [(2, 0.5, None, {"humidity": 0.2}), (3, 0.5, None, {"humidity": 0.3})])
    with pytest.raises(Invalid, match="humidity: is missing: its value is measured with the result"):
        study.report(2, 1, 0.5)
    with study.trial() as leased:
        assert leased.report(1, 0.5, parameters={"humidity": 0.4}) is False
        assert leased.report(3, 0.5, parameters={"humidity": 0.5})

    async def work() -> None:
        async with AsyncClient(server) as asynchronous, (await asynchronous.study("h")).trial() as trial:
            assert not await trial.report(1, 0.5, parameters={"humidity": 0.6})
            assert await trial.report(3, 0.5, parameters={"humidity": 0.7})

    asyncio.run(work())
    assert [each.parameters["humidity"] for each in study.observations()] == [0.3, 0.5, 0.7]


@pytest.mark.long
def test_processes_report_too(study: Study) -> None:
    report = study.run(objectives.learns, pass_trial=True, processes=True, n_trials=4)
    assert report.completed + report.stopped == 4
    assert report.stopped == study.info().counts.stopped > 0


def test_a_block_that_is_stopped_needs_no_result(study: Study) -> None:
    with study.trial() as first:
        assert not first.report(1, 0.5)
        first.observe(0.5)
    with study.trial() as second:
        assert second.report(1, 0.75)
        assert second.should_stop
    assert [trial.state for trial in study.trials()] == ["completed", "stopped"]
    assert study.report(second, 1, 0.75) is True


def test_several_values_are_reported_at_once(study: Study) -> None:
    trial = study.suggest()
    assert study.report_many(trial, [(1, 0.5), (2, 0.25)]) is False
    assert [(point.step, point.value) for point in study.curve(trial.number)] == [(1, 0.5), (2, 0.25)]
    with pytest.raises(Invalid, match="must be more than 2"):
        study.report(trial, 0, 0.75)
    with pytest.raises(Conflict, match=r"study\.release\(trial\) restarts the trial"):
        study.report(trial, 2, 0.75)
    with pytest.raises(ValueError, match="value must be a finite number"):
        study.report(trial, 3, float("nan"))
    with pytest.raises(TypeError):
        study.report(trial, 2.5, 0.1)  # type: ignore[arg-type]


def test_a_report_that_contradicts_an_earlier_one_fails_its_trial(study: Study) -> None:
    """It is a mistake of the evaluation: the trial does not stay active until its lease ends."""

    def contradicts(trial: LeasedTrial) -> float:
        trial.report(1, 0.5)
        trial.report(1, 0.75)
        return 1.0

    assert study.run(contradicts, n_trials=1, pass_trial=True).failed == 1
    (trial,) = study.trials()
    assert (trial.state, (trial.reason or "").partition(":")[0]) == ("failed", "Conflict")


def test_reports_wait_in_memory_while_the_server_is_away(
    faulty: Proxy, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(faulty.url, retry_for=0.2) as client, client.study("s").trial() as trial:
        faulty.faults.extend(["lose request"] * 200)
        assert not trial.report(1, 0.5)
        assert "Trying again for up to 0.2 s." in caplog.text
        assert not trial.report(2, 0.25)
        faulty.faults.clear()
        assert not trial.report(3, 0.125)
        assert [point.step for point in study.curve(trial)] == [1, 2, 3]
        faulty.faults.extend(["busy"] * 200)
        assert not trial.report(4, 0.1)
        faulty.faults.clear()
        trial.observe(0.1)
        assert [point.step for point in study.curve(trial)] == [1, 2, 3, 4]


@pytest.mark.usefixtures("study")
def test_a_report_leaves_no_answer_in_the_database(faulty: Proxy) -> None:
    """Reports are idempotent, and there may be thousands."""
    with Client(faulty.url) as client:
        other = client.study("s")
        other.report(other.suggest(), 1, 0.5)
    assert faulty.keys("/reports") == [None]


def test_a_lost_lease_ends_the_evaluation_without_a_result(study: Study) -> None:
    def loses(trial: LeasedTrial) -> float:
        study.release(trial.trial)
        study.suggest()
        trial.report(1, 0.5)
        return 0.5

    with pytest.raises(Conflict, match="lease_lost"):
        study.run(loses, pass_trial=True, max_failures=1)
    assert study.info().counts.observations == 0


@pytest.mark.long
@pytest.mark.usefixtures("study")
def test_reports_are_awaited(server: str) -> None:
    async def learns(trial: AsyncLeasedTrial) -> float:
        for step in (1, 3, 9):
            value = float(trial.number + 9 - step)
            await trial.report(step, value)
            if trial.should_stop:
                break
        return value

    async def work() -> None:
        async with AsyncClient(server) as client:
            remote = await client.study("s")
            report = await remote.run(learns, pass_trial=True)
            assert report.stopped > 0
            stopped = [trial async for trial in remote.trials("stopped")]
            assert len(stopped) == report.stopped
            assert [point.step async for point in remote.curve(stopped[0])] == [1]

    asyncio.run(work())


def test_a_run_adds_the_metrics_that_the_result_of_a_stopped_trial_lacks(client: Client) -> None:
    study = client.create_study(
        "s",
        {"x": Float(0, 1)},
        direction="minimize",
        early_stopping=PatienceRule(9, no_gain_for=2),
        outcome_constraints=[{"metric": "size", "upper": 5}],
    )

    def evaluate(trial: Any) -> dict[str, Any]:
        for step in range(1, 10):
            if trial.report(step, 2.0):
                break
        return {"value": 1.0, "metrics": {"size": 4.0}, "std_errors": {"size": 0.1}}

    assert study.run(evaluate, pass_trial=True, n_trials=2).stopped == 2
    assert [(each.value, each.metrics, each.std_errors) for each in study.observations()] == [
        (2.0, {"size": 4.0}, {"size": 0.1})
    ] * 2
    best = study.best()
    assert best is not None
    assert best.value == 2.0
