"""Context, periodic parameters and a baseline through the client and ``minimize``."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import anyio
import pytest

from adabkb_client import AsyncClient, Categorical, Client, Fixed, Float, Invalid, Parameter
from adabkb_integrations.inprocess import maximize, minimize

SPACE: dict[str, Parameter] = {
    "speed": Float(0, 10),
    "humidity": Float(0, 1, context=True),
    "machine": Categorical(["A", "B"], context=True),
    "nozzle": Fixed("0.4 mm"),
}
DAMP = {"humidity": 0.62, "machine": "B"}


def quality(speed: float, humidity: float, machine: str, nozzle: str = "") -> float:
    assert nozzle in ("", "0.4 mm")
    return -((speed - 8.0 + 6.0 * humidity) ** 2) - 3.0 * (machine == "B")


def test_a_run_asks_in_the_context_of_the_moment(client: Client) -> None:
    """A function gives another one before each request; a dict gives the same one. The recommendation is of one
    context."""
    study = client.create_study("gluing", SPACE, direction="maximize", budget=26, seed=1)
    seen = count()
    contexts = [{"humidity": humidity, "machine": "AB"[i % 2]} for i, humidity in enumerate([0.1, 0.9, 0.5] * 8)]
    report = study.run(quality, context=lambda: contexts[next(seen)], n_trials=24)
    assert (report.completed, report.recommendation.reason) == (24, "context_needed")
    assert "context" in report.recommendation._repr_html_()
    assert [{name: trial.parameters[name] for name in ("humidity", "machine")} for trial in study.trials()] == contexts
    assert study.run(quality, context=DAMP).completed == 2
    assert [trial.parameters["humidity"] for trial in study.trials()][-2:] == [0.62, 0.62]
    found = study.recommendation(context={"humidity": 0.3, "machine": "B"})
    assert found.model is not None
    assert found.model.parameters["speed"] == pytest.approx(6.2, abs=0.5)
    assert found.model.parameters["nozzle"] == "0.4 mm"
    assert found.observed is None
    assert "6" in repr(found)
    assert "by the model" in found._repr_html_()
    with pytest.raises(Invalid, match=r"context\.machine: is missing; give a value for each"):
        study.recommendation(context={"humidity": 0.3})
    for figure in (study.plot.history(), study.plot.slice(), study.plot.leaves("speed")):
        assert figure.axes


def test_a_context_that_a_function_gives_continues_where_another_one_is_exhausted(client: Client) -> None:
    space: dict[str, Parameter] = {"glue": Categorical(["fast", "slow"]), "machine": SPACE["machine"]}
    study = client.create_study("few", space, direction="maximize", budget=4)
    assert study.run(lambda glue, machine: 1.0, context={"machine": "A"}).reason == "fixed_exhausted"  # noqa: ARG005
    machines = iter(["A", "B", "A", "B", "A", "B"])
    report = study.run(lambda glue, machine: 1.0, context=lambda: {"machine": next(machines)})  # noqa: ARG005
    assert (report.completed, report.reason) == (2, "budget")


def test_trials_one_by_one_and_tasks_take_a_context(client: Client) -> None:
    study = client.create_study("single", SPACE, direction="maximize", budget=9)
    with study.trial(context=DAMP) as trial:
        assert DAMP.items() <= trial.parameters.items()
        trial.observe(quality(**trial.parameters))
    assert [each.parameters["machine"] for each in study.suggest(2, context=DAMP)] == ["B", "B"]

    async def work() -> Any:
        async with AsyncClient(client.url) as other:
            same = await other.study("single")
            async with same.trial(context=DAMP) as leased:
                await leased.observe(quality(**leased.parameters))
            return await same.run(async_quality, context=lambda: DAMP, n_trials=2)

    assert anyio.run(work).completed == 2


async def async_quality(**point: Any) -> float:
    return quality(**point)


def test_a_context_that_a_function_cannot_give_ends_the_run(client: Client) -> None:
    study = client.create_study("broken", SPACE, direction="maximize", budget=9)

    def read() -> dict[str, Any]:
        raise OSError("the sensor is gone")

    with pytest.raises(OSError, match="the sensor is gone"):
        study.run(quality, context=read)
    assert study.info().counts.trials == 0


def test_minimize_takes_a_context() -> None:
    humidity = (value % 3 / 2.0 for value in count())
    found = minimize(
        lambda **point: -quality(**point),
        SPACE,
        24,
        context=lambda: {"humidity": next(humidity), "machine": "A"},
        seed=0,
        progress=False,
    )
    assert [trial.parameters["humidity"] for trial in found.trials] == [0.0, 0.5, 1.0] * 8
    far = [abs(each.parameters["speed"] - 8.0 + 6.0 * each.parameters["humidity"]) for each in found.trials]
    assert sorted(far[12:])[6] < 0.5
    for context, words in [
        (None, "context must have the values of humidity, machine"),
        ({"humidity": 0.2}, r"context\['machine'\] is missing"),
        ({**DAMP, "humidity": 7}, r"context\['humidity'\] is 7, outside"),
        ({**DAMP, "machine": "C"}, r"context\['machine'\]: 'C' is not one of the choices \['A', 'B'\]"),
        ({**DAMP, "speed": 1}, r"context\['speed'\] is not a context parameter"),
    ]:
        with pytest.raises(ValueError, match=words):
            minimize(quality, SPACE, 3, context=context, progress=False)
    with pytest.raises(ValueError, match="all parameters are context, so there is nothing to choose"):
        minimize(quality, {"x": Float(0, 1, context=True)}, 3, progress=False)


def test_minimize_goes_over_the_ends_of_a_periodic_parameter() -> None:
    found = maximize(
        lambda hour: -((min(abs(hour - 23.8), 24.0 - abs(hour - 23.8))) ** 2),
        {"hour": Float(0, 24, periodic=True)},
        15,
        seed=1,
        progress=False,
    )
    assert found.value == pytest.approx(0.0, abs=1e-4)
    assert all(0.0 <= trial.parameters["hour"] < 24.0 for trial in found.trials)
    for wrong in (Float(1, 24, log=True, periodic=True), Float(0, 24, step=1, periodic=True)):
        with pytest.raises(ValueError, match="periodic must be left out on a log scale, and with a step"):
            maximize(lambda hour: hour, {"hour": wrong}, 3, progress=False)


def test_a_periodic_parameter_is_declared_and_its_end_is_its_beginning(client: Client) -> None:
    study = client.create_study("hours", {"hour": Float(0, 24, periodic=True)}, direction="minimize", budget=3)
    assert study.info().parameters[0]["periodic"] is True
    study.add_result({"hour": 24}, 1.0)
    (result,) = study.observations()
    assert result.parameters == {"hour": 0.0}
    assert json.loads(json.dumps(Float(0, 24).to_json())) == {"kind": "float", "low": 0, "high": 24, "scale": "linear"}
    for wrong, words in [
        (Float(1, 24, log=True, periodic=True), "must be left out on a log scale"),
        (Float(0, 24, step=1, periodic=True), "cannot be combined with step; leave one of them out"),
    ]:
        with pytest.raises(Invalid, match=words):
            client.create_study("wrong", {"hour": wrong}, direction="minimize")


@pytest.mark.long
def test_a_recommendation_says_what_it_changes_from_the_baseline(client: Client) -> None:
    space: dict[str, Parameter] = {"heat": Float(0, 10), "stirring": Float(0, 10)}
    baseline = {"heat": 2, "stirring": 3}
    study = client.create_study("near", space, direction="minimize", budget=14, baseline=baseline, seed=1)
    found = study.run(lambda heat, stirring: (heat - 8.0) ** 2).recommendation  # noqa: ARG005
    assert found.model is not None
    assert found.model.changes is not None
    (change,) = found.model.changes
    assert (change.parameter, change.baseline, found.model.parameters["stirring"]) == ("heat", 2, 3.0)
    assert change.gain > 10.0
    assert "which changes heat from 2 (gains " in repr(found)
    assert "Changes from the baseline: heat from 2" in found._repr_html_()
    with pytest.raises(Invalid, match=r"baseline\.heat: is 11, outside"):
        client.create_study("far", space, direction="minimize", baseline={"heat": 11})
    with pytest.raises(TypeError, match="baseline must be a dict such as"):
        client.create_study("far", space, direction="minimize", baseline=[2, 3])  # type: ignore[arg-type]


def test_the_best_result_of_a_context_and_the_best_point_now(client: Client) -> None:
    """``latest`` is the context of the latest result, also for an async client."""
    space: dict[str, Parameter] = {"speed": Float(0, 10), "day": Float(0, 60, context=True)}
    study = client.create_study("ageing", space, direction="minimize", seed=1)
    for day, value in [(0, 1.0), *[(0, 4.0)] * 6, (1, 3.0), (1, 2.0)]:
        study.observe(study.suggest(context={"day": day}), value)
    found = [study.best(), study.best(context={"day": 1}), study.best(context="latest")]
    assert [None if each is None else each.value for each in found] == [1.0, 2.0, 2.0]
    assert study.best(context={"day": 5}) is None
    now = study.recommendation(context="latest").model
    assert now is not None
    assert now.parameters["day"] == 1.0
    with pytest.raises(Invalid, match="outside"):
        study.best(context={"day": 99})

    async def main() -> None:
        async with AsyncClient(client.url) as other:
            same = await other.study("ageing")
            assert await same.best(context="latest") == found[2]
            assert (await same.recommendation(context="latest")).model == now

    anyio.run(main)
