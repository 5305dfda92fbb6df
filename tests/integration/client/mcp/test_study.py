"""Studies by the tools of an agent, over both transports."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from adabkb_client import Client, Float
from tests.integration.client.mcp.agents import (
    ADABKB,
    SPACE,
    Agent,
    environment,
    http_server,
    in_process,
    over_http,
    over_stdio,
)

Connect = Callable[[], AbstractAsyncContextManager[Agent]]


def value(x: float, n: int) -> float:
    return -((x - 0.3) ** 2) - 0.01 * n


async def whole_study(connect: Connect) -> dict[str, Any]:
    """Create, evaluate ten trials, ask for the result and for the report. Returns the assessment."""
    async with connect() as agent:
        created = await agent.call(
            "create_study",
            study="s",
            parameters=SPACE,
            direction="maximize",
            budget=10,
            seed=1,
            title="Ten points",
            tags={"by": "agent"},
        )
        assert (created["state"], created["budget"], created["direction"]) == ("running", 10, "maximize")
        assert (created["title"], "description" in created) == ("Ten points", False)
        best = -9.0
        for number in range(1, 11):
            [trial] = (await agent.call("suggest", study="s"))["trials"]
            assert trial["trial"] == number
            assert (await agent.call("info", study="s"))["waiting_for"] == (
                "the results of 1 active trial; the study issues no other trial (budget)"
                if number == 10
                else "a call of suggest, or the results of 1 active trial"
            )
            best = max(best, value(**trial["parameters"]))
            told = await agent.call("observe", study="s", trial=number, value=value(**trial["parameters"]))
            assert told["trial"]["state"] == "completed"
            assert told["study"]["best"]["value"] == best
        over = await agent.call("suggest", study="s")
        assert (over["trials"], over["reason"]) == ([], "budget")
        assert "recommendation()" in over["what_to_do"]
        recommendation = await agent.call("recommendation", study="s")
        assert recommendation["observed"]["value"] == best
        point = recommendation["model"]["parameters"]
        [prediction] = (await agent.call("predict", study="s", points=[point]))["predictions"]
        assert prediction["lcb"] < prediction["mean"] < prediction["ucb"]
        assert (await agent.call("why", study="s", trial=5))["why"]
        assessed = await agent.call("assessment", study="s")
        importance = await agent.call("importance", study="s")
        assert {each["name"] for each in importance["parameters"]} == {"x", "n"}
        assert [line["study"] for line in json.loads(await agent.read("adabkb://studies"))["studies"]] == ["s"]
        report = await agent.read("adabkb://studies/s/report")
        assert report.startswith("# Study `s`\n")
        assert f"{best:.6g} at" in report
        assert report.count("| completed |") == 10
        return assessed


def test_a_whole_study_over_stdio(server: str) -> None:
    assessed = asyncio.run(whole_study(lambda: over_stdio(server)))
    with Client(server) as client:
        found = client.study("s").assessment()
        assert assessed["verdicts"] == [found.verdicts[""].text]
        assert (assessed["outlook"], assessed["progress"]) == (found.outlook.text, found.progress.text)
        assert client.study("s").info().counts.completed == 10


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_whole_study_over_http(server: str, mode: str) -> None:
    with http_server(server) as url:
        asyncio.run(whole_study(lambda: over_http(url, mode=mode)))


@pytest.mark.long
def test_studies_of_one_session_do_not_mix(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            for study in ("a", "b"):
                await agent.call("create_study", study=study, parameters=SPACE, direction="minimize", seed=1)
            for study in ("a", "b", "a"):
                await agent.call("suggest", study=study)
            await agent.call("observe", study="b", trial=1, value=7.0)
            states = {study: await agent.call("info", study=study) for study in ("a", "b")}
            assert [(each["active"], each["completed"]) for each in states.values()] == [(2, 0), (0, 1)]
            assert "best" not in states["a"]
            assert states["b"]["best"]["value"] == 7.0
            assert "trial_not_found" in await agent.refusal("observe", study="b", trial=2, value=1.0)

    asyncio.run(session())


def test_a_change_with_a_key_is_made_once(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", key="new")
            first = await agent.call("suggest", study="s", key="ask-1")
            again = await agent.call("suggest", study="s", key="ask-1")
            assert (again["trials"], again["replayed"]) == (first["trials"], True)
            second = await agent.call("suggest", study="s", key="ask-2")
            assert second != first
            told = await agent.call("observe", study="s", trial=1, value=0.5, key="tell-1")
            again = await agent.call("observe", study="s", trial=1, value=0.5, key="tell-1")
            assert again.pop("replayed") is True
            assert again == {**told, "study": {**told["study"], "active": 1}}
            point = {"x": 0.25, "n": 3}
            for _ in range(2):
                await agent.call("add_result", study="s", parameters=point, value=0.4, key="earlier")
            reused = await agent.refusal("observe", study="s", trial=2, value=0.5, key="tell-1")
            assert reused.startswith("key: ")

    asyncio.run(session())
    with Client(server) as client:
        assert [each.value for each in client.study("s").observations()] == [0.5, 0.4]


def test_a_report_has_the_values_that_are_measured_with_the_result(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call(
                "create_study",
                study="s",
                parameters={**SPACE, "humidity": {"kind": "float", "low": 0, "high": 1, "context": "measured"}},
                direction="minimize",
                early_stopping={"rule": "patience", "max_steps": 9, "no_gain_for": 1},
            )
            await agent.call("suggest", study="s", lease_seconds=600)
            refused = await agent.refusal("report", study="s", trial=1, step=1, value=0.9)
            assert "humidity" in refused
            for step in (1, 2):
                told = await agent.call(
                    "report", study="s", trial=1, step=step, value=0.9, parameters={"humidity": step / 10}
                )
            assert told["stop"] is True

    asyncio.run(session())
    with Client(server) as client:
        assert [each.parameters["humidity"] for each in client.study("s").observations()] == [0.2]


def test_a_trial_that_continues_and_one_that_fails(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call(
                "create_study",
                study="s",
                parameters=SPACE,
                direction="minimize",
                early_stopping={"rule": "median", "max_steps": 9},
            )
            await agent.call("suggest", study="s", count=3, lease_seconds=600)
            going_on = await agent.call("report", study="s", trial=1, step=1, value=0.9)
            assert going_on["stop"] is False
            assert going_on["trial"]["last_reported_value"] == 0.9
            lease = (await agent.call("heartbeat", study="s", trial=1))["trial"]["leased_until"]
            assert lease >= going_on["trial"]["leased_until"]
            failed = await agent.call("fail", study="s", trial=2, reason="the | `flask` broke")
            assert failed["trial"]["state"] == "failed"
            released = await agent.call("release", study="s", trial=3, reason="the oven is occupied")
            assert released["trial"]["state"] == "released"
            declined = await agent.call("withdraw", study="s", trial=3, reason="no flask left")
            assert (declined["trial"]["state"], declined["trial"]["reason"]) == ("withdrawn", "no flask left")
            [listed] = (await agent.call("trials", study="s", state="failed"))["trials"]
            assert listed["reason"] == "the | `flask` broke"
            assert (await agent.call("pause", study="s"))["state"] == "paused"
            nothing = await agent.call("suggest", study="s")
            assert (nothing["trials"], nothing["reason"]) == ([], "paused")
            assert (await agent.call("resume", study="s"))["state"] == "running"
            page = await agent.call("trials", study="s", limit=2)
            rest = await agent.call("trials", study="s", limit=2, cursor=page["next_cursor"])
            assert [trial["trial"] for trial in page["trials"] + rest["trials"]] == [1, 2, 3]
            report = await agent.read("adabkb://studies/s/report")
            assert "| 2 | `" in report
            assert "None according to the model. There are no results yet.\n" in report
            assert "`the ¦ 'flask' broke`" in report

    asyncio.run(session())
    with Client(server) as client:
        [event] = [each for each in client.study("s").events() if each.kind == "released"]
    assert event.payload["reason"] == "the oven is occupied"


@pytest.mark.long
def test_a_definition_may_have_every_kind_of_parameter_and_several_objectives(server: str) -> None:
    space = {
        "rate": {"kind": "float", "low": 1e-4, "high": 1, "log": True},
        "dose": {"kind": "float", "low": 0, "high": 10, "step": 0.5},
        "size": {"kind": "ordinal", "values": [1, 2, 4]},
        "solvent": {"kind": "categorical", "choices": ["w", "e"], "descriptors": {"polarity": [1.0, 0.6]}},
        "stirred": {"kind": "bool", "when": {"solvent": ["w"]}},
        "mass": {"kind": "fixed", "value": 2.5},
        "additive": {"kind": "fixed", "value": None},
    }
    objectives = [{"metric": "yield", "direction": "maximize"}, {"metric": "waste", "direction": "minimize"}]

    async def session() -> None:
        async with in_process(server) as agent:
            study = await agent.call("create_study", study="s", parameters=space, objectives=objectives)
            assert study["parameters"] == space  # as it was given
            [first] = (await agent.call("suggest", study="s", fixed={"solvent": "e"}))["trials"]
            assert first["parameters"]["solvent"] == "e"
            assert "stirred" not in first["parameters"]
            for number in (1, 2, 3):
                metrics = {"yield": 1.0 * number, "waste": 2.0 * number}
                await agent.call("observe", study="s", trial=number, metrics=metrics)
                await agent.call("suggest", study="s")
            front = (await agent.call("recommendation", study="s"))["front"]
            assert len(front) == 3
            assert "parameters on the front" in await agent.read("adabkb://studies/s/report")

    asyncio.run(session())


@pytest.mark.long
def test_mixtures_beliefs_and_settings_in_use_of_a_running_study_are_changed(server: str) -> None:
    share = {"kind": "float", "low": 0, "high": 1}

    async def session() -> None:
        async with in_process(server) as agent:
            made = {"parameters": {"a": share, "b": share, "c": share}, "direction": "maximize"}
            await agent.call("create_study", study="s", **made, baseline={"c": 0.5})
            changed = await agent.call(
                "update",
                study="s",
                mixtures=[{"parameters": ["a", "b"], "total": 1}],
                prior={"c": {"around": 0.25, "width": 0.1}},
                key="edit",
            )
            assert changed["mixtures"][0]["parameters"] == ["a", "b"]
            assert changed["prior"]["c"]["around"] == 0.25
            assert changed["baseline"] == {"c": 0.5}
            [trial] = (await agent.call("suggest", study="s"))["trials"]
            assert trial["parameters"]["a"] + trial["parameters"]["b"] == pytest.approx(1)
            changed = await agent.call("update", study="s", mixtures=[], baseline={})
            assert changed.keys() & {"mixtures", "prior", "baseline"} == {"prior"}
            assert "prior.d" in await agent.refusal("update", study="s", prior={"d": {"around": 1, "width": 1}})
            assert "at least one" in await agent.refusal("update", study="s")
            refused = await agent.refusal("update", study="s", prior=None, mixtures=[])
            assert refused == "prior: must not be null; leave it out."
            assert (await agent.call("info", study="s"))["prior"] == changed["prior"]

    asyncio.run(session())


def test_a_study_has_every_setting_that_the_agent_gives(server: str) -> None:
    share = {"kind": "float", "low": 0, "high": 1}
    settings: dict[str, Any] = {
        "metrics": ["purity"],
        "outcome_constraints": [{"metric": "purity", "lower": 0.9, "upper": None}],
        "constraints": ["x + y <= 1.5"],
        "budget": {"cost": 12.5},
        "cost": "told",
        "per_cost": True,
        "robust": True,
        "transfer_from": ["old"],
        "plates": {"size": 4, "shared": ["x"]},
        "stop": {"no_gain_for": 9, "gap_share_below": 0.01},
        "noise_std": 0.5,
        "tolerance": 0.25,
        "lease_seconds": 60.0,
        "max_attempts": 2,
        "max_runtime_seconds": 30.0,
        "failure_limit": 4,
        "pending_limit": 8,
        "seed": 7,
    }
    rule = {"rule": "asha", "max_steps": 27, "min_steps": 1, "after_trials": 2, "eta": 4}
    goals = [
        {"metric": "yield", "direction": "maximize", "reference": 1.0, "noise_std": 0.5},
        {"metric": "waste", "direction": "minimize"},
    ]

    async def session() -> None:
        async with in_process(server) as agent:
            old = {"parameters": {"x": share}, "direction": "maximize"}
            await agent.call("create_study", study="old", **old)
            for n in range(5):
                await agent.call("add_result", study="old", parameters={"x": n / 5}, value=n)
            space = {"x": share, "y": share}
            made = await agent.call("create_study", study="s", parameters=space, direction="maximize", **settings)
            assert {name: made[name] for name in settings} == {**settings, "metrics": ["purity", "cost"]}
            several = {"objectives": goals, "early_stopping": {**rule, "metric": "yield"}, "failure_limit": "none"}
            made = await agent.call("create_study", study="t", parameters=space, **several)
            assert made["early_stopping"] == {**rule, "metric": "yield"}
            assert made["objectives"] == goals
            assert "failure_limit" not in made
            patient = {"rule": "patience", "max_steps": 9, "no_gain_for": 3, "min_gain": 0.5}
            other = {"algorithm": {"kind": "sobol"}, "early_stopping": patient}
            made = await agent.call("create_study", study="u", parameters=space, direction="minimize", **other)
            assert made["algorithm"]["kind"] == "sobol"
            assert made["early_stopping"]["min_gain"] == 0.5
            [listed] = (await agent.call("studies", tags={"by": "nobody"}))["studies"] or [None]
            assert listed is None

    asyncio.run(session())


@pytest.mark.long
def test_bounds_and_early_stopping_of_a_running_study_are_changed(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            made = {
                "parameters": {"x": {"kind": "float", "low": 0, "high": 1}},
                "direction": "maximize",
                "outcome_constraints": [{"metric": "size", "upper": 5}],
                "early_stopping": {"rule": "median", "max_steps": 9},
            }
            await agent.call("create_study", study="s", **made)
            rule = {"rule": "median", "max_steps": 9, "min_steps": 3}
            changed = await agent.call(
                "update", study="s", outcome_constraints=[{"metric": "size", "lower": 1}], early_stopping=rule
            )
            assert changed["outcome_constraints"] == [{"metric": "size", "lower": 1, "upper": None}]
            assert changed["early_stopping"]["min_steps"] == 3
            changed = await agent.call("update", study="s", outcome_constraints=[])
            assert "outcome_constraints" not in changed
            assert changed["early_stopping"]["min_steps"] == 3
            assert "max_steps" in await agent.refusal("update", study="s", early_stopping={**rule, "max_steps": 99})
            assert "also needs the field cost" in await agent.refusal("update", study="s", per_cost=True)
            changed = await agent.call("update", study="s", noise_std=0, robust=True)
            assert (changed["noise_std"], changed["robust"]) == (0, True)

    asyncio.run(session())


@pytest.mark.long
def test_a_catalogue_is_a_kind_of_parameter(server: str) -> None:
    dye = {"kind": "catalogue", "rows": ["a", "b", "c"], "descriptors": {"size": [1, 2, 3]}}

    async def session() -> None:
        async with in_process(server) as agent:
            study = await agent.call("create_study", study="s", parameters={"dye": dye}, direction="maximize")
            assert study["parameters"]["dye"]["rows"] == 3
            trials = (await agent.call("suggest", study="s", count=3))["trials"]
            assert sorted(trial["parameters"]["dye"] for trial in trials) == ["a", "b", "c"]

    asyncio.run(session())


@pytest.mark.long
def test_parameters_and_results_have_units_and_natural_bounds(server: str) -> None:
    space: dict[str, dict[str, Any]] = {
        "heat": {"kind": "float", "low": 20, "high": 120, "unit": "°C", "label": "Oil bath"},
        "count": {"kind": "int", "low": 1, "high": 9, "unit": "mg"},
        "size": {"kind": "ordinal", "values": [1, 2], "unit": "nm"},
        "solvent": {"kind": "categorical", "choices": ["w", "e"], "label": "Solvent"},
        "stirred": {"kind": "bool", "label": "Is stirred"},
        "mass": {"kind": "fixed", "value": 2.5, "unit": "g"},
        "dye": {"kind": "catalogue", "rows": ["a", "b"], "descriptors": {"size": [1, 2]}, "label": "Dye"},
    }
    quantities = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100, "digits": 1}}

    async def session() -> None:
        async with in_process(server) as agent:
            study = await agent.call(
                "create_study", study="s", parameters=space, direction="maximize", quantities=quantities
            )
            words = {
                name: {word: each[word] for word in ("unit", "label") if word in each}
                for name, each in study["parameters"].items()
            }
            assert words == {
                name: {word: given[word] for word in ("unit", "label") if word in given}
                for name, given in space.items()
            }
            assert study["quantities"] == quantities
            [trial] = (await agent.call("suggest", study="s"))["trials"]
            refusal = await agent.refusal("observe", study="s", trial=trial["trial"], value=824)
            assert "far above the possible values, 0 to 100 %" in refusal
            stored = await agent.call("observe", study="s", trial=trial["trial"], value=102)
            assert stored["beyond_natural_bounds"] == ["value"]
            assert "20 to 120 °C" in await agent.read("adabkb://studies/s/report")

    asyncio.run(session())


@pytest.mark.long
def test_a_request_that_is_sent_again_is_one_change(server: str) -> None:
    """It has the same number, and no key."""
    with Client(server) as client:
        client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    asked = {"method": "tools/call", "params": {"name": "suggest", "arguments": {"study": "s"}}}
    pipe = subprocess.PIPE
    with subprocess.Popen([ADABKB, "mcp"], env=environment(server), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None

        def answer(message: dict[str, Any]) -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            found: dict[str, Any] = json.loads(process.stdout.readline())
            return found

        answer(hello)
        process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        numbers = [
            answer({**asked, "id": id})["result"]["structuredContent"]["trials"][0]["trial"] for id in (1, 1, 2, 2)
        ]
        process.stdin.close()
        process.wait(60)
    assert numbers == [1, 1, 2, 2]
