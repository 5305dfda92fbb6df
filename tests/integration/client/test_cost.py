"""Costs in the clients and the command line: a budget of cost, told by functions, shown and exported."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from adabkb_client import AsyncClient, Client, Float, Invalid, LeasedTrial, StudyComplete, Trial
from tests.integration.cli.shell import adabkb

COST: dict[str, Any] = {"cost": "told", "per_cost": True, "budget": {"cost": 10}}


def evaluate(x: float) -> dict[str, Any]:
    return {"value": x, "metrics": {"cost": 1.0 + x}}


def test_a_run_ends_when_the_budget_is_spent_and_what_it_cost_is_shown(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1, **COST)
    study.run(evaluate, progress=False)
    info = study.info()
    assert (info.reason, info.budget, info.trial_budget) == ("budget", {"cost": 10.0}, None)
    assert info.cost_spent is not None
    assert info.cost_spent == pytest.approx(sum(1.0 + trial.parameters["x"] for trial in study.trials()))
    assert 10.0 <= info.cost_spent < 12.0
    assert "metrics.cost" in study.export("csv").splitlines()[0]
    assert f"cost {info.cost_spent:.6g} of 10" in adabkb("study", "show", "s", "--url", client.url)
    with pytest.raises(Invalid, match="cannot become another kind"):
        study.update(budget=7)


def test_seconds_are_measured_where_a_function_tells_no_cost(client: Client) -> None:
    """The cost is the time between suggestion and result; the asynchronous client sends them here."""
    slept = 0.2

    async def run() -> tuple[float | None, Trial, float]:
        async with AsyncClient(client.url) as there:
            study = await there.create_study("m", {"x": Float(0, 1)}, direction="maximize", cost="measured")
            start = time.monotonic()
            trial = await study.suggest()
            await asyncio.sleep(slept)
            answer = await study.observe(trial, 0.5)
            longest = time.monotonic() - start
            assert answer.trial is not None
            return (await study.info()).cost_spent, answer.trial, longest

    cost, trial, longest = asyncio.run(run())
    assert cost is not None
    assert slept <= cost <= longest
    assert trial.started_at is not None
    assert trial.finished_at is not None
    assert cost == pytest.approx((trial.finished_at - trial.started_at).total_seconds(), abs=1e-6)


def test_a_result_of_an_earlier_attempt_has_the_duration_of_its_own_evaluation(client: Client) -> None:
    """As if the server had been away when the evaluation ended, and had issued the trial again."""
    study = client.create_study("m", {"x": Float(0, 1)}, direction="maximize", cost="measured")
    first = study.suggest()
    study.release(first)
    study.suggest()
    study.observe(first, 0.5, seconds=3.25)
    [trial], [result] = study.trials(), study.observations()
    assert (trial.attempt, trial.seconds) == (2, 3.25)
    assert (result.attempt, result.seconds, result.metrics) == (1, 3.25, {"cost": 3.25})
    assert study.to_frame()["duration_seconds"].tolist() == [3.25]
    assert "3.25" in study.export("csv").splitlines()[1]
    assert " 3.25 " in adabkb("trial", "list", "m", "--url", client.url)


def test_a_leased_trial_has_the_duration_of_its_evaluation_although_its_result_waits(client: Client) -> None:
    study = client.create_study("m", {"x": Float(0, 1)}, direction="maximize", cost="measured")
    suggested = study.suggest()
    time.sleep(0.3)  # until it is handed to the evaluation
    trial = LeasedTrial(study, suggested)
    trial.observe(0.5)
    report = study.run(lambda x: {"value": x, "seconds": 7.0}, n_trials=1)
    assert report.completed == 1
    first, second = study.trials()
    assert first.seconds is not None
    assert first.started_at is not None
    assert first.finished_at is not None
    assert first.seconds + 0.3 <= (first.finished_at - first.started_at).total_seconds()
    assert second.seconds == 7.0
    LeasedTrial(study, study.suggest()).fail(seconds=2.5)
    [failed] = study.trials("failed")
    assert (failed.seconds, failed.reason) == (2.5, None)


def test_user_supplied_results_bring_their_cost_and_a_spent_budget_says_how_to_continue(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", **COST)
    shown = adabkb("result", "add", "s", "-1.5", "x=0.5", "--metric", "cost=12", "--url", client.url)
    assert "Observation 1 is stored." in shown
    assert study.info().cost_spent == 12.0
    with pytest.raises(StudyComplete, match=r"raise it with study.update\(budget=...\)"):
        study.suggest()
    assert study.update(budget={"cost": 20.0}).state == "running"
    assert "cost 12 of 30" in adabkb("study", "update", "s", "--budget", "cost 30", "--url", client.url)


def test_user_supplied_results_have_no_value_where_there_are_several_objectives(client: Client) -> None:
    client.create_study(
        "s",
        {"x": Float(0, 1)},
        objectives=[{"metric": "error", "direction": "minimize"}, {"metric": "nodes", "direction": "minimize"}],
    )
    result = ("--metric", "error=0.1", "--metric", "nodes=200", "--metric-std-error", "error=0.01")
    adabkb("result", "add", "s", "x=0.5", *result, "--url", client.url)
    listed = [line.split() for line in adabkb("result", "list", "s", "--url", client.url).splitlines()]
    assert [name for name in listed[0] if name in ("error", "nodes", "x")] == ["error", "nodes", "x"]
    assert ["0.1", "200", "0.5"] in [line[-3:] for line in listed]
