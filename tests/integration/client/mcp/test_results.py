"""An agent sees each result as it was measured, and whether it can rely on what it reads."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_types import TextContent

from adabkb_client import Client
from tests.integration.client.faults import Proxy, proxy
from tests.integration.client.mcp.agents import SPACE, in_process, over_stdio

ONE = {"x": {"kind": "float", "low": 0, "high": 1}}


def test_excluded_moved_partial_and_own_results_are_recognized(server: str) -> None:
    point = {"x": 0.125, "n": 3}

    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="maximize", metrics=["purity"])
            await agent.call("suggest", study="s", count=3)
            purity = {"metrics": {"purity": 1.0}}
            outcomes: list[dict[str, Any]] = [purity, {**purity, "parameters": point}, {"partial": True}]
            for number, given in enumerate(outcomes, start=1):
                told = await agent.call("observe", study="s", trial=number, value=99.0, **given)
                assert told["trial"].get("evaluated") == given.get("parameters")
                assert told["trial"].get("missing") == (["purity"] if number == 3 else None)
            await agent.call("add_result", study="s", parameters=point, value=91.0, metrics={"purity": 2.0})
            with Client(server) as client:
                client.study("s").exclude(1, reason="wrong flask")
            trials = (await agent.call("trials", study="s"))["trials"]
            assert [each.get("excluded") for each in trials] == [True, None, None]
            assert [each.get("evaluated") for each in trials] == [None, point, None]
            assert [each.get("missing") for each in trials] == [None, None, ["purity"]]
            page = await agent.call("observations", study="s", limit=2)
            rest = await agent.call("observations", study="s", cursor=page["next_cursor"])
            results = page["results"] + rest["results"]
            assert [each["observation"] for each in results] == [1, 2, 3, 4]
            assert [each.get("excluded") for each in results] == [True, None, None, None]
            assert (results[1]["parameters"], results[2]["missing"]) == (point, ["purity"])
            assert ("trial" in results[3], results[3]["value"]) == (False, 91.0)
            report = await agent.read("adabkb://studies/s/report")
            assert await agent.call("export_report", study="s") == {"report": report}
            assert '99 `{"purity": 1.0}` (excluded) |' in report
            assert '| R4 | `{"x": 0.125, "n": 3}` | 91 `{"purity": 2.0}` |' in report

    asyncio.run(session())


def test_a_recommendation_has_the_warnings_of_the_assessment(server: str) -> None:
    quantities = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}

    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=ONE, direction="maximize", quantities=quantities)
            empty = await agent.call("predict", study="s", points=[{"x": 0.5}])
            assert (empty["reason"], empty["reason_in_words"]) == ("no_results", "There are no results yet.")
            for n, value in enumerate((40.0, 103.0, 41.0, 44.0)):
                await agent.call("add_result", study="s", parameters={"x": n / 3}, value=value)
            found = await agent.call("recommendation", study="s")
            assert found["reason_in_words"] == "There are too few results to rely on the model."
            assert any("beyond the natural bound" in each for each in found["warnings"])
            assert found["warnings"] == (await agent.call("assessment", study="s"))["warnings"]
            assert (await agent.call("predict", study="s", points=[{"x": 0.5}]))["reason"] == "too_few_results"
            assert "- Warning: The best result is 103 %, beyond the natural bound" in await agent.read(
                "adabkb://studies/s/report"
            )

    asyncio.run(session())


def test_the_front_of_a_study_with_a_context_names_what_is_needed(server: str) -> None:
    space: dict[str, Any] = {**ONE, "humidity": {"kind": "float", "low": 0, "high": 100, "context": "measured"}}
    objectives = [{"metric": "yield", "direction": "maximize"}, {"metric": "waste", "direction": "minimize"}]

    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=space, objectives=objectives)
            assert (await agent.call("recommendation", study="s"))["reason"] == "no_results"
            [trial] = (await agent.call("suggest", study="s"))["trials"]
            assert trial["to_measure"] == {"humidity": {"assumed": 50.0}}
            sent = {"humidity": {"assumed": 50.0}}
            metrics = {"yield": 1.0, "waste": 2.0}
            refused = await agent.refusal("observe", study="s", trial=1, metrics=metrics, parameters=sent)
            assert refused.startswith("parameters.humidity: ")
            await agent.call("observe", study="s", trial=1, metrics=metrics, parameters={"humidity": 40.0})
            await agent.call("add_result", study="s", parameters={"x": 0.5, "humidity": 30.0}, metrics=metrics)
            found = await agent.call("recommendation", study="s")
            assert found["reason"] == "context_needed"
            assert "context='latest'" in found["reason_in_words"]
            assert found["compromises"][0]["metrics"] == metrics
            assert (await agent.call("recommendation", study="s", context="latest"))["front"]
            report = await agent.read("adabkb://studies/s/report")
            assert "## Best compromises" in report
            assert "none, since there are several objectives" in report

    asyncio.run(session())


def test_a_trial_of_another_worker_stops_nobody(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", budget=3)
            with Client(server) as client:
                client.study("s").suggest(1, worker="ann")
            told = (await agent.call("info", study="s"))["waiting_for"]
            assert told == "a call of suggest, or the results of 1 active trial"

    asyncio.run(session())


def test_the_error_about_a_row_names_those_that_contain_the_text(server: str) -> None:
    rows = ["dppf", "PPh3-a", "PPh3-b", "PPh3-c", "PPh3-d"]
    ligand = {"kind": "catalogue", "rows": rows, "descriptors": {"size": [1, 2, 3, 4, 5]}}

    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters={"ligand": ligand}, direction="maximize")
            for text, near in (("pph3", "'PPh3-a', 'PPh3-b', 'PPh3-c'."), ("nothing", "'dppf'.")):
                told = await agent.refusal("add_result", study="s", parameters={"ligand": text}, value=1.0)
                assert told.startswith(f"parameters.ligand: must be the name of a row of the catalogue, such as {near}")
            page = await agent.call("rows", study="s", containing="pph3", limit=3)
            rest = await agent.call("rows", study="s", containing="pph3", cursor=page["next_cursor"])
            assert page["rows"][0] == {"name": "PPh3-a", "numbers": {"size": 2.0}}
            assert [each["name"] for each in page["rows"] + rest["rows"]] == rows[1:]

    asyncio.run(session())


def test_answers_are_short(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", budget=1)
            assert (await agent.call("info", study="s"))["trials_left"] == 1
            [trial] = (await agent.call("suggest", study="s", lease_seconds=600))["trials"]
            assert 590 <= trial["lease_seconds_left"] <= 600
            assert (await agent.call("info", study="s"))["trials_left"] == 0
            nothing = await agent.call("suggest", study="s")
            assert nothing["reason"] == "budget"
            for n in range(8):
                await agent.call("add_result", study="s", parameters={"x": n / 7, "n": n + 1}, value=n / 7)
            answer = await agent.client.call_tool("studies", {})
            [text] = [part.text for part in answer.content if isinstance(part, TextContent)]
            assert json.loads(text) == answer.structured_content
            assert "\n" not in text
            [listed] = json.loads(text)["studies"]
            assert listed["best"] == {"value": 0.0}
            assert (await agent.call("info", study="s"))["best"]["parameters"] == {"x": 0.0, "n": 1}
            [found] = (await agent.call("predict", study="s", points=[{"x": 0.3, "n": 2}]))["predictions"]
            assert found == {name: float(f"{number:.6g}") for name, number in found.items()}

    asyncio.run(session())


def test_predictions_do_not_depend_on_the_recommendation(server: str) -> None:
    """The tool also asks for the recommendation, to say whether the predictions can be relied upon. Here the server
    is then busy."""

    async def session(way: Proxy) -> None:
        async with over_stdio(way.url, "--retry-for", "0") as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            await agent.call("add_result", study="s", parameters={"x": 0.5, "n": 3}, value=1.0)
            way.sent.clear()
            way.faults.extend([None, "busy"])
            answer = await agent.call("predict", study="s", points=[{"x": 0.3, "n": 2}])
            assert len(answer["predictions"]) == 1
            assert [path.partition("?")[0].rpartition("/")[2] for _, path, _ in way.sent] == [
                "predict",
                "recommendation",
            ]
            assert "reason" in await agent.call("predict", study="s", points=[{"x": 0.3, "n": 2}])

    with proxy(server) as way:
        asyncio.run(session(way))
