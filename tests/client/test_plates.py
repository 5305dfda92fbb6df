"""Plates through the client, and the tools of agents."""

from __future__ import annotations

import asyncio
import csv
from io import StringIO
from typing import Any

import pytest

from adabkb_client import AsyncClient, Categorical, Client, Float, Invalid, Ordinal, Parameter, StudyComplete
from tests.client.mcp.agents import in_process

SPACE: dict[str, Parameter] = {
    "temperature": Ordinal([60, 80, 100]),
    "ligand": Categorical(["A", "B", "C", "D"]),
    "equivalents": Float(1, 3),
}
PLATES = {"size": 6, "shared": ["temperature"]}


def test_plates_are_asked_for_and_told_trial_by_trial(client: Client) -> None:
    study = client.create_study("coupling", SPACE, direction="maximize", budget=12, plates=PLATES, seed=1)
    assert study.info().plates == PLATES
    for plate in (1, 2):
        trials = study.suggest(plate="open")
        assert [trial.plate for trial in trials] == [plate] * 6
        assert len({trial.parameters["temperature"] for trial in trials}) == 1
        for trial in trials:
            study.observe(trial, trial.parameters["equivalents"])
    with pytest.raises(StudyComplete):
        study.suggest(plate="open")
    (header, first, *_) = csv.reader(StringIO(study.export("csv")))
    assert (header[:3], first[:3]) == (["trial", "state", "plate"], ["1", "completed", "1"])
    assert study.to_frame()["plate"].tolist() == [1] * 6 + [2] * 6


def test_a_run_fills_plates(client: Client) -> None:
    study = client.create_study("run", SPACE, direction="maximize", budget=9, plates={"size": 3, "shared": ["ligand"]})
    study.run(lambda temperature, ligand, equivalents: equivalents + temperature + len(ligand), progress=False)
    trials = list(study.trials())
    assert [trial.plate for trial in trials] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert len({(trial.plate, trial.parameters["ligand"]) for trial in trials}) == 3


def test_a_new_plate_begins_though_the_last_one_has_room(client: Client) -> None:
    study = client.create_study("days", SPACE, direction="maximize", plates=PLATES)
    assert study.suggest().plate == 1
    assert len(study.suggest(plate="open")) == 5
    assert [trial.plate for trial in study.suggest(2, plate="open")] == [2, 2]
    assert [trial.plate for trial in study.suggest(1, plate="new", fixed={"ligand": "C"})] == [3]

    async def ask() -> list[Any]:
        async with AsyncClient(client.url) as other:
            same = await other.study("days")
            return await same.suggest(plate="new")

    assert {trial.plate for trial in asyncio.run(ask())} == {4}


def test_a_study_without_plates_issues_none(client: Client) -> None:
    study = client.create_study("plain", SPACE, direction="maximize")
    with pytest.raises(Invalid, match="this one has none"):
        study.suggest(plate="open")
    assert study.info().counts.trials == 0
    with pytest.raises(TypeError, match="plates must be a dict such as"):
        client.create_study("wrong", SPACE, direction="maximize", plates=24)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="is not a parameter of this study"):
        client.create_study("wrong", SPACE, direction="maximize", plates={"size": 4, "shared": ["heat"]})


def test_an_agent_asks_for_a_plate(server: str) -> None:
    parameters = {
        "heat": {"kind": "float", "low": 20, "high": 90},
        "dose": {"kind": "float", "low": 0, "high": 1},
    }

    async def session() -> None:
        async with in_process(server) as agent:
            plates = {"size": 3, "shared": ["heat"]}
            await agent.call("create_study", study="s", parameters=parameters, direction="minimize", plates=plates)
            trials = (await agent.call("suggest", study="s", plate="open"))["trials"]
            assert [(trial["trial"], trial["plate"]) for trial in trials] == [(1, 1), (2, 1), (3, 1)]
            assert len({trial["parameters"]["heat"] for trial in trials}) == 1
            (one,) = (await agent.call("suggest", study="s"))["trials"]
            assert one["plate"] == 2
            assert (await agent.call("info", study="s"))["plates"] == plates

    asyncio.run(session())
