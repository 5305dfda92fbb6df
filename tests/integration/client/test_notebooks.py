"""Studies, lists and recommendations in notebooks: their HTML is escaped, and displaying them never raises."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from adabkb_client import Categorical, Client, Float, Link, Recommendation, Study
from tests.servers import server_on

POISON = "<script>alert('$x$ & \"y\"')</script>"


@pytest.fixture
def poisoned(client: Client) -> Study:
    study = client.create_study(
        "s", {POISON: Categorical([POISON, None]), "x": Float(0, 1)}, direction="minimize", seed=1
    )
    study.observe(study.suggest(worker=POISON), 0.5)
    study.fail(study.suggest(), POISON)
    study.add_result({POISON: None, "x": 0.25}, 0.125)
    return study


def test_nothing_of_the_users_becomes_markup(poisoned: Study) -> None:
    best = poisoned.recommendation()
    for shown in (poisoned, poisoned.trials(), poisoned.observations(), best):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert html.count("<table") == html.count('<table class="tex2jax_ignore mathjax_ignore"') > 0


def test_every_answer_prints_as_one_line_and_shows_as_a_table(poisoned: Study) -> None:
    trial = poisoned.suggest()
    info = poisoned.info()
    best, secret = info.best, "adabkb_secret"
    link = Link("1", None, None, secret)
    assert best is not None
    answers: list[Any] = [
        info,
        info.counts,
        best,
        trial,
        poisoned.release(trial),
        poisoned.access(),
        link,
        poisoned.assessment(),
        poisoned.validation(),
        poisoned.importance(),
        poisoned.slice("x", points=3),
        poisoned.recommendation(),
        poisoned.predict([{POISON: None, "x": 0.5}])[0],
        poisoned.observations()[0],
        poisoned.events()[0],
        poisoned.import_results([{POISON: "None", "x": 0.5, "value": 1.0}], progress=False),
    ]
    for answer in answers:
        assert "\n" not in repr(answer), answer
        html = answer._repr_html_()
        assert "<script" not in html, answer
        assert "<table" in html or "<pre>" in html or "none" in html.lower(), answer
    assert secret not in repr(link) + link._repr_html_()


def test_a_study_shows_how_far_it_has_come(poisoned: Study) -> None:
    html = poisoned._repr_html_()
    assert html.startswith("<b>Study s</b>: running")
    assert "<td>completed</td><td>1 trials, 0 active, 1 failed</td>" in html
    assert "<td>best</td><td>0.125</td>" in html


def test_a_list_is_shown_without_being_used_up(poisoned: Study) -> None:
    trials = poisoned.trials()
    html = trials._repr_html_()
    assert "<th>number</th><th>state</th><th>value</th>" in html
    assert html.count("<tr>") == 3
    assert [trial.number for trial in trials] == [1, 2]
    assert poisoned.trials("queued")._repr_html_() == "There are none."


def test_only_the_first_items_of_a_long_list_are_shown(client: Client) -> None:
    study = client.create_study("long", {"x": Float(0, 1)}, direction="minimize")
    study.observe_many([{"parameters": {"x": x / 100}, "value": x} for x in range(60)])
    found = study.observations()
    list(islice(found, 55))
    html = found._repr_html_()
    assert html.count("<tr>") == 51
    assert html.endswith("The first 50; there are more.")
    assert len(found) == 60


def test_a_recommendation_shows_both_points(poisoned: Study) -> None:
    html = poisoned.recommendation()._repr_html_()
    assert "<td>by the model</td><td>0.1" in html  # with two results, the noise is uncertain
    assert "<td>observed</td><td>0.125</td><td>None</td><td>0.25</td>" in html
    assert Recommendation(None, None, None)._repr_html_() == "There is no recommendation before the first result."


def test_an_unreachable_server_is_reported_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with server_on(f"sqlite:///{tmp_path}/a.db") as address:
        client = Client(address)
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
    with client:
        assert study._repr_html_().startswith(f"<b>Study s</b>: no server answers at {address}")
    assert "Trying again" not in caplog.text
    assert study._repr_html_() == "<b>Study s</b>: Cannot send a request, as the client has been closed."
