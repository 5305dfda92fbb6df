"""Changes that hold only as long as fields have the values that the caller has seen."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import pointers


@pytest.fixture
def result(api: httpx.Client, study: str) -> str:
    """The path of the result of trial 1."""
    assert api.post(f"{study}/suggest").is_success
    assert api.post(f"{study}/observe", json={"trial": 1, "value": 1.5, "std_error": 0.25}).is_success
    return f"{study}/observations/1"


def changed(api: httpx.Client, path: str, body: dict[str, Any]) -> list[str]:
    """Send a change. Return the pointers to the fields that have other values; empty if the change was made."""
    answer = api.patch(path, json=body)
    if answer.status_code == 200:
        return []
    assert answer.status_code == 412
    assert answer.json()["code"] == "precondition_failed"
    assert {error["code"] for error in answer.json()["errors"]} == {"changed"}
    return pointers(answer)


def test_correction_is_refused_if_the_former_value_is_another_one(api: httpx.Client, study: str, result: str) -> None:
    assert changed(api, result, {"value": 2, "was": {"value": 1.5}}) == []
    refused = api.patch(result, json={"value": 3, "std_error": None, "was": {"value": 1.5, "std_error": None}})
    assert pointers(refused) == ["/value", "/std_error"]
    assert refused.json()["errors"][0]["detail"] == "is 2.0 by now"
    (stored,) = api.get(f"{study}/observations").json()["items"]
    assert (stored["value"], stored["std_error"]) == (2, 0.25)
    assert changed(api, result, {"std_error": None, "was": {"std_error": 0.25}}) == []
    assert changed(api, result, {"std_error": 0, "was": {"std_error": None}}) == []
    assert changed(api, result, {"std_error": 1, "was": {"std_error": None}}) == ["/std_error"]
    assert changed(api, result, {"excluded": True, "was": {"excluded": False}}) == []
    assert changed(api, result, {"excluded": True, "was": {"excluded": 0}}) == ["/excluded"]


@pytest.mark.usefixtures("result")
def test_note_is_refused_if_another_one_was_stored(api: httpx.Client, study: str) -> None:
    trial, none = f"{study}/trials/1", {"attributes": {"note": None}}
    assert changed(api, trial, {"attributes": {"note": "first", "kept": 1}, "was": none}) == []
    assert changed(api, trial, {"attributes": {"note": "mine"}, "was": none}) == ["/attributes/note"]
    seen = {"attributes": {"note": "first"}}
    assert changed(api, trial, {"attributes": {"note": "mine"}, "was": seen}) == [], "other attributes do not count"
    assert api.get(trial).json()["attributes"] == {"note": "mine", "kept": 1}
    events = [each for each in api.get(f"{study}/events").json()["items"] if each["kind"] == "annotated"]
    assert [each["payload"]["was"] for each in events] == [{}, {"note": "first"}]
    own = {"parameters": {"x": 0.5, "n": 2}, "value": 1, "attributes": {"note": "own"}}
    assert api.post(f"{study}/observe", json=own).is_success
    path = f"{study}/observations/2"
    assert changed(api, path, {"attributes": {"note": "mine"}, "was": none}) == ["/attributes/note"]
    assert changed(api, path, {"attributes": {"note": "mine"}, "was": {"attributes": {"note": "own"}}}) == []


def test_change_of_a_study_is_refused_if_a_field_was_changed(api: httpx.Client, study: str) -> None:
    assert changed(api, study, {"description": "first", "was": {"description": None, "quantities": {}}}) == []
    assert changed(api, study, {"title": "t", "was": {"title": None}}) == [], "other fields do not count"
    assert changed(api, study, {"description": "mine", "was": {"description": None}}) == ["/description"]
    quantities = {"value": {"unit": "%"}}
    assert changed(api, study, {"quantities": quantities, "was": {"quantities": {}}}) == []
    assert changed(api, study, {"quantities": {}, "was": {"quantities": {}}}) == ["/quantities"]
    x, n = api.get(study).json()["parameters"]
    assert changed(api, study, {"parameters": [{**n, "label": "N"}], "was": {"parameters": [n]}}) == []
    assert changed(api, study, {"parameters": [{**x, "label": "X"}], "was": {"parameters": [x]}}) == []
    assert changed(api, study, {"parameters": [n], "was": {"parameters": [n]}}) == ["/parameters/0"]
    short = {"name": "x", "kind": "float", "low": x["low"], "high": x["high"]}
    assert changed(api, study, {"parameters": [x], "was": {"parameters": [short]}}) == ["/parameters/0"], "its label"
    labelled = {**short, "label": "X"}
    assert changed(api, study, {"parameters": [labelled], "was": {"parameters": [labelled]}}) == [], "as it was sent"
    found = api.get(study).json()
    assert (found["description"], found["title"], found["quantities"]) == ("first", "t", quantities)
    assert [each["label"] for each in found["parameters"]] == ["X", "N"]


def test_former_values_are_in_the_log(api: httpx.Client, study: str) -> None:
    for text in ("first", "second"):
        assert api.patch(study, json={"description": text}).is_success
    events = [each for each in api.get(f"{study}/events").json()["items"] if each["kind"] == "updated"]
    assert [each["payload"]["was"] for each in events] == [{"description": None}, {"description": "first"}]


def test_a_setting_that_is_off_counts_as_absent(api: httpx.Client, study: str) -> None:
    assert changed(api, study, {"robust": True, "was": {"robust": False}}) == []
    assert changed(api, study, {"robust": False, "was": {"robust": None}}) == ["/robust"]
    assert changed(api, study, {"robust": False, "was": {"robust": True}}) == []
    assert changed(api, study, {"robust": True, "was": {"robust": None}}) == []
    assert changed(api, study, {"noise_std": 0, "was": {"noise_std": None}}) == []
    assert changed(api, study, {"noise_std": None, "was": {"noise_std": False}}) == ["/noise_std"]


@pytest.mark.parametrize(
    ("path", "change"),
    [("", {"title": "t"}), ("/observations/1", {"value": 2}), ("/trials/1", {"attributes": {"note": "n"}})],
)
@pytest.mark.usefixtures("result")
def test_unknown_names_in_former_values_are_refused(
    api: httpx.Client, study: str, path: str, change: dict[str, Any]
) -> None:
    """A misspelled name would protect nothing: a null would always be its value."""
    (name,) = change
    refused = api.patch(f"{study}{path}", json={**change, "was": {f"{name}z": None, "reason": None}})
    assert refused.status_code == 422
    assert pointers(refused) == [f"/was/{name}z", "/was/reason"]
    first = refused.json()["errors"][0]
    assert (first["detail"], first["code"]) == (f"is an unknown field; did you mean {name}?", "extra_forbidden")
    many = api.patch(f"{study}{path}", json={"was": {f"z{number}": None for number in range(150)}})
    assert (many.status_code, len(many.json()["errors"])) == (422, 100)
    assert "50 more not listed" in many.json()["detail"]
    unchanged = api.get(study).json()
    assert (unchanged["title"], unchanged["best"]["value"]) == (None, 1.5)
