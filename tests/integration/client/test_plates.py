"""Plates through the client and through the tools for agents."""

from __future__ import annotations

import asyncio
import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabkb_client import (
    AsyncClient,
    Categorical,
    Client,
    Float,
    Invalid,
    NoTrialAvailable,
    Ordinal,
    Parameter,
    Plates,
    StudyComplete,
)
from tests.integration.client.mcp.agents import in_process

SPACE: dict[str, Parameter] = {
    "temperature": Ordinal([60, 80, 100]),
    "ligand": Categorical(["A", "B", "C", "D"]),
    "equivalents": Float(1, 3),
}
PLATES: Plates = {"size": 6, "shared": ["temperature"]}


def test_plates_are_suggested_and_reported_trial_by_trial(client: Client) -> None:
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


def test_a_budget_in_plates_limits_plates_for_both_clients(client: Client) -> None:
    study = client.create_study(
        "few", SPACE, direction="maximize", budget={"plates": 1}, plates={"size": 3, "shared": ["ligand"]}
    )
    assert (study.info().budget, study.info().plate_budget, study.info().counts.plates) == ({"plates": 1}, 1, 0)
    first = study.suggest(1)
    with pytest.raises(NoTrialAvailable, match="allows no other plate; call suggest with plate='open'"):
        study.suggest(plate="new")
    study.observe(first[0], 1.0)
    study.run(lambda temperature, ligand, equivalents: equivalents + temperature + len(ligand), progress=False)
    assert [trial.plate for trial in study.trials()] == [1] * 3
    assert "3 trials completed, plate 1 of 1" in repr(study.info())
    assert study.info().state == "complete"

    async def raised() -> int | None:
        async with AsyncClient(client.url) as other:
            same = await other.study("few")
            await same.update(budget={"plates": 2})
            await same.suggest(plate="open")
            return (await same.info()).counts.plates

    assert asyncio.run(raised()) == 2
    with pytest.raises(Invalid, match="this study has none"):
        client.create_study("flat", SPACE, direction="maximize", budget={"plates": 1})


def test_a_run_with_fixed_values_ends_when_the_budget_allows_no_plate_for_them(client: Client) -> None:
    """The last plate has room, but only for points with its own ligand."""
    plates: Plates = {"size": 3, "shared": ["ligand"]}
    study = client.create_study("one", SPACE, direction="maximize", budget={"plates": 1}, plates=plates)
    study.observe(study.suggest(1, fixed={"ligand": "A"})[0], 1.0)
    report = study.run(lambda **_: 1.0, fixed={"ligand": "C"}, progress=False)
    assert (report.completed, report.reason, study.info().state) == (0, "no_plate_left", "running")
    assert study.run(lambda **_: 1.0, progress=False).reason == "budget"


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


def test_own_points_are_on_plates_where_the_user_says_so(client: Client) -> None:
    study = client.create_study("own", SPACE, direction="maximize", plates=PLATES)
    control = {"temperature": 80, "ligand": "A", "equivalents": 2.0}
    stored = study.add_result(control, 40.0, plate=np.int64(2)).observation  # type: ignore[arg-type]
    assert stored is not None
    assert stored.plate == 2
    assert study.queue(control, plate="open").plate == 3
    assert [trial.plate for trial in study.repeat(control, 2, plate="open")] == [3, 3]
    plate = study.suggest(plate="open")
    assert [(trial.plate, trial.parameters["temperature"]) for trial in plate] == [(3, 80)] * 6
    assert [dict(trial.parameters) for trial in plate[:3]] == [control] * 3
    with pytest.raises(Invalid, match="parameter 'temperature': is 60, but plate 2 has 80"):
        study.add_result({**control, "temperature": 60}, 1.0, plate=2)
    with pytest.raises(TypeError):
        study.add_result(control, 1.0, plate="second")  # type: ignore[arg-type]

    async def same() -> list[int | None]:
        async with AsyncClient(client.url) as other:
            mine = await other.study("own")
            told = await mine.add_result(control, 41.0, plate=2)
            queued = [await mine.queue(control, plate="new"), *(await mine.repeat(control, plate="open"))]
            assert told.observation is not None
            return [told.observation.plate, *(trial.plate for trial in queued)]

    assert asyncio.run(same()) == [2, 4, 4]


