"""Consoles show a study, a best result and a run as one line, and lists as tables."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import Categorical, Client, Float, Importance, ParameterImportance, Recommendation, Study
from tests.servers import server_on


@pytest.fixture
def study(client: Client) -> Study:
    study = client.create_study("s", {"C": Float(0, 10), "gamma": Float(0, 1)}, direction="maximize", budget=4, seed=1)
    for x in (0.25, 0.75):
        study.queue({"C": 8 * x, "gamma": x})
    study.run(lambda C, gamma: C * gamma, n_trials=2, progress=False)
    study.fail(study.suggest(), "diverged")
    return study


def test_info_and_best_are_one_line(study: Study) -> None:
    assert repr(study.best()) == "<best 4.5 at C=6, gamma=0.75, trial 2>"
    assert repr(study.info()) == (
        "<Study 's': running, 2 of 4 trials completed, 1 failed, best 4.5 at C=6, gamma=0.75>"
    )


def test_a_report_and_a_recommendation_are_one_line(study: Study) -> None:
    report = study.run(lambda C, gamma: 0.0 * C * gamma, progress=False)
    shown = repr(report)
    assert shown == "<Run: 1 completed, 0 failed, ended by 'budget', best 4.5 at C=6, gamma=0.75>"
    assert repr(report.recommendation).startswith("<Recommendation (too_few_results): by the model ")
    assert "; observed best 4.5 at C=6, gamma=0.75" in repr(report.recommendation)
    assert repr(Recommendation(None, None, None)) == "<Recommendation: none yet>"


def test_points_of_the_model_are_one_line(client: Client) -> None:
    bounds = [{"metric": "size", "upper": 5.0}]
    options: Any = {"direction": "minimize", "metrics": ["size"], "outcome_constraints": bounds}
    study = client.create_study("bounded", {"x": Float(0, 1)}, **options)
    for x in (0.25, 0.5, 0.75):
        study.add_result({"x": x}, x, metrics={"size": 4 * x})
    size = r"\(size=\S+ ± \S+\), feasible with probability \S+"
    assert re.fullmatch(rf"<Estimate \S+ ± \S+ at x=\S+ {size}>", repr(study.recommendation().model))
    (predicted,) = study.predict([{"x": 0.5}])
    assert re.fullmatch(rf"<Prediction \S+ ± \S+, from \S+ to \S+ {size}>", repr(predicted))
    goals: Any = [{"metric": name, "direction": "minimize"} for name in ("cost", "loss")]
    several = client.create_study("several", {"x": Float(0, 1)}, objectives=goals)
    several.add_result({"x": 0.5}, metrics={"cost": 1.0, "loss": 2.0})
    several.add_result({"x": 0.75}, metrics={"cost": 2.0, "loss": 1.0})
    told = repr(several.recommendation().front[0])
    assert re.fullmatch(r"<FrontEstimate at x=\S+ \(cost=.*, loss=.*\), on the front with probability \S+>", told)


def test_importances_are_one_line_and_a_table_in_a_notebook_with_the_largest_first() -> None:
    small, large = ParameterImportance("b", 0.1, 0.02, 0.2, 0.03), ParameterImportance("long", 0.7, 0.01, 0.8, 0.01)
    found = Importance(30, 1.5, (small, large), None)
    assert repr(found) == "<Importance from 30 results: long 0.80, b 0.20>"
    assert "<td>long</td><td>0.70 ± 0.01</td><td>0.80 ± 0.01</td></tr><tr><td>b</td>" in found._repr_html_()
    assert repr(Importance(2, None, (), "too_few_results")) == "<Importance: none (too_few_results), 2 results>"


def test_trials_results_events_and_answers_are_one_line(study: Study) -> None:
    first, second, failed = study.trials()
    assert repr(first) == "<Trial 1 of 's': completed (0.5) at C=2, gamma=0.25>"
    assert repr(failed).startswith("<Trial 3 of 's': failed (diverged) at C=")
    assert repr(study.observations()[1]) == "<Observation 2 of trial 2: 4.5 at C=6, gamma=0.75>"
    excluded = study.exclude(1)
    assert repr(excluded.observation) == "<Observation 1 of trial 1: 0.5 at C=2, gamma=0.25, excluded>"
    assert repr(excluded).startswith(repr(excluded.observation) + " <Study 's': running, ")
    assert repr(study.events()[0]).startswith("<Event 1: created, 20")
    shown = [first, second, excluded, study.slice("C", points=3), study.predict([first.parameters])[0], study.access()]
    assert repr(study.slice("C", points=3)).startswith("<Slice from 1 results: 3 values of C at gamma=")
    assert all(len(repr(each).splitlines()) == 1 and len(repr(each)) < 250 for each in shown)


def test_the_choice_none_is_shown(client: Client) -> None:
    space = {"penalty": Categorical([None, "l2"]), "layers": Categorical([(64, 64), (128,)])}
    study = client.create_study("choices", space, direction="maximize")
    study.add_result({"penalty": None, "layers": (64, 64)}, 1.0)
    assert repr(study.best()) == "<best 1 at penalty=None, layers=(64, 64)>"


def test_lists_of_trials_and_studies_are_tables(client: Client, study: Study) -> None:
    trials = study.trials()
    header, first, *others = repr(trials).splitlines()
    assert header.split() == [
        "number",
        "state",
        "value",
        "parameters.C",
        "parameters.gamma",
        "worker",
        "attempt",
        "reason",
    ]
    assert first.split()[:5] == ["1", "completed", "0.5", "2", "0.25"]
    assert len(others) == 2
    assert [trial.number for trial in trials] == [1, 2, 3]  # the list can be read again
    header, line = repr(client.studies()).splitlines()
    assert header.split() == ["id", "state", "completed", "best"]
    assert line.split() == ["s", "running", "2", "of", "4", "4.5"]
    assert "<th>id</th><th>state</th>" in client.studies()._repr_html_()
    assert repr(client.trash()) == "There are none."
    assert [found.id for found in client.studies()] == ["s"]


def test_a_list_of_a_server_that_is_away_says_so_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with server_on(f"sqlite:///{tmp_path}/a.db") as address:
        client = Client(address)
    with client:
        assert "no server answers" in repr(client.studies())
    assert "Trying again" not in caplog.text
