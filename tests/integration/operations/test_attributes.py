"""Attributes of trials: set by users, stored in the log, and ignored by the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adabkb_service.contract.attributes import merged
from adabkb_service.errors import Invalid, TrialNotFound
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.table import rows
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, annotate, correct, get, observe, queue, suggest

RFC_7396 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("before", "changes", "after"), RFC_7396)
def test_changes_are_merged_as_in_rfc_7396(
    before: dict[str, Any], changes: dict[str, Any], after: dict[str, Any]
) -> None:
    """The examples of RFC 7396 whose target and patch are objects."""
    assert merged(before, changes) == after


def suggested(running: Service) -> int:
    (trial,) = suggest(running, "s", Ask()).view.trials
    return trial.number


def found(running: Service, *attributes: tuple[str, str], limit: int = 100, after: int = 0) -> list[int]:
    trials = read.list_trials(running, "s", state=None, attributes=attributes, after=after, limit=limit).items
    return [trial.number for trial in trials]


def test_attributes_can_be_set_in_every_state_and_are_kept(running: Service, study: str) -> None:
    queue(running, study, {"x": 0.5, "y": 1.0})
    assert read.trial(running, study, 1).attributes == {}
    annotate(running, study, 1, {"plate": "a"})
    assert suggest(running, study, Ask()).view.trials[0].attributes == {"plate": "a"}
    annotate(running, study, 1, {"host": "n1"})
    completed = observe(running, study, Value(1.0, 1)).view.trial
    assert completed is not None
    assert completed.attributes == {"plate": "a", "host": "n1"}
    assert annotate(running, study, 1, {"plate": None, "good": True}).view.trial.attributes == {
        "host": "n1",
        "good": True,
    }
    failed = suggested(running)
    observe(running, study, Failure(failed))
    assert annotate(running, study, failed, {"core": "dump"}).view.trial.state == "failed"


def test_unchanged_attributes_create_no_event(running: Service, study: str) -> None:
    number = suggested(running)
    annotate(running, study, number, {"a": 1})
    before = get(running, study).revision
    annotate(running, study, number, {"a": 1, "b": None})
    assert get(running, study).revision == before
    annotate(running, study, number, {"a": True})
    assert read.trial(running, study, number).attributes == {"a": True}
    assert get(running, study).revision == before + 1


def test_attributes_do_not_affect_the_model(database: Database, clock: ManualClock) -> None:
    points = []
    for name in ("plain", "annotated"):
        running = Service(database, clock=clock)
        create(running, definition(id=name))
        for _ in range(4):
            (trial,) = suggest(running, name, Ask()).view.trials
            if name == "annotated":
                annotate(running, name, trial.number, {"note": trial.number})
            observe(running, name, Value(trial.parameters["x"], trial.number))
        points.append([trial.parameters for trial in suggest(running, name, Ask(3)).view.trials])
    assert points[0] == points[1]


def test_trials_are_found_by_their_attributes(running: Service, study: str) -> None:
    given: list[dict[str, Any]] = [
        {"host": "n1", "fold": 3},
        {"host": "n2", "fold": "3"},
        {"host": 'n"1', "fold": 30, "good": True},
    ]
    for number, attributes in enumerate([*given, {"inner": {"host": "n1"}}, {"host": "n1 é%_", "w": 1e-7}], 1):
        queue(running, study, {"x": 0.1 * number, "y": 1.0})
        annotate(running, study, number, attributes)
    assert found(running, ("host", "n1")) == [1]
    assert found(running, ("fold", "3")) == [1, 2]
    assert found(running, ("fold", "3"), ("host", "n2")) == [2]
    assert found(running, ("host", "n1"), ("host", "n2")) == []
    assert found(running, ("good", "true")) == [3]
    assert found(running, ("host", 'n"1')) == [3]
    assert found(running, ("host", "n1 é%_")) == [5]
    assert found(running, ("w", "1e-07")) == [5]
    assert found(running, ("inner", '{"host": "n1"}')) == [4]
    assert found(running, ("host", "n_")) == []
    annotate(running, study, 1, {"of": {"a": 1, "b": [True, None]}})
    assert found(running, ("of", '{"b": [true, null],"a":1}')) == [1]
    for nothing in ("_" * 30_000, "\0", "[" * 30_000, ""):
        assert found(running, ("host", nothing)) == []


def test_page_is_full_although_other_trials_look_alike(running: Service, study: str) -> None:
    for number in range(1, 9):
        queue(running, study, {"x": 0.1 * number, "y": 1.0})
        annotate(running, study, number, {"host": "n1"} if number > 5 else {"inner": {"host": "n1"}})
    assert found(running, ("host", "n1"), limit=2) == [6, 7]
    assert found(running, ("host", "n1"), limit=2, after=7) == [8]


def test_attributes_are_limited_in_size_but_not_in_changes(running: Service, study: str) -> None:
    number = suggested(running)
    for value in range(100):
        annotate(running, study, number, {"step": value, "text": "x" * 15_000})
    with pytest.raises(
        Invalid, match=f"16,384 bytes as JSON, not .* counting the existing attributes of trial {number}"
    ):
        annotate(running, study, number, {"more": "x" * 2_000})
    annotate(running, study, number, {"text": None, "more": "x" * 2_000})
    with pytest.raises(TrialNotFound):
        annotate(running, study, 99, {})


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"a": "x" * 20_000}, "must have at most 16,384 bytes"),
        ({"a:b": 1}, "without a colon, not 'a:b'"),
        ([], "cannot be applied"),
    ],
)
def test_export_with_invalid_attributes_is_rejected(running: Service, study: str, changes: object, what: str) -> None:
    annotate(running, study, suggested(running), {"a": "y"})
    lines = [json.loads(line) for line in json_lines(running, study)]
    for line in lines:
        if line["type"] == "event" and line["kind"] == "annotated":
            line["payload"]["attributes"] = changes
        if line["type"] == "trial" and isinstance(changes, dict):
            line["attributes"] = changes
    delete(running, study)
    with pytest.raises(Invalid, match=what):
        import_study(running.database, map(json.dumps, lines))


def test_export_from_a_version_without_attributes_is_imported(running: Service, study: str) -> None:
    suggested(running)
    lines = [json.loads(line) for line in json_lines(running, study)]
    for line in lines:
        line.pop("attributes", None)
    delete(running, study)
    import_study(running.database, map(json.dumps, lines))
    assert read.trial(running, study, 1).attributes == {}


@pytest.mark.long
def test_page_of_large_trials_ends_early_and_the_next_one_continues(running: Service, study: str) -> None:
    """A page has at most 8 MB; here, each trial has 16 kB."""
    for number in range(1, 603):
        queue(running, study, {"x": number / 1000.0, "y": 1.0})
        annotate(running, study, number, {"text": "x" * 16_000, "host": "n1" if number > 2 else ["n1"]})
    pages: list[list[int]] = []
    after: int | None = 0
    while after is not None:
        page = read.list_trials(running, study, state=None, attributes=[("host", "n1")], after=after, limit=1000)
        pages.append([trial.number for trial in page.items])
        after = page.after
    assert [number for page in pages for number in page] == list(range(3, 603))
    assert [len(page) > 500 for page in pages] == [True, False]


def test_results_without_a_trial_have_attributes(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, definition())
    observe(running, "s", Value(1.0, parameters={"x": 0.5, "y": 1.0}))
    observe(running, "s", Value(2.0, parameters={"x": 0.6, "y": 1.0}))
    observe(running, "s", Value(4.0, parameters={"x": 0.7, "y": 1.0}, attributes={"note": "cloudy"}))
    correct(running, "s", 1, {"attributes": {"note": "turbid", "by": {"ann": 1}}})
    correct(running, "s", 1, {"attributes": {"by": {"bob": 2}}, "value": 3.0})
    before = get(running, "s").revision
    correct(running, "s", 1, {"attributes": {"note": "turbid"}})
    assert get(running, "s").revision == before
    first, second, third = list_observations(running, "s", 0, 10).items
    assert (first.value, first.attributes) == (3.0, {"note": "turbid", "by": {"ann": 1, "bob": 2}})
    assert "attributes" not in json.loads(second.model_dump_json())
    assert third.attributes == {"note": "cloudy"}
    with database.reading() as connection:
        told = list(rows(connection, row(running, "s")))
    assert [each.get("note") for each in told] == ["turbid", None, "cloudy"]
    trial = suggest(running, "s", Ask()).view.trials[0].number
    observe(running, "s", Value(1.0, trial))
    for seq, changes, message in ((4, {"note": "x"}, f"belong to trial {trial}"), (1, {"a:b": 1}, "colon")):
        with pytest.raises(Invalid, match=message):
            correct(running, "s", seq, {"attributes": changes})
    assert_log_is_complete(database, clock, running)
