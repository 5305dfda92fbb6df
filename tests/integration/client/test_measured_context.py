"""Context that is measured with the result, through both clients, functions and the command."""

from __future__ import annotations

import anyio
import pytest

from adabkb_client import AsyncClient, Client, Float, Invalid, Parameter, WrongResult

SPACE: dict[str, Parameter] = {"speed": Float(0, 10), "humidity": Float(0, 1, context="measured")}


def quality(speed: float, humidity: float) -> float:
    return -((speed - 8.0 + 6.0 * humidity) ** 2)


def test_the_result_gives_the_value(client: Client) -> None:
    study = client.create_study("printing", SPACE, direction="maximize", seed=1)
    trial = study.suggest()
    assert (set(trial.parameters), trial.to_measure) == ({"speed"}, {"humidity": 0.5})
    with pytest.raises(Invalid, match=r"humidity': is missing: its value is measured with the result"):
        study.observe(trial, 1.0)
    study.observe(trial, 1.0, parameters={"humidity": 0.3})
    assert study.suggest(context={"humidity": 0.8}).to_measure == {"humidity": 0.8}
    assert [result.parameters["humidity"] for result in study.observations()] == [0.3]
    assert study.trials("completed")[0].to_measure == {}
    assert "to_measure.humidity" not in study.trials("completed").to_frame()
    with study.trial() as leased:
        leased.observe(2.0, parameters={"humidity": 0.4})


def test_a_function_returns_the_value(client: Client) -> None:
    """It is called without it; a result that lacks it names it."""
    study = client.create_study("printing", SPACE, direction="maximize", seed=1)
    measured = iter([0.1, 0.9, 0.5])

    def evaluate(speed: float) -> dict[str, object]:
        humidity = next(measured)
        return {"value": quality(speed, humidity), "parameters": {"humidity": humidity}}

    assert study.run(evaluate, n_trials=3, progress=False).completed == 3
    assert [result.parameters["humidity"] for result in study.observations()] == [0.1, 0.9, 0.5]
    for returned in (1.0, {"value": 1.0, "parameters": {}}, {"value": 1.0, "parameters": 0.3}):
        with pytest.raises(WrongResult, match=r'"parameters": \{"humidity": 0.1\}'):
            study.run(lambda speed, returned=returned: returned if speed >= 0 else 0, n_trials=1, progress=False)


def test_an_async_function_returns_the_value(client: Client) -> None:
    client.create_study("printing", SPACE, direction="maximize", seed=1)

    async def main() -> None:
        async with AsyncClient(client.url) as other:
            study = await other.study("printing")

            async def evaluate(speed: float) -> dict[str, object]:
                return {"value": quality(speed, 0.2), "parameters": {"humidity": 0.2}}

            assert (await study.run(evaluate, n_trials=2, progress=False)).completed == 2
            trial = await study.suggest()
            assert trial.to_measure == {"humidity": 0.2}
            await study.observe(trial, 1.0, parameters={"humidity": 0.3})

    anyio.run(main)
