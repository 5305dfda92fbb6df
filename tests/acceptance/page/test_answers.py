"""The answers of the page's routes, without a browser: pages for people, and the API's answers for programs."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import httpx
import pytest

from adabkb_service.contract.answers import NoTrialReason, Study
from adabkb_service.contract.parameters import FloatParameter, IntParameter
from adabkb_service.contract.quantities import Quantity
from adabkb_service.operations.reports import report_in_words
from adabkb_service.operations.words import columns_in_words, wording
from adabkb_service.operations.words.reasons import REASONS
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.page.sparkline import sparkline
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from tests.acceptance.page.studies import checked, tuned
from tests.integration.storage.grown import copies
from tests.integration.storage.rows import event
from tests.servers import server_on

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def api(module_migrated_url: str) -> Iterator[httpx.Client]:
    with server_on(module_migrated_url) as address, httpx.Client(base_url=address, timeout=60) as api:
        tuned(api, results=3)
        yield api


def test_people_get_pages_that_run_nothing_inline(api: httpx.Client) -> None:
    for path in (
        "/",
        "/?text=x&state=paused&page=2",
        "/new",
        "/studies/digits",
        "/studies/digits/results?sort=value",
        "/studies/digits/trials/1",
        "/studies/digits/sharing",
        "/trash",
    ):
        answer = api.get(path, headers=BROWSER)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].startswith("text/html")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", answer.text), path


def test_programs_are_not_led_to_pages(api: httpx.Client) -> None:
    assert api.get("/").headers["location"] == "docs"
    answer = api.get("/studies/digits")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "There is no /studies/digits here; did you mean /v1/studies/digits?"
    assert not any(
        "/studies/" in path and not path.startswith("/v1") for path in api.get("/openapi.json").json()["paths"]
    )


def test_a_photograph_has_its_date_and_the_note_of_its_trial_or_result(api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    study, own = "/v1/studies/photographs", {"parameters": {"x": 0.5}, "value": 1}
    checked(api.post("/v1/studies", json={"id": "photographs", "direction": "minimize", "parameters": parameters}))
    checked(api.post(f"{study}/suggest"))
    checked(api.patch(f"{study}/trials/1", json={"attributes": {"note": "cloudy <b>"}}))
    checked(api.post(f"{study}/observe", json={**own, "attributes": {"note": "clear"}}))
    checked(api.post(f"{study}/observe", json={**own, "value": 2}))
    captions = {"trials/1": ("Trial 1", ". cloudy &lt;b&gt;"), "observations/1": ("Own result R1", ". clear")}
    expected = []
    for holder, (whose, note) in {**captions, "observations/2": ("Own result R2", "")}.items():
        sent: dict[str, Any] = {
            "params": {"name": "a.png"},
            "content": b"\x89PNG\r\n\x1a\n",
            "headers": {"Content-Type": "image/png"},
        }
        added = checked(api.post(f"{study}/{holder}/files", **sent))["created_at"]
        expected.append(f"{whose}: a.png, added {added[:10]} {added[11:16]} UTC{note}")
    report = api.get("/studies/photographs/report", headers=BROWSER).text
    assert re.findall("<figcaption>(.*?: a.png.*?)</figcaption>", report) == expected


def test_an_unknown_address_is_a_page_for_browsers_alone(api: httpx.Client) -> None:
    for path in ("/nope", "/studies/digits/nope"):
        answer = api.get(path, headers=BROWSER)
        assert (answer.status_code, "All studies" in answer.text) == (404, True), path
        assert api.get(path).json()["code"] == "not_found"
    assert api.get("/v1/nope", headers=BROWSER).json()["code"] == "not_found"
    assert "digits" in api.get("/studies", headers=BROWSER).text, "the list, for the address of a study without its id"
    assert "Back to digits" in api.get("/studies/digits/trials/99", headers=BROWSER).text
    assert "Back to" not in api.get("/studies/nowhere", headers=BROWSER).text


def test_a_refusal_is_a_page_too(api: httpx.Client) -> None:
    for path in (
        "/studies/nowhere",
        "/studies/digits/trials/99",
        "/studies/nowhere/results",
        "/studies/digits/trials/x",
        "/?page=0",
        "/studies/digits/nothing",
    ):
        answer = api.get(path, headers=BROWSER)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"].startswith("text/html")


def test_a_trial_of_a_long_study_is_explained_by_a_second_request(other_sqlite: str) -> None:
    """The page of the trial itself does not read the earlier log."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        tuned(api, results=3)
        short = api.get("/studies/digits/trials/2", headers=BROWSER).text
        database = Database(other_sqlite)
        with database.writing() as connection:
            head = studies.get(connection, "digits").study_seq
            copies(connection, event(0, "digits"), 5_001, seq=lambda number: number + head)
            connection.exec_driver_sql("UPDATE studies SET study_seq = study_seq + 5001")
        database.close()
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        first = api.get("/studies/digits/trials/2", headers=BROWSER).text
        second = api.get("/studies/digits/trials/2?why=true", headers={"HX-Request": "true"}).text
    assert "trials/2?why=true" in first
    assert ["one of the first points" in text for text in (short, first, second)] == [True, False, True]
    assert ["Suggested" in text for text in (short, first, second)] == [True, True, True]


