"""Costs in the clients and the command line: a budget of cost, told by functions, shown and exported."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adabkb_client import AsyncClient, Client, Float, Invalid
from tests.cli.shell import adabkb

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
    with pytest.raises(Invalid, match="cannot be changed"):
        study.update(budget=7)


def test_seconds_are_measured_where_a_function_tells_no_cost(client: Client) -> None:
    """Also through the client that awaits."""

    async def run() -> float | None:
        async with AsyncClient(client.url) as there:
            study = await there.create_study("m", {"x": Float(0, 1)}, direction="maximize", cost="measured")
            await study.observe(await study.suggest(), 0.5)
            return (await study.info()).cost_spent

    assert (asyncio.run(run()) or 0.0) > 0.0
