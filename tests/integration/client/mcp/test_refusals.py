"""What tools say that do not do what they are asked for: in the words of their arguments, with a remedy."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import MCPError

from adabkb_client.mcp import _answers
from adabkb_service.access import secrets
from adabkb_service.app import create_app
from adabkb_service.contract.model import RecommendationReason
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.integration.access.conftest import give_token
from tests.integration.cli.test_installations import ROOT, adabkb, installed
from tests.integration.client.mcp.agents import SPACE, Agent, in_process, over_stdio
from tests.servers import free_port, server_on, serving


@pytest.fixture
def guarded(other_sqlite: str) -> Iterator[tuple[str, str, str]]:
    """A server with tokens: its address, a token that may work, and one that may read."""
    with closing(Database(other_sqlite)) as database:
        working = give_token(database, "ann", "work")
        reading = give_token(database, "ann", "read")
    with server_on(other_sqlite) as address:
        yield address, working, reading


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("suggest", {"study": "s", "count": 0}, "count: must be greater than or equal to 1"),
    ("suggest", {"study": "s", "count": "three"}, "count: must be a valid integer"),
    ("suggest", {"study": "s", "count": "3"}, 'count: must be a number: send 3, not "3"'),
    ("suggest", {"study": "s", "count": 2.0}, "count: must be a number: send 2, not 2.0"),
    ("observe", {"study": "s", "trial": 1, "value": "34.20"}, 'value: must be a number: send 34.2, not "34.20"'),
    ("observe", {"study": "s", "trial": 1, "value": "34 %"}, "value: must be a valid number"),
    ("observe", {"study": "s", "trial": 1, "value": "inf"}, "value: must be a valid number"),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {"kind": "float", "low": "0", "high": 1}}, "direction": "minimize"},
        'parameters.a.low: must be a number: send 0, not "0"',
    ),
    (
        "create_study",
        {"study": "t", "parameters": SPACE, "direction": "minimize", "constraints": ["if n == 1 then x <= 0.5"]},
        "constraints.0: column 1: write not (n == 1) or x <= 0.5",
    ),
    ("suggest", {"study": "s", "lease_seconds": 1e-9}, "lease_seconds: must be greater than or equal to 1"),
    ("suggest", {"count": 1}, "study: is required"),
    ("suggest", {"study": "no such/id"}, "study: must have 1 to 100 letters, digits"),
    ("suggest", {"study": None}, "study: must not be null."),
    ("update", {"study": "s", "early_stopping": None}, "early_stopping: must not be null; leave it out."),
    ("update", {"study": "s", "prior": {"x": None}}, "prior.x: must not be null."),
    ("suggest", {"study": "s", "cuont": 2}, "cuont: is not an argument of this tool; did you mean count?"),
    ("suggest", {"study": "s", "why": 2}, "why: is not an argument of this tool; there are study, count, fixed, "),
    (
        "create_study",
        {"study": "t", "parameters": SPACE, "direction": "minimize", "max_trials": 10},
        "max_trials: is not an argument of this tool; did you mean budget?",
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {**SPACE["x"], "scale": "log"}}, "direction": "minimize"},
        "parameters.a.scale: is not an argument of this tool; did you mean log: true?",
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {"kind": "float", "min": 0, "high": 1}}, "direction": "minimize"},
        "parameters.a.min: is not an argument of this tool; did you mean low?",
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": SPACE["x"]}, "direction": "minimize", "stop": {"no_gain": 3}},
        "stop.no_gain: is not an argument of this tool; did you mean no_gain_for?",
    ),
    (
        "create_study",
        {"study": "t", "parameters": [{"name": "a", **SPACE["x"]}], "direction": "minimize"},
        'parameters: must be an object by the names of the parameters, such as {"x": {"kind": "float", ',
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {"low": 0, "high": 1}}, "direction": "minimize"},
        "parameters.a: kind is required: one of float, int, ",
    ),
    (
        "create_study",
        {"study": "s", "parameters": SPACE, "direction": "minimize", "seed": 1, "budget": 9},
        "leave these arguments out, or ask the user to have them changed on the study's page",
    ),
    ("suggest", {"study": "s", "fixed": {"x": 7}}, "fixed.x: "),
    ("suggest", {"study": "s", "key": "two words"}, "key: must have 1 to 200 ASCII characters, without spaces"),
    ("observe", {"study": "s", "trial": 1}, "value: "),
    ("observe", {"study": "s", "trial": 1, "value": True}, "value: must be a valid number"),
    ("observe", {"study": "s", "trial": 1, "value": 1, "metrics": {"loss": 2}}, "metrics"),
    ("add_result", {"study": "s", "parameters": {"x": 0.5}, "value": 1.0}, "parameters.n: "),
    ("add_result", {"study": "s", "parameters": {"x": {}, "n": 1}, "value": 1.0}, "parameters.x: must be a number"),
    ("predict", {"study": "s", "points": [{"x": 0.5, "n": 99}]}, "points.0.n: "),
    ("importance", {"study": "s", "metric": "speed"}, "metric: "),
    ("recommendation", {"study": "s", "feasible_probability": 0.9}, "feasible_probability: "),
    (
        "create_study",
        {
            "study": "t",
            "parameters": {"a": SPACE["x"], "b": {"kind": "float", "low": 2, "high": 1}},
            "direction": "minimize",
        },
        "parameters.b.high: must be greater than low",
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {"kind": "int", "low": 0.5, "high": 1}}, "direction": "minimize"},
        "parameters.a.low: must be a valid integer",
    ),
    (
        "create_study",
        {"study": "t", "parameters": {"a": {"kind": "real"}}, "direction": "minimize"},
        "parameters.a: kind must be one of float, int, ",
    ),
    ("create_study", {"study": "t", "parameters": SPACE}, "direction: "),
    (
        "create_study",
        {"study": "s", "parameters": SPACE, "direction": "maximize"},
        "Another definition needs another id",
    ),
    (
        "create_study",
        {"study": "t", "parameters": SPACE, "direction": "minimize", "budget": {"plats": 3}},
        'budget: must be a number of trials such as 20, not 20.0 or text, or {"plates": 3}, or {"cost": 12.5}, above 0',
    ),
    (
        "create_study",
        {"study": "t", "parameters": SPACE, "direction": "minimize", "budget": {"cost": 3}},
        "budget: also needs the field cost",
    ),
    (
        "create_study",
        {"study": "t", "parameters": SPACE, "direction": "minimize", "transfer_from": ["nothing"]},
        "give one that studies() lists",
    ),
    ("info", {"study": "nothing"}, "studies() lists the existing ones"),
    ("why", {"study": "s", "trial": 99}, "trials() lists the existing ones"),
]


def test_every_reason_of_a_recommendation_is_a_sentence() -> None:
    assert _answers.REASONS.keys() == set(get_args(RecommendationReason))


def test_wrong_arguments_are_named(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", seed=1)
            await agent.call("suggest", study="s")
            for tool, arguments, expected in WRONG:
                told = await agent.refusal(tool, **arguments)
                assert expected in told, (tool, arguments, told)
                assert "Traceback" not in told
                assert "pydantic" not in told
            await agent.call("observe", study="s", trial=1, value=1.0)
            other_value = await agent.refusal("observe", study="s", trial=1, value=2.0)
            assert "A stored result stays as it is" in other_value
            assert "add_result() stores another measurement" in other_value
            assert "correct observation" not in other_value
            with pytest.raises(MCPError, match="studies\\(\\) lists"):
                await agent.read("adabkb://studies/nothing/report")

    asyncio.run(session())


@pytest.mark.long
def test_the_refusal_of_a_read_only_token_says_so(guarded: tuple[str, str, str]) -> None:
    address, working, reading = guarded

    async def session() -> None:
        async with in_process(address, token=working) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
        async with in_process(address, token=reading) as agent:
            assert (await agent.call("info", study="s"))["state"] == "running"
            refusals = [
                await agent.refusal("suggest", study="s"),
                await agent.refusal("pause", study="s"),
                await agent.refusal("create_study", study="t", parameters=SPACE, direction="minimize"),
            ]
        for told in refusals:
            assert "does not allow this call" in told
            assert "403" in told

    asyncio.run(session())


@pytest.mark.parametrize("sessions", [2, pytest.param(3, marks=pytest.mark.long)])
def test_the_token_is_in_no_answer_and_in_no_log(guarded: tuple[str, str, str], sessions: int) -> None:
    address, working, _ = guarded
    unknown = secrets.mint().token

    async def answers(agent: Agent) -> str:
        """Everything that an agent is told."""
        told = [(await agent.client.list_tools()).model_dump_json()]
        for tool in ("studies", "info", "suggest"):
            arguments = {} if tool == "studies" else {"study": "s"}
            told.append((await agent.client.call_tool(tool, arguments)).model_dump_json())
        for uri in ("adabkb://studies", "adabkb://studies/s/report"):
            try:
                told.append(await agent.read(uri))
            except MCPError as error:
                told.append(str(error))
        return "\n".join(told)

    async def accepted(token: str, url: str) -> str:
        async with in_process(url, token=token) as agent:
            return await answers(agent)

    async def logged(token: str, url: str) -> str:
        async with over_stdio(url, "--retry-for", "0", token=token) as agent:
            return "\n".join([await answers(agent), agent.logged()])

    down = f"http://127.0.0.1:{free_port()}"
    for session, token, url, expected in [
        (accepted, working, address, "study_not_found"),
        (logged, unknown, address, "is missing or not valid"),
        (logged, working, down, "no server answers"),
    ][:sessions]:
        told = asyncio.run(session(token, url))
        assert expected in told
        assert token not in told
        assert token[-12:] not in told


@pytest.mark.long
def test_a_stopped_server_is_reported_and_found_again(other_sqlite: str) -> None:
    port = free_port()

    async def session() -> None:
        async with over_stdio(f"http://127.0.0.1:{port}", "--retry-for", "0") as agent:
            told = await agent.refusal("create_study", study="s", parameters=SPACE, direction="minimize", key="k")
            assert f"no server answers at http://127.0.0.1:{port}" in told
            assert "The outcome of this call is unknown." in told
            assert "same key" in told
            told = await agent.refusal("info", study="s")
            assert told.endswith(" Call again later.")
            assert "outcome" not in told
            app = create_app(Settings(database=other_sqlite, model_processes=0))
            with serving(app, port):
                await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", key="k")

    asyncio.run(session())


@pytest.mark.long
def test_without_the_extra_the_command_names_the_package_to_install(tmp_path: Path) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = table["optional-dependencies"]
    done = adabkb(installed(tmp_path, ["adabkb-client"] + extras["cli"]), "mcp")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: this command needs the package mcp; install it: pip install 'adabkb-service[mcp]'\n"


@pytest.mark.long
def test_the_extra_is_enough_to_start_it(tmp_path: Path) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done = adabkb(installed(tmp_path, ["adabkb-client"] + table["optional-dependencies"]["mcp"]), "mcp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
