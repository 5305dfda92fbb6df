"""The result of ``minimize`` as a frame, in a notebook, and as a source of results of a study."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from adabkb_client import AshaRule, Categorical, Client, Fixed, Float, LeasedTrial, Parameter, PatienceRule, Study
from adabkb_integrations.inprocess import RunningTrial, maximize, minimize

SPACE: dict[str, Parameter] = {
    "layers": Categorical([[64], [64, 64]]),
    "x": Float(0, 1),
    "kind": Categorical([None, "<i>"]),
    "slope": Float(1, 2, when={"kind": [None]}),
    "unused": Fixed("y", when={"kind": ["<i>"]}),
}
WITH_METRICS: dict[str, Any] = {
    "metrics": ["size", "time"],
    "outcome_constraints": [{"metric": "size", "upper": 9}],
    "plates": {"size": 2, "shared": ["kind"]},
}
SEVERAL: dict[str, Any] = {
    "objectives": [{"metric": "error", "direction": "minimize"}, {"metric": "gain", "direction": "maximize"}]
}


def loss(layers: tuple[int, ...], x: float, kind: str | None, slope: float = 1.0, unused: str = "") -> Any:
    if kind is None and x > 0.4:
        raise ArithmeticError(f"too steep{unused}: <b>{slope:.1f}</b>")
    return {"value": x * slope + len(layers), "std_error": 0.125}


def measured(x: float, **parameters: Any) -> Any:
    if x > 0.8:
        raise ArithmeticError
    return {
        "value": loss(x=x / 4, **parameters)["value"],
        "metrics": {"size": 10 * x, "time": 1.0},
        "std_errors": {"size": 0.5},
    }


def two(x: float, **parameters: Any) -> Any:
    return {"metrics": {"error": loss(x=x / 4, **parameters)["value"], "gain": x}}


def partly(x: float, kind: str | None, **_: Any) -> Any:
    return {"metrics": {"size": x}, "partial": True} if kind is None else {"value": x, "metrics": {"size": x}}


def trained(trial: RunningTrial | LeasedTrial) -> float:
    x: float = trial.parameters["x"]
    for step in range(1, 10):
        if trial.report(step, x + 1.0):
            break
    return x


def _exported(study: Study) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(study.export("csv")))


CASES = [
    pytest.param(loss, {}, id="failures and conditions"),
    pytest.param(measured, WITH_METRICS, id="metrics and plates"),
    pytest.param(two, SEVERAL, id="several objectives"),
    pytest.param(partly, {"metrics": ["size"]}, id="partial results"),
]


@pytest.mark.parametrize(("function", "options"), CASES)
def test_the_frame_is_that_of_a_study(function: Any, options: dict[str, Any], client: Client) -> None:
    found = minimize(function, SPACE, 10, seed=3, progress=False, max_failures=99, **options)
    direction: Any = None if "objectives" in options else "minimize"
    study = client.create_study(None, SPACE, direction=direction, budget=10, seed=3, **options)
    study.run(function, progress=False, max_failures=99)
    frame, expected = found.to_frame(), study.to_frame()
    assert list(frame.columns) == [name for name in expected.columns if name in set(frame.columns)]
    left_out = set(expected.columns) - set(frame.columns)
    assert not {name for name in left_out if "." in name or name in ("value", "std_error", "plate")}
    pd.testing.assert_frame_equal(frame, expected[list(frame.columns)])


@pytest.mark.parametrize("rule", [PatienceRule(9, no_gain_for=1), AshaRule(9)], ids=["with results", "with estimates"])
def test_the_frame_of_stopped_trials_is_that_of_a_study_and_of_its_export(rule: Any, client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1)}
    found = minimize(trained, space, 6, early_stopping=rule, pass_trial=True, seed=1, progress=False)
    study = client.create_study(None, space, direction="minimize", budget=6, seed=1, early_stopping=rule)
    study.run(trained, pass_trial=True, progress=False)
    frame, expected = found.to_frame(), study.to_frame()
    assert "stopped" in set(frame["state"])
    pd.testing.assert_frame_equal(frame, expected[list(frame.columns)])
    assert expected["value"].tolist() == pytest.approx(_exported(study)["value"].tolist(), nan_ok=True)


@pytest.mark.parametrize(("function", "options"), CASES)
@pytest.mark.parametrize("source", ["result", "frame"])
def test_a_study_imports_a_result_once(source: str, function: Any, options: dict[str, Any], client: Client) -> None:
    found = minimize(function, SPACE, 10, seed=3, progress=False, max_failures=99, **options)
    direction: Any = None if "objectives" in options else "minimize"
    study = client.create_study(None, SPACE, direction=direction, budget=3, **options)
    given = found if source == "result" else found.to_frame()
    report = study.import_results(given, progress=False)
    assert (report.stored, report.errors) == (10, ())
    results = [trial for trial in found.trials if trial.has_result]
    stored = [
        (dict(each.parameters), each.value, each.std_error or None, each.metrics, each.std_errors or None, each.plate)
        for each in study.observations()
    ]
    assert stored == [
        (dict(each.parameters), each.value, each.std_error, each.metrics, each.std_errors, each.plate)
        for each in results
    ]
    failures = [(dict(each.parameters), each.reason) for each in study.trials("failed")]
    assert failures == [(dict(each.parameters), each.reason) for each in found.trials if each.state == "failed"]
    assert study.import_results(given, progress=False).repeated == 10


def test_a_study_imports_stopped_trials_that_have_results(client: Client) -> None:
    """Under rules that compare trials, a stopped trial has an estimate instead."""

    space: dict[str, Parameter] = {"x": Float(0, 1)}
    for number, rule in enumerate([PatienceRule(9, no_gain_for=1), AshaRule(9)]):
        found = minimize(trained, space, 6, early_stopping=rule, pass_trial=True, seed=1, progress=False)  # type: ignore[arg-type]
        results = [trial for trial in found.trials if trial.has_result]
        assert any(trial.state == "stopped" for trial in found.trials)
        study = client.create_study(f"stopped-{number}", space, direction="minimize")
        report = study.import_results(found, progress=False)
        assert report.stored == len(results)
        assert [each.value for each in study.observations()] == [each.value for each in results]
        assert report.left_out == (
            {"stopped": len(found.trials) - len(results)} if len(results) < len(found.trials) else {}
        )


def test_a_result_of_another_direction_is_refused(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1)}
    study = client.create_study("least", space, direction="minimize")
    with pytest.raises(ValueError, match="the search has the direction maximize, but study 'least' has minimize"):
        study.import_results(maximize(lambda x: x, space, 2, progress=False), progress=False)


def test_a_frame_without_trials_has_all_columns() -> None:
    found = minimize(lambda **_: 1.0, SPACE, 1, progress=False)
    none = replace(found, trials=(), best=None, recommended=None)
    assert list(none.to_frame().columns) == list(found.to_frame().columns)
    assert "parameters.slope" in none.to_frame()
    assert none._repr_html_() == "<b>minimize</b>: 0 trials, budgetThere are none."


def test_a_notebook_shows_the_best_trial_and_all_trials_as_escaped_text() -> None:
    found = minimize(loss, SPACE, 10, seed=3, progress=False)
    page = found._repr_html_()
    assert page.startswith("<b>minimize</b>: 10 trials, ")
    assert page.count("<table") == 2
    assert page.count("<tr>") == 10 + 2 + 2  # trials, chosen trials, headers
    assert "<td>best</td>" in page
    assert "<td>recommended</td>" in page
    assert "&lt;b&gt;" in page
    assert "&lt;i&gt;" in page
    assert not {"<i>", "<th>plate</th>"} & {text for text in ("<i>", "<th>plate</th>") if text in page}
    front = minimize(two, SPACE, 6, progress=False, **SEVERAL)
    assert front._repr_html_().count("<td>front</td>") == len(front.front)
    many = minimize(lambda x: x, {"x": Float(0, 1)}, 51, algorithm={"kind": "random"}, progress=False)
    assert many._repr_html_().endswith("The first 50; there are more.")
