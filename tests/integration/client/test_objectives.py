"""Several objectives in the clients and the command line: reported, shown, imported, and returned by functions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from adabkb_client import AsyncClient, Client, Float, Invalid, Study, StudyObjective
from tests.integration.cli.shell import adabkb

OBJECTIVES: list[StudyObjective] = [
    {"metric": "near", "direction": "minimize", "reference": 4},
    {"metric": "far", "direction": "minimize"},
]


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 2)}, objectives=OBJECTIVES, seed=1)


def evaluate(x: float) -> dict[str, Any]:
    return {"metrics": {"near": x * x, "far": (x - 2) ** 2}, "std_errors": {"near": 0.125}}


def test_a_run_finds_a_front_and_every_answer_does_without_a_value(study: Study) -> None:
    report = study.run(evaluate, n_trials=8, progress=False)
    found, info = study.front(), study.info()
    assert (study.best(), info.direction, report.recommendation.front) == (None, None, found.model)
    assert info.objectives == ({**OBJECTIVES[0], "reference": 4.0}, OBJECTIVES[1])
    assert found.reference["near"] == 4.0
    assert found.hypervolume == found.history[-1].hypervolume
    assert len(found.observed) > 4
    assert found.model[0].metrics["near"].std >= 0.0
    assert all(row.value is None and row.metrics for row in study.observations())
    (there,) = study.predict([{"x": 1.0}])
    assert there.mean is None
    assert there.metrics is not None
    assert there.metrics["far"].mean == pytest.approx(1.0, abs=0.3)
    assert study.importance("near").parameters[0].total == pytest.approx(1.0, abs=0.1)
    assert "near" in study._repr_html_()
    assert "near" in report.recommendation._repr_html_()
    assert len(study.to_frame()) == 8
    for draw in (study.plot.history, study.plot.slice, study.plot.parallel, study.plot.importance, study.plot.leaves):
        assert draw(metric="far").axes
        with pytest.raises(ValueError, match=r"one of \['near', 'far'\]"):
            draw()
    drawn = study.plot.front()
    assert isinstance(drawn, Figure)
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in drawn.axes] == [("near", "far")]
    with pytest.raises(ValueError, match="two objectives"):
        study.plot.front("near", "near")


def test_they_are_imported_corrected_and_refused_with_a_value(client: Client, study: Study, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("x,near,metrics.far,std_errors.near\n1,1,1,0.5\n1.5,low,2,\n")
    report = study.import_results(file, progress=False)
    assert (report.stored, [error.field for error in report.errors]) == (1, ["near"])
    assert study.import_results(file, progress=False).repeated == 1
    file.write_text(study.export("csv"))
    other = client.create_study("t", {"x": Float(0, 2)}, objectives=OBJECTIVES)
    assert other.import_results(file, progress=False).stored == 1
    study.correct(1, metrics={"near": 2.0})
    assert [row.metrics for row in study.observations()] == [{"near": 2.0, "far": 1.0}]
    with pytest.raises(Invalid, match="several objectives"):
        study.add_result({"x": 1.0}, 1.0, metrics={"near": 1, "far": 1})
    with pytest.raises(Invalid, match="far"):
        study.add_result({"x": 1.0}, metrics={"near": 1})
    with pytest.raises(Invalid, match="direction: is required"):
        client.create_study("u", {"x": Float(0, 2)})


@pytest.mark.long
def test_an_async_client_has_them_too(server: str, study: Study) -> None:
    async def work() -> int:
        async with AsyncClient(server) as client:
            remote = await client.study("s")
            async with remote.trial() as trial:
                await trial.observe(metrics={"near": 1.0, "far": 2})

            async def function(x: float) -> dict[str, Any]:
                return evaluate(x)

            await remote.run(function, n_trials=1, progress=False)
            return len((await remote.front()).model)

    assert asyncio.run(work()) >= 1
    assert study.info().counts.completed == 2


@pytest.mark.long
def test_the_command_line_tells_and_shows_them(server: str, study: Study) -> None:
    at = ("--url", server)
    study.suggest()
    said = adabkb("result", "observe", "s", "1", "--metric", "near=3.0", "--metric", "far=1", *at)
    assert "adabkb study front s" in adabkb("study", "show", "s", *at)
    assert "completed" in said
    program = 'echo \'{"metrics": {"near": 0.5, "far": 2}}\''
    adabkb("run", "s", "--n-trials", "1", *at, "--", "sh", "-c", program.replace("{", "{{").replace("}", "}}"))
    said = adabkb("study", "front", "s", *at)
    assert "observation 1: near=3 far=1" in said
    assert "on the front with probability" in said
    assert "hypervolume: 1, up to near=4 far=2" in said
    assert "on the front" in adabkb("study", "recommendation", "s", *at)
    results = adabkb("result", "list", "s", *at).splitlines()
    assert results[0].split()[:4] == ["observation", "trial", "near", "far"]
    assert results[1].split()[:4] == ["1", "1", "3", "1"]
    assert "near=" in adabkb("model", "predict", "s", "x=1", *at)
    assert "far lower" in adabkb("model", "slice", "s", "x", *at)
    assert "near" in adabkb("trial", "list", "s", *at).splitlines()[0].split()
    adabkb("model", "partition", "s", "--metric", "far", *at)
    adabkb("trial", "why", "s", "2", *at)
    assert (
        json.loads(adabkb("model", "importance", "s", "--metric", "far", *at, "--json"))["reason"] == "too_few_results"
    )