@pytest.mark.parametrize(
    "name", ["export.csv", *(pytest.param(name, marks=pytest.mark.long) for name in ("export.xlsx", "frame"))]
)
def test_exports_give_plates_back(client: Client, tmp_path: Path, name: str) -> None:
    study = client.create_study("first", SPACE, direction="maximize", plates=PLATES, seed=1)
    control = {"temperature": 80, "ligand": "A", "equivalents": 2.0}
    for plate in (4, 9, None):
        study.add_result(control, 40.0, plate=plate)
    for trial in study.suggest(plate="open"):
        study.observe(trial, trial.parameters["equivalents"])
    source: Any = tmp_path / name
    if name == "frame":
        source = study.to_frame()
    elif name == "export.csv":
        source.write_text(study.export("csv"))
    else:
        source.write_bytes(study.export_excel())
    again = client.create_study("again", SPACE, direction="maximize", plates=PLATES)
    report = again.import_results(source)
    assert (report.stored, report.errors) == (9, ())
    assert "plate" not in report.unused
    assert sorted(str(each.plate) for each in again.observations()) == sorted(["4", "9", "None", *["10"] * 6])
    assert again.import_results(source).repeated == 9
    assert again.suggest().plate == 11
    plain = client.create_study("plain", SPACE, direction="maximize")
    assert plain.import_results(source).unused[:1] != ()
    assert {each.plate for each in plain.observations()} == {None}


def test_the_plates_of_a_table_are_consistent_integers(client: Client) -> None:
    study = client.create_study("table", SPACE, direction="maximize", plates=PLATES)
    row = {"temperature": 80, "ligand": "A", "equivalents": 2.0, "value": 1.0}
    rows = [{**row, "run": cell} for cell in (1, "2", 3.0, "", None, 1.5, "b", 0)]
    report = study.import_results([*rows, {**row, "temperature": 60, "run": 1}], plate="run")
    assert [(error.row, error.field) for error in report.errors] == [
        (5, "plate"),
        (6, "plate"),
        (7, "plate"),
        (8, "temperature"),
    ]
    assert report.errors[0].problem == "must be a whole number from 1 to 1,000,000,000, not 1.5"
    assert [each.plate for each in study.observations()] == [1, 2, 3, None, None]
    with pytest.raises(ValueError, match="there is no column for the plate"):
        study.import_results(rows, plate="batch")
    plain = client.create_study("plain", SPACE, direction="maximize")
    assert {error.field for error in plain.import_results(rows[:1], plate="run").errors} == {"plate"}


def test_a_study_without_plates_issues_none(client: Client) -> None:
    study = client.create_study("plain", SPACE, direction="maximize")
    with pytest.raises(Invalid, match="this one has none"):
        study.suggest(plate="open")
    assert study.info().counts.trials == 0
    with pytest.raises(TypeError, match="plates must be a dict such as"):
        client.create_study("wrong", SPACE, direction="maximize", plates=24)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="is not a parameter of this study"):
        client.create_study("wrong", SPACE, direction="maximize", plates={"size": 4, "shared": ["heat"]})


@pytest.mark.long
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
            await agent.call("add_result", study="s", parameters={"heat": 50, "dose": 0.5}, value=0.25, plate=7)
            queued = await agent.call("queue", study="s", parameters={"heat": 50, "dose": 0.5}, plate="new")
            assert (queued["state"], queued["plate"]) == ("queued", 8)
            again = await agent.call("repeat", study="s", point=queued["trial"], times=2, plate="new")
            assert [(each["parameters"], each["plate"]) for each in again["trials"]] == [(queued["parameters"], 9)] * 2

    asyncio.run(session())
    with Client(server) as client:
        assert [each.plate for each in client.study("s").observations()] == [7]
