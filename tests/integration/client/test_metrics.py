"""Metrics in the clients and the command line: reported, shown, imported, and returned by functions and programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import AsyncClient, Client, Conflict, Float, Invalid, Study
from tests.integration.cli.shell import adabkb

METRICS: dict[str, Any] = {"metrics": ["size"], "outcome_constraints": [{"metric": "cost", "upper": 1.0}]}


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 2)}, direction="maximize", seed=1, **METRICS)


def evaluate(x: float) -> dict[str, Any]:
    return {"value": x, "metrics": {"cost": x * x, "size": 1}, "std_errors": {"cost": 0.125}}


def test_a_run_keeps_to_the_bound_and_a_recommendation_says_how_surely(study: Study) -> None:
    study.run(evaluate, n_trials=12, progress=False)
    best, info = study.best(), study.info()
    assert best is not None
    assert (best.feasible, best.violations) == (True, {})
    assert 0.7 < best.value <= 1.0
    assert info.metrics == ("size", "cost")
    found = study.recommendation(feasible_probability=0.5)
    assert found.model is not None
    assert found.model.metrics is not None
    assert found.model.metrics["cost"].mean < 1.2
    assert (found.required_probability, found.reason) == (0.5, None)
    assert {row.std_errors["cost"] for row in study.observations() if row.std_errors} == {0.125}
    last = list(study.trials())[-1]
    assert last.expected is not None
    assert last.expected.metrics is not None
    assert last.expected.metrics["size"].mean == pytest.approx(1.0)
    (there,) = study.predict([{"x": 1.9}])
    assert (there.feasible_probability or 0.0) < 0.2


def test_results_with_metrics_are_reported_corrected_and_imported(client: Client, study: Study, tmp_path: Path) -> None:
    with study.trial() as trial:
        trial.observe(3.0, metrics={"cost": 2.5, "size": 1})
    assert study.recommendation().reason == "nothing_feasible"
    assert "satisfies all outcome constraints" in study._repr_html_()
    study.correct(1, 3.0, metrics={"cost": 0.5})
    file = tmp_path / "results.csv"
    file.write_text("x,value,cost,metrics.size,std_errors.cost\n1,4,0.25,2,0.5\n1.5,5,low,2,\n")
    report = study.import_results(file, progress=False)
    assert (report.stored, [error.field for error in report.errors]) == (1, ["cost"])
    assert study.import_results(file, progress=False).repeated == 1
    file.write_text(study.export("csv"))
    other = client.create_study("t", {"x": Float(0, 2)}, direction="maximize", **METRICS)
    assert other.import_results(file, progress=False).stored == 2
    rows = [(row.value, row.metrics, row.std_errors) for row in other.observations()]
    assert rows == [(row.value, row.metrics, row.std_errors) for row in study.observations()]
    with pytest.raises(Invalid, match="cost"):
        study.add_result({"x": 1.0}, 1.0, metrics={"size": 1})
    with pytest.raises(Conflict, match="cost"):
        study.observe(1, 3.0, metrics={"cost": 0.75, "size": 1})


@pytest.mark.long
def test_an_async_client_tells_them_too(server: str, study: Study) -> None:
    async def work() -> None:
        async with AsyncClient(server) as client:
            remote = await client.study("s")
            async with remote.trial() as trial:
                await trial.observe(1.0, metrics={"cost": 1.0, "size": 2}, std_errors={"size": 0.5})

            async def function(x: float) -> dict[str, Any]:
                return evaluate(x)

            await remote.run(function, n_trials=1, progress=False)

    asyncio.run(work())
    assert [row.std_errors for row in study.observations()] == [{"size": 0.5}, {"cost": 0.125}]


def test_without_outcome_constraints_no_text_calls_a_point_feasible(server: str, client: Client) -> None:
    study = client.create_study("free", {"x": Float(0, 1)}, direction="maximize", metrics=["purity"], seed=1)
    for _ in range(3):
        trial = study.suggest()
        study.observe(trial, trial.parameters["x"], metrics={"purity": 0.8})
    last = study.suggest()
    at = ("--url", server)
    for command in (("study", "recommendation", "free"), ("model", "predict", "free", "x=1")):
        said = adabkb(*command, *at)
        assert "purity=" in said
        assert "feasible" not in said
    decision = study.why(last)["decision"]
    assert decision is not None
    assert "outcome constraints" not in decision["in_words"]


def test_the_command_line_tells_and_shows_them(server: str, study: Study) -> None:
    at = ("--url", server)
    study.suggest()
    metrics = ("--metric", "cost=2.0", "--metric", "size=1", "--metric-std-error", "cost=0.5")
    said = adabkb("result", "observe", "s", "1", "3", *metrics, *at)
    assert "none satisfies the outcome constraints; nearest 3 (size=1 cost=2)" in said
    early = adabkb("study", "recommendation", "s", *at)
    assert early.startswith("No result satisfies all outcome constraints; these points come closest.")
    assert "beyond the bounds by: cost=1\n" in early
    assert "beyond the bounds by: cost=1\n" in adabkb("study", "recommendation", "s", *at)
    adabkb("result", "correct", "s", "1", "3", "--metric", "cost=0.5", *at)
    header, line = adabkb("result", "list", "s", *at).splitlines()
    assert dict(zip(header.split(), line.split(), strict=True)).items() >= {("size", "1"), ("cost", "0.5")}
    assert "feasible with probability" in adabkb("model", "predict", "s", "x=1", *at)
    said = adabkb("study", "recommendation", "s", "--feasible-probability", "0.5", *at, "--json")
    assert json.loads(said)["required_probability"] == 0.5
    program = 'echo \'{"value": 1, "metrics": {"cost": 0.5, "size": 2}}\''
    adabkb("run", "s", "--n-trials", "1", *at, "--", "sh", "-c", program.replace("{", "{{").replace("}", "}}"))
    assert [trial.metrics for trial in study.trials()][-1] == {"size": 2.0, "cost": 0.5}


@pytest.mark.parametrize(
    "returned", [{"std_errors": {"cost": 1}}, {"value": 1, "cost": 2}, {"value": 1, "metrics": {"cost": "low"}}]
)
def test_a_dict_that_is_no_result_is_a_mistake_of_the_program(study: Study, returned: Any) -> None:
    with pytest.raises(TypeError, match=r"return a result such as"):
        study.run(lambda **_: returned, progress=False)


def test_no_answer_calls_a_point_feasible_where_metrics_have_no_bounds(client: Client) -> None:
    study = client.create_study("free", {"x": Float(0, 1)}, direction="maximize", metrics=["ms"], seed=1)
    study.run(lambda x: {"value": x, "metrics": {"ms": x}}, n_trials=6)
    [predicted] = study.predict([{"x": 0.5}])
    assert predicted.feasible_probability is None
    model = study.recommendation().model
    assert model is not None
    assert model.feasible_probability is None
    trial = study.suggest()
    assert "feasible_probability" not in str(study.why(trial))
    at = ("--url", client.url)
    assert "ms=" in adabkb("study", "recommendation", "free", *at)
    for command in (("study", "recommendation", "free"), ("model", "predict", "free", "x=0.5")):
        assert "feasible" not in adabkb(*command, *at)
