"""Partial results in the clients, the command line, imports and exports."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import AsyncClient, Client, Conflict, Float, Invalid, Study
from tests.integration.cli.shell import adabkb

METRICS: dict[str, Any] = {"metrics": ["mass"], "outcome_constraints": [{"metric": "purity", "lower": 0.9}]}


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 2)}, direction="maximize", seed=1, **METRICS)


def numbers(study: Study) -> list[Any]:
    return [(row.value, row.metrics, row.missing) for row in study.observations()]


def test_a_result_is_reported_in_parts(study: Study) -> None:
    with study.trial() as trial:
        first = trial.observe(0.5, metrics={"mass": 2}, partial=True).observation
    assert first is not None
    assert first.missing == ("purity",)
    assert study.best() is None
    last = study.observe(1, metrics={"purity": 0.95}).observation
    assert last is not None
    assert (last.value, last.metrics, last.missing) == (0.5, {"mass": 2.0, "purity": 0.95}, ())
    with pytest.raises(Conflict):
        study.observe(1, metrics={"purity": 0.9})
    with pytest.raises(Invalid, match="partial"):
        study.add_result({"x": 1.0}, 1.0, metrics={"mass": 1})
    study.add_result({"x": 1.0}, 1.0, partial=True)
    assert study.observations()[1].missing == ("mass", "purity")
    study.correct(2, metrics={"purity": 1.0})
    assert study.observations()[1].missing == ("mass",)


def test_a_function_returns_what_it_knows(study: Study) -> None:
    study.run(lambda x: {"value": x, "partial": True}, n_trials=2, progress=False)
    with pytest.raises(TypeError, match="purity"):
        study.run(lambda x: {"value": x, "metrics": {"mass": 1}}, n_trials=1, progress=False)
    assert [missing for _, _, missing in numbers(study)] == [("mass", "purity")] * 2


def test_an_async_client_tells_parts_too(server: str, study: Study) -> None:
    async def work() -> None:
        async with AsyncClient(server) as client:
            remote = await client.study("s")
            async with remote.trial() as trial:
                await trial.observe(metrics={"purity": 0.95}, partial=True)
            await remote.observe(1, 0.5, metrics={"mass": 1.0})

    asyncio.run(work())
    assert numbers(study) == [(0.5, {"purity": 0.95, "mass": 1.0}, ())]


def test_the_command_line_tells_parts_and_names_what_is_missing(server: str, study: Study) -> None:
    at = ("--url", server)
    study.suggest()
    assert "completed; mass, purity missing" in adabkb("result", "observe", "s", "1", "0.5", "--partial", *at)
    assert "mass, purity missing" in adabkb("result", "list", "s", *at)
    adabkb("result", "observe", "s", "1", "--metric", "mass=1", "--metric", "purity=0.95", *at)
    assert "missing" not in adabkb("result", "list", "s", *at)
    adabkb("result", "add", "s", "1.0", "x=1", "--partial", *at)
    program = """echo '{{"value": 1, "metrics": {{"mass": 2}}, "partial": true}}'"""
    adabkb("run", "s", "--n-trials", "1", *at, "--", "sh", "-c", program)
    assert [missing for _, _, missing in numbers(study)] == [(), ("mass", "purity"), ("purity",)]


def test_an_empty_cell_is_filled_in_by_the_next_import(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("x,value,mass,purity\n0.5,1,2,\n0.5,1,2,\n1,,,0.95\n1.5,,,\n")
    report = study.import_results(file, progress=False)
    assert (report.stored, [error.row for error in report.errors]) == (3, [5] * 3)
    assert study.import_results(file, progress=False).repeated == 3
    study.correct(3, metrics={"purity": 0.97})
    file.write_text("x,value,mass,purity\n0.5,1,2,0.9\n0.5,1,2,\n1,3,1,0.95\n")
    trial_run = study.import_results(file, progress=False, dry_run=True)
    assert (len(trial_run.results), trial_run.repeated, len(study.observations())) == (2, 1, 3)
    report = study.import_results(file, progress=False)
    assert (report.stored, report.repeated) == (2, 1)
    filled = (1.0, {"mass": 2.0, "purity": 0.9}, ())
    assert sorted(numbers(study)[:2], key=str) == [filled, (1.0, {"mass": 2.0}, ("purity",))]
    assert numbers(study)[2] == (3.0, {"purity": 0.97, "mass": 1.0}, ())
    assert study.import_results(file, progress=False).repeated == 3


def test_a_partial_row_is_found_among_partial_results_first(study: Study, tmp_path: Path) -> None:
    """Otherwise it would match the complete result, and the complete row would complete the partial one."""
    study.add_result({"x": 0.5}, 1.0, metrics={"mass": 2.0, "purity": 0.9})
    study.add_result({"x": 0.5}, 1.0, metrics={"mass": 2.0}, partial=True)
    file = tmp_path / "results.csv"
    file.write_text("x,value,mass,purity\n0.5,1,2,\n0.5,1,2,0.9\n")
    before = numbers(study)
    assert study.import_results(file, progress=False).repeated == 2
    assert numbers(study) == before


def test_exports_have_empty_cells_and_come_back(client: Client, study: Study, tmp_path: Path) -> None:
    study.add_result({"x": 0.5}, 1.0, partial=True)
    study.add_result({"x": 1.0}, metrics={"purity": 0.95}, partial=True)
    file = tmp_path / "results.csv"
    file.write_text(study.export("csv"))
    other = client.create_study("t", {"x": Float(0, 2)}, direction="maximize", **METRICS)
    assert other.import_results(file, progress=False).stored == 2
    assert numbers(other) == numbers(study)
    lines = [json.loads(line) for line in study.export("jsonl").splitlines()]
    assert [line["missing"] for line in lines if line["type"] == "observation"] == [
        ["mass", "purity"],
        ["value", "mass"],
    ]


@pytest.mark.long
def test_figures_show_the_results_that_have_the_number(client: Client) -> None:
    names = ("near", "far")
    objectives: list[Any] = [{"metric": name, "direction": "minimize"} for name in names]
    study = client.create_study("f", {"x": Float(0, 2)}, objectives=objectives, seed=1)
    for x in (0.5, 1.0, 1.5):
        study.add_result({"x": x}, metrics={"near": x, "far": 2 - x})
    study.add_result({"x": 0.25}, metrics={"near": 0.25}, partial=True)
    study.add_result({"x": 0.75}, metrics={"far": 1.25}, partial=True)
    assert study.plot.front().axes
    for name in names:
        for draw in (study.plot.history, study.plot.parallel, study.plot.slice, study.plot.leaves):
            assert draw(metric=name).axes
    assert [point.observation for point in study.front().observed] == [1, 2, 3]
