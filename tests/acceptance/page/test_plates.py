"""Plates on the page, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, tab

pytestmark = pytest.mark.long


def test_the_form_declares_plates_and_the_study_shows_them(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("coupling")
        page.get_by_label("The result should be").select_option("minimize")
        for number, name in enumerate(("heat", "dose"), start=1):
            add_parameter(page, number, name, "float", "0", "1")
        page.get_by_text("Plates", exact=True).click()
        page.get_by_label("Trials on a plate").fill("4")
        shared = page.get_by_role("group", name="Equal on a plate")
        for name in ("heat", "dose"):
            shared.get_by_label(name).check()
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="leaves no parameter that can differ")).to_be_visible()
        shared.get_by_label("dose").uncheck()
        page.get_by_role("group", name="Parameter 1").get_by_label("Name").fill("oil")
        expect(shared.get_by_label("oil")).to_be_checked()
        page.get_by_role("group", name="Parameter 1").get_by_label("Name").fill("heat")
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="coupling")).to_be_visible()
        expect(page.locator("#definition")).to_contain_text("of 4 trials with the same heat")
        assert accessible(page) == []
    assert checked(api.get("/v1/studies/coupling"))["plates"] == {"size": 4, "shared": ["heat"]}


def test_a_budget_in_plates_is_entered_shown_and_raised(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("loads")
        page.get_by_label("The result should be").select_option("maximize")
        page.get_by_label("Budget, in trials").fill("2 plates")
        expect(page.locator("#goal")).to_contain_text("in 2 plates.")
        add_parameter(page, 1, "heat", "float", "0", "1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="this study has none")).to_be_visible()
        page.get_by_text("Plates", exact=True).click()
        page.get_by_label("Trials on a plate").fill("2")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="loads")).to_be_visible()
        expect(page.locator("#definition")).to_contain_text("2 plates")
        for _ in range(2):
            for trial in checked(api.post("/v1/studies/loads/suggest", json={"plate": "open"}))["trials"]:
                checked(api.post("/v1/studies/loads/observe", json={"trial": trial["number"], "value": 1}))
        page.goto("/studies/loads")
        expect(page.locator("#figures")).to_contain_text("plate 2 of 2")
        expect(page.locator("#figures")).to_contain_text("4 trials done")
        expect(page.locator("#figures progress")).to_have_js_property("position", 1)
        page.get_by_role("button", name="Raise the budget").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Budget, in trials")).to_have_value("2 plates")
        dialog.get_by_label("Budget, in trials").fill("3 plates")
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator("#figures")).to_contain_text("plate 2 of 3")
        assert accessible(page) == []
        page.goto("/")
        expect(page.locator("tr", has_text="loads")).to_contain_text("plate 2 of 3")
        expect(page.locator("tr", has_text="loads").locator("progress")).to_have_js_property("max", 3)
    assert checked(api.get("/v1/studies/loads"))["budget"] == {"plates": 3}


def test_a_plate_is_asked_for_and_its_number_is_in_the_table(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("heat", "dose")]
    plates = {"size": 3, "shared": ["heat"]}
    definition = {"id": "wells", "direction": "maximize", "parameters": parameters, "plates": plates, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    with tab(browser, site) as page:
        page.goto("/studies/wells")
        page.get_by_role("button", name="Next trial").first.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("A plate has 3 trials with the same heat.")
        expect(dialog.get_by_label("How many trials")).to_have_value("open")
        assert accessible(page) == []
        dialog.get_by_role("button", name="Get the next trial").click()
        expect(page.get_by_role("heading", name="Results of wells")).to_be_visible()
        expect(page.get_by_text("3 trials of plate 1 are reserved for you.")).to_be_visible()
        expect(page.locator("td[data-plate]")).to_have_text(["1", "1", "1"])
        assert accessible(page) == []
        page.get_by_role("link", name="3", exact=True).click()
        expect(page.locator("#trial-facts")).to_contain_text("Plate1")
        expect(page.get_by_text("The trials of plate 1 share heat =")).to_be_visible()
    trials = checked(api.get("/v1/studies/wells/trials"))["items"]
    assert len({trial["parameters"]["heat"] for trial in trials}) == 1


def test_the_end_of_a_plate_is_told_with_its_results_and_offers_the_next_one(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("heat", "dose")]
    definition = {"id": "pairs", "direction": "maximize", "parameters": parameters, "plates": {"size": 2}, "seed": 1}
    words = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    checked(api.post("/v1/studies", json={**definition, "quantities": words}))
    checked(api.post("/v1/studies/pairs/suggest", json={"plate": "open"}))
    with tab(browser, site) as page:
        page.goto("/studies/pairs/results?kind=open")
        for trial, value in (("1", "86,5"), ("2", "20,7")):
            page.get_by_role("button", name=f"Enter the result of trial {trial}").click()
            page.locator("tr.editing").get_by_label("Yield").or_(page.get_by_label("Result", exact=True)).fill(value)
            expect(page.get_by_label("Standard error, if known")).to_be_visible()
            page.get_by_role("button", name="Save the result").click()
        empty = page.locator("section.empty")
        expect(empty).to_contain_text("Plate 1 is done")
        expect(empty).to_contain_text("86.5 %, 20.7 %")
        assert accessible(page) == []
        empty.get_by_role("button", name="Next plate").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("How many trials").select_option("")
        dialog.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/trials/3")
        page.get_by_role("button", name="Get a new trial").click()
        expect(dialog.get_by_label("How many trials")).to_have_value("")
        dialog.get_by_label("How many trials").select_option("open")
        dialog.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/trials/4")
        page.goto("/studies/pairs")
        page.get_by_role("button", name="Next trial").click()
        expect(dialog.get_by_label("How many trials")).to_have_value("open")


def test_own_points_are_on_plates_by_the_forms_and_by_a_pasted_table(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("heat", "dose")]
    plates = {"size": 3, "shared": ["heat"]}
    definition = {"id": "controls", "direction": "maximize", "parameters": parameters, "plates": plates, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/controls/results")
        page.goto("/studies/controls")
        dialog = page.get_by_role("dialog")

        def add(heat: str) -> None:
            dialog.get_by_label("heat").fill(heat)
            dialog.get_by_label("dose").fill("0.25")
            dialog.locator("#tell-value").fill("7")
            dialog.get_by_label("Plate, if it was on one").fill("5")
            dialog.get_by_role("button", name="Add the result").click()

        page.get_by_role("button", name="Add a result").click()
        add("0.5")
        expect(page.get_by_text("Own result R1 is stored: 7.")).to_be_visible()
        page.get_by_role("button", name="Add a result").click()
        add("0.75")
        expect(dialog.locator(".fault")).to_contain_text("is 0.75, but plate 5 has 0.5; give that value")
        assert accessible(page) == []
        dialog.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Queue a trial").click()
        dialog.get_by_label("heat").fill("0.5")
        dialog.get_by_label("dose").fill("0.25")
        dialog.get_by_label("Place").select_option("new")
        dialog.get_by_role("button", name="Queue the trial").click()
        expect(page.get_by_text("Trial 1 is queued on plate 6.")).to_be_visible()
        page.goto("/studies/controls/results")
        page.get_by_role("button", name="Paste or open a table").click()
        dialog.get_by_label("Table", exact=True).fill("heat,dose,Plate,value\n0.1,0.2,8,3\n0.3,0.2,,4\n")
        dialog.get_by_role("button", name="Check first").click()
        dialog.get_by_role("button", name="Add 2 results").click()
        expect(page.get_by_text("Stored: 2 results.")).to_be_visible()
        expect(page.locator("td[data-plate]")).to_have_text(["–", "8", "6", "5"])
        page.get_by_role("link", name="Own result R1").click()
        expect(page.get_by_text("Measured on plate 5.")).to_be_visible()
        assert accessible(page) == []