def test_what_pages_load_is_kept_until_it_changes(api: httpx.Client) -> None:
    text = api.get("/new", headers=BROWSER).text
    loaded = re.findall(r'(?:src|href)="(/assets/[^"]+)"', text)
    assert len(loaded) >= 4
    for path in loaded:
        answer = api.get(path)
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]
    assert "no-store" in api.get(re.sub(r"/assets/\w+/", "/assets/older/", loaded[0])).headers["cache-control"]
    assert api.get("/assets/older/nothing.js").status_code == 404
    assert api.get("/assets/older/..%2Frouters.py").status_code == 404


def test_figures_have_the_digits_that_are_of_use() -> None:
    told = [figure(value) for value in (None, 0.1 + 0.2, 1e-9, 12, 12.0, -3.5, 1234567.0, 123456789)]
    assert told == ["–", "0.3", "1×10⁻⁹", "12", "12", "−3.5", "1.2346×10⁶", "123\u202f456\u202f789"]
    assert [shown(value) for value in (True, None, [1, "a"], "text")] == ["true", "null", "[1, a]", "text"]


def test_a_value_of_a_parameter_has_the_digits_that_a_person_can_set() -> None:
    heat = FloatParameter(name="heat", kind="float", low=40, high=120, unit="°C")
    for parameter, value, expected in (
        (heat, 92.6431, "92.6"),
        (heat.model_copy(update={"step": 0.125}), 92.625, "92.625"),
        (FloatParameter(name="load", kind="float", scale="log", low=0.1, high=10), 5.62341, "5.62"),
        (FloatParameter(name="x", kind="float", low=0, high=1), 0.12345, "0.123"),
        (FloatParameter(name="mass", kind="float", low=0, high=30_000), 12_345.6, "12\u202f300"),
        (IntParameter(name="n", kind="int", low=1, high=9_999_999), 1_234_567, "1\u202f234\u202f567"),
    ):
        assert wording.setting(parameter, value) == expected, parameter
    assert wording.setting_in_unit(heat, 92.6431) == "92.6\xa0°C"


def test_a_result_and_its_error_have_the_same_decimals(api: httpx.Client) -> None:
    study = api.get("/v1/studies/digits").json()
    known = Study.model_validate(study)
    assert wording.observed(known, None, 98.2231, 1.3) == "98.2\xa0±\xa01.3"
    assert wording.observed(known, None, 98.2231, None) == "98.223"


def test_a_column_of_results_has_the_digits_that_the_study_asks_for(api: httpx.Client) -> None:
    study = Study.model_validate(api.get("/v1/studies/digits").json())
    values = [98.22314, 100.5, None]
    assert columns_in_words.results(study, None, values) == ["98.22", "100.50", "–"]
    asked = study.model_copy(update={"quantities": {"value": Quantity(digits=4)}})
    assert columns_in_words.results(asked, None, values) == ["98.2231", "100.5000", "–"]


def test_the_page_of_a_study_begins_with_the_best_point_and_what_is_running(api: httpx.Client) -> None:
    text = api.get("/studies/digits", headers=BROWSER).text
    first = text[: text.index('id="assessment"')]
    best = api.get("/v1/studies/digits").json()["best"]
    assert all(name in first for name in best["parameters"])
    assert 'class="conditions"' in first
    assert 'id="open-now"' in first


def test_every_reason_for_no_point_has_its_sentence(api: httpx.Client) -> None:
    reasons = {reason for each in get_args(NoTrialReason) for reason in get_args(each) or (each,)}
    assert set(REASONS) == reasons
    text = html.unescape(api.get("/studies/digits", headers=BROWSER).text)
    assert json.dumps(REASONS) in text
    assert json.dumps(report_in_words.REASONS) in text  # for a recommendation without a model's point


def test_a_sparkline_steps_down_to_the_best_result() -> None:
    assert sparkline([], None, 0) == ""
    assert sparkline([(1, 5.0)], 9.0, 9) == "M2.0 26.0H118.0", "no result is better than the first one"
    assert sparkline([(1, 5.0), (3, 1.0)], 5.0, 5) == "M2.0 2.0H60.0V26.0H118.0"
    assert sparkline([(1, 5.0), (3, 1.0)], 13.0, 5) == "M2.0 18.0H60.0V26.0H118.0", "a small improvement looks small"
