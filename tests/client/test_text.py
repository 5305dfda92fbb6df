"""What a console shows: one line for a study, a best result and a run; a table for importances and lists."""

import logging
from pathlib import Path

import pytest

from adabkb_client import Client, Float, Importance, ParameterImportance, Recommendation, Study
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
    assert repr(report.recommendation).startswith("<Recommendation: by the model ")
    assert "; observed best 4.5 at C=6, gamma=0.75" in repr(report.recommendation)
    assert repr(Recommendation(None, None, None)) == "<Recommendation: none yet>"


def test_importances_are_a_table_with_the_largest_first() -> None:
    small, large = ParameterImportance("b", 0.1, 0.02, 0.2, 0.03), ParameterImportance("long", 0.7, 0.01, 0.8, 0.01)
    assert repr(Importance(30, 1.5, (small, large), None)).splitlines() == [
        "Importance by 30 results",
        "parameter  alone        with others",
        "long       0.70 ± 0.01  0.80 ± 0.01",
        "b          0.10 ± 0.02  0.20 ± 0.03",
    ]
    assert repr(Importance(2, None, (), "too_few_results")) == "<Importance: none (too_few_results), 2 results>"


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
    assert [trial.number for trial in trials] == [1, 2, 3]  # it is not used up
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
