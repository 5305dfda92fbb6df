"""Context, periodic parameters and a baseline on the page, in a real Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from adabkb_service.operations.words.digits import difference
from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, drawn, tab

pytestmark = pytest.mark.long

PARAMETERS = [
    {"name": "angle", "kind": "float", "low": 0, "high": 360, "periodic": True},
    {"name": "speed", "kind": "float", "low": 0, "high": 10},
    {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": True},
    {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True},
]


def gluing(api: httpx.Client) -> None:
    definition = {"id": "gluing", "direction": "maximize", "parameters": PARAMETERS, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    for number in range(18):  # enough results to rely on the model
        context = {"humidity": [0.1, 0.5, 0.9][number % 3], "machine": "AB"[number % 2]}
        (trial,) = checked(api.post("/v1/studies/gluing/suggest", json={"context": context}))["trials"]
        point = trial["parameters"]
        value = -((point["speed"] - 8.0 + 6.0 * point["humidity"]) ** 2) - (point["machine"] == "B")
        checked(api.post("/v1/studies/gluing/observe", json={"trial": trial["number"], "value": value}))


def row_of(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"Parameter {number}", exact=True)


def test_the_form_declares_context_and_periodic_parameters(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("declared")
        page.get_by_label("The result should be").select_option("minimize")
        add_parameter(page, 1, "angle", "float", "0", "360")
        row_of(page, 1).get_by_text("Prior knowledge").click()
        row_of(page, 1).get_by_label("the ends are the same point").check()
        add_parameter(page, 2, "machine", "categorical", "A", "B")
        row_of(page, 2).get_by_text("Prior knowledge").click()
        row_of(page, 2).get_by_label("is a context parameter").check()
        row_of(page, 1).get_by_label("Value in use today").fill("400")
        expect(page.locator("#summary")).to_contain_text("angle: a number from 0 to 360, whose ends are the same point")
        expect(page.locator("#summary")).to_contain_text("known, not chosen")
        row_of(page, 1).get_by_label("log scale").check()
        row_of(page, 1).get_by_label("From").fill("1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="must be left out on a log scale")).to_be_visible()
        row_of(page, 1).get_by_label("log scale").uncheck()
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="is 400, outside")).to_be_visible()
        row_of(page, 1).get_by_label("Value in use today").fill("350,5")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="declared")).to_be_visible()
        expect(page.locator("#definition")).to_contain_text("1 to 360, the ends are the same point")
        expect(page.locator("#definition")).to_contain_text("“A”, “B”; known, not chosen")
    declared = checked(api.get("/v1/studies/declared"))
    assert declared["baseline"] == {"angle": 350.5}
    first, second = declared["parameters"]
    assert (first["periodic"], second["context"]) == (True, True)


def test_the_page_says_who_gets_a_repetition(browser: Browser, site: str, api: httpx.Client) -> None:
    definition = {"id": "repeated", "direction": "maximize", "parameters": PARAMETERS, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    context = {"humidity": 0.52, "machine": "B"}
    checked(api.post("/v1/studies/repeated/suggest", json={"context": context}))
    checked(api.post("/v1/studies/repeated/observe", json={"trial": 1, "value": 5.0}))
    with tab(browser, site) as page:
        page.goto("/studies/repeated/trials/1")
        page.get_by_role("button", name="Repeat this trial").click()
        dialog = page.get_by_role("dialog", name="Repeat this trial")
        expect(dialog).to_contain_text("before any new trial that is requested with the same humidity, machine.")
        dialog.get_by_role("button", name="Queue it").click()
        told = "Trial 2 is queued. Only somebody who asks for a trial with humidity = 0.52, machine = B gets it."
        expect(page.get_by_text(told)).to_be_visible()
    other = checked(api.post("/v1/studies/repeated/suggest", json={"context": {**context, "humidity": 0.6}}))
    same = checked(api.post("/v1/studies/repeated/suggest", json={"context": context}))
    assert [trial["number"] for trial in other["trials"] + same["trials"]] == [3, 2]


def test_a_trial_is_repeated_in_another_context(browser: Browser, site: str, api: httpx.Client) -> None:
    definition = {"id": "elsewhere", "direction": "maximize", "parameters": PARAMETERS, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    context = {"humidity": 0.52, "machine": "B"}
    (first,) = checked(api.post("/v1/studies/elsewhere/suggest", json={"context": context}))["trials"]
    checked(api.post("/v1/studies/elsewhere/observe", json={"trial": 1, "value": 5.0}))
    own = {"parameters": first["parameters"], "value": 4.0}
    checked(api.post("/v1/studies/elsewhere/observe", json=own))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/elsewhere/trials/1")
        page.get_by_role("button", name="Repeat this trial").click()
        dialog = page.get_by_role("dialog", name="Repeat this trial")
        expect(dialog.get_by_label("humidity")).to_have_value("0.52")
        dialog.get_by_label("humidity").fill("7")
        dialog.get_by_role("button", name="Queue it").click()
        expect(dialog.locator(".fault").first).to_be_visible()
        dialog.get_by_label("humidity").fill("0,6")
        dialog.get_by_role("button", name="Queue it").click()
        expect(page.get_by_text("with humidity = 0.6, machine = B gets it.")).to_be_visible()
        page.goto("/studies/elsewhere/results/2")
        page.get_by_role("button", name="Repeat it").click()
        dialog = page.get_by_role("dialog", name="Repeat it")
        dialog.get_by_label("machine").select_option("A")
        dialog.get_by_role("button", name="Queue it").click()
        expect(page.get_by_text("with humidity = 0.52, machine = A gets it.")).to_be_visible()
    trials = [checked(api.get(f"/v1/studies/elsewhere/trials/{number}"))["parameters"] for number in (2, 3)]
    assert trials == [{**first["parameters"], "humidity": 0.6}, {**first["parameters"], "machine": "A"}]


def test_the_page_asks_for_the_context_and_shows_the_best_point_of_it(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    gluing(api)
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/gluing")
        expect(page.get_by_text("The best point depends on the context. Give a context to see it.")).to_be_visible()
        best = page.locator("#best-context")
        best.get_by_label("humidity").fill("0,5")
        best.get_by_role("button", name="Show the best point").click()
        expect(best.locator(".fault")).to_contain_text("is missing; give a value")
        best.get_by_label("machine").select_option(label="A")
        best.get_by_role("button", name="Show the best point").click()
        expect(page.locator("[data-parameter=humidity] [data-by=model]")).to_have_text("0.5")
        expect(page.locator("[data-parameter=machine] [data-by=observed]")).to_have_text("A")
        expect(page.get_by_text("The best point depends on the context. Give a context to see it.")).to_be_hidden()
        drawn(page, "history", "slices")
        assert accessible(page) == []
        page.get_by_role("button", name="Next trial").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Get the next trial").click()
        expect(dialog.locator(".fault")).to_contain_text(["is missing"])
        dialog.get_by_label("humidity").fill("0.73")
        dialog.get_by_label("machine").select_option(label="B")
        dialog.get_by_role("button", name="Get the next trial").click()
        expect(page.get_by_role("heading", name="Trial 19")).to_be_visible()
        expect(page.get_by_text("The context was humidity = 0.73, machine = 'B'.")).to_be_visible()
    assert checked(api.get("/v1/studies/gluing/trials/19"))["parameters"]["humidity"] == 0.73


def test_the_page_asks_for_the_context_of_a_front(browser: Browser, site: str, api: httpx.Client) -> None:
    objectives = [{"metric": name, "direction": "maximize"} for name in ("strength", "speed of work")]
    checked(api.post("/v1/studies", json={"id": "fronts", "objectives": objectives, "parameters": PARAMETERS}))
    for number in range(4):
        context = {"humidity": 0.2 * number, "machine": "A"}
        (trial,) = checked(api.post("/v1/studies/fronts/suggest", json={"context": context}))["trials"]
        metrics = {"strength": trial["parameters"]["speed"], "speed of work": -trial["parameters"]["speed"]}
        checked(api.post("/v1/studies/fronts/observe", json={"trial": trial["number"], "metrics": metrics}))
    with tab(browser, site) as page:
        page.goto("/studies/fronts")
        form = page.locator("#best-context")
        form.get_by_label("humidity").fill("0.3")
        form.get_by_label("machine").select_option("B")
        with page.expect_response(lambda answer: "/front?context=" in answer.url) as answered:
            form.get_by_role("button", name="Show them").click()
        assert {each["parameters"]["machine"] for each in answered.value.json()["model"]} == {"B"}


def test_the_context_fits_a_phone(browser: Browser, site: str, api: httpx.Client) -> None:
    gluing(api)
    with tab(browser, site, size=PHONE) as page:
        page.goto("/studies/gluing")
        page.locator("#best-context").scroll_into_view_if_needed()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_page_shows_what_is_changed_and_what_that_gains(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 10} for name in ("heat", "stirring")]
    definition = {"id": "near", "direction": "minimize", "parameters": parameters, "seed": 1}
    checked(api.post("/v1/studies", json={**definition, "baseline": {"heat": 2, "stirring": 3}}))
    for _ in range(14):
        (trial,) = checked(api.post("/v1/studies/near/suggest", json={}))["trials"]
        value = (trial["parameters"]["heat"] - 8.0) ** 2
        checked(api.post("/v1/studies/near/observe", json={"trial": trial["number"], "value": value}))
    (changed,) = checked(api.get("/v1/studies/near/recommendation"))["model"]["changes"]
    gain = changed["gain"]
    with tab(browser, site) as page:
        page.goto("/studies/near")
        cell = page.locator("[data-parameter=heat] [data-by=change]")
        expect(cell).to_have_text(difference(gain))
        expect(page.locator("[data-parameter=stirring] [data-by=change]")).to_have_text("–")
        expect(page.locator("[data-parameter=stirring] [data-by=model]")).to_have_text("3")
        assert accessible(page) == []


def test_the_page_asks_for_the_context_that_is_measured_with_the_result(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """The request may leave it out, the trial says that it is to be measured, and the result needs it."""
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("printing")
        page.get_by_label("The result should be").select_option("minimize")
        add_parameter(page, 1, "speed", "float", "0", "10")
        add_parameter(page, 2, "humidity", "float", "0", "1")
        row_of(page, 2).get_by_text("Prior knowledge").click()
        row_of(page, 2).get_by_label("is only measured with the result").check()
        expect(page.locator("#summary")).to_contain_text("measured with the result")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="printing")).to_be_visible()
        page.get_by_role("button", name="Next trial").click()
        page.get_by_role("button", name="Get the next trial").click()
        expect(page.get_by_role("heading", name="Trial 1")).to_be_visible()
        expect(page.get_by_role("row", name="humidity")).to_contain_text("to be measured")
        accessible(page)
        page.locator("#value").fill("4,5")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("alert").filter(has_text="1 field needs a correction")).to_be_visible()
        page.get_by_role("group", name="Measured with the result").get_by_label("humidity").fill("0,4")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("row", name="humidity")).to_contain_text("0.4")
        page.goto("/studies/printing/results")
        expect(page.get_by_role("row", name="4.5")).to_contain_text("0.4")
    (result,) = checked(api.get("/v1/studies/printing/observations"))["items"]
    assert result["parameters"]["humidity"] == 0.4
    assert checked(api.get("/v1/studies/printing/trials/1"))["parameters"].keys() == {"speed"}


def test_the_page_shows_the_best_point_now_beside_the_best_result_ever(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """In the context of the latest result, with enough results to rely on the model."""
    gluing(api)
    with tab(browser, site) as page:
        page.goto("/studies/gluing")
        now = page.locator("#recommended-now")
        expect(now).to_contain_text("Recommended now, in the latest context: expected by the model")
        expect(now).to_contain_text("humidity 0.9")
        expect(now).to_contain_text("machine B")
        expect(page.locator("#measured-now")).to_contain_text("Best single result ever: measured")
        page.goto("/studies/gluing/report")
        expect(
            page.get_by_role("heading", name="Recommended: expected by the model now, in the latest context")
        ).to_be_visible()
        page.goto("/compare?study=gluing")
        best = page.get_by_role("row", name="gluing").get_by_role("cell").nth(3)
        expect(best).to_contain_text(re.compile(r"^\S+ now \S+ \(90%: .*\) expected$"))
