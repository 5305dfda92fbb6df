"""The form for a new study in a real Chromium: what is known beforehand, conditions, costs, several objectives."""

from __future__ import annotations

import httpx
from playwright.sync_api import Browser, Locator, Page, expect

from tests.page.studies import checked
from tests.page.tabs import PHONE, accessible, tab


def add_parameter(page: Page, number: int, name: str, kind: str, **fields: str) -> Locator:
    """A row of the form, with what one knows unfolded."""
    if number > 1:
        page.get_by_role("button", name="Add a parameter").click()
    row = page.get_by_role("group", name=f"Parameter {number}")
    row.get_by_label("Name").fill(name)
    row.get_by_label("Kind").select_option(kind)
    for label, value in fields.items():
        row.get_by_label(label, exact=True).fill(value)
    return row


def unfolded(row: Locator) -> Locator:
    row.get_by_text("What you know of it").click()
    return row


def test_what_is_known_beforehand_and_what_it_costs(browser: Browser, site: str, api: httpx.Client) -> None:
    """Faults are told at their fields, which are unfolded for it; the form says what each field means."""
    with tab(browser, site, size=PHONE, refused=True) as page:
        page.goto("/new")
        page.get_by_label("Name", exact=True).first.fill("net")
        rate = unfolded(add_parameter(page, 1, "rate", "float", From="0,0001", to="1"))
        rate.get_by_label("log scale").check()
        rate.get_by_label("Probably best near").fill("3")
        rate.get_by_label("give or take").fill("10")
        expect(rate.get_by_label("give or take")).to_have_accessible_description(
            "so far away you believe half as much in it; on a log scale a factor, such as 10"
        )
        optimizer = unfolded(
            add_parameter(page, 2, "optimizer", "categorical", **{"Values, with commas between": "sgd, adam"})
        )
        optimizer.get_by_label("Values that are more likely to be best").fill("adam 3")
        nesterov = add_parameter(page, 3, "nesterov", "bool")
        unfolded(nesterov).get_by_label("Exists only where").fill("optimizer sgd")
        unfolded(add_parameter(page, 4, "delay", "int", From="1", to="9")).get_by_label("Exists only where").fill(
            "nesterov = yes; optimizer = sgd"
        )
        page.get_by_text("What an experiment costs").click()
        page.get_by_label("Cost of an experiment").select_option("told")
        page.get_by_label("Budget, in cost").fill("100")
        page.get_by_label("Budget, in trials").fill("20")
        page.get_by_label("Prefer cheap experiments").check()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []
        create, told = page.get_by_role("button", name="Create the study"), page.get_by_role("alert")
        for row in (rate, optimizer, nesterov):
            row.get_by_text("What you know of it").click()

        create.click()
        expect(told).to_contain_text("“optimizer sgd” does not say which parameter has which values")
        expect(nesterov.get_by_label("Exists only where")).to_be_focused()
        nesterov.get_by_label("Exists only where").fill("optimizer = sgd")
        create.click()
        expect(told).to_contain_text("“adam 3” has no weight")
        expect(optimizer.get_by_label("Values that are more likely")).to_be_focused()
        optimizer.get_by_label("Values that are more likely").fill("adam: 3")
        create.click()
        expect(told).to_contain_text("there is a budget in trials already")
        page.get_by_label("Budget, in trials").fill("")
        create.click()
        expect(told).to_contain_text("Probably best near: is 3")
        expect(rate.get_by_label("Probably best near")).to_be_focused()
        rate.get_by_label("Probably best near").fill("0.01")
        create.click()
        page.wait_for_url("**/studies/net")
    study = checked(api.get("/v1/studies/net"))
    assert study["prior"] == {"rate": {"around": 0.01, "factor": 10}, "optimizer": {"weights": {"adam": 3}}}
    assert [each.get("when") for each in study["parameters"]] == [
        None,
        None,
        {"optimizer": ["sgd"]},
        {"nesterov": [True], "optimizer": ["sgd"]},
    ]
    assert (study["cost"], study["per_cost"], study["budget"]) == ("told", True, {"cost": 100})


def test_costs_are_entered_with_results_and_corrected(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    shared = {"direction": "minimize", "parameters": parameters, "metrics": ["size"], "budget": {"cost": 100}}
    for name in ("told", "measured"):
        checked(api.post("/v1/studies", json={"id": name, "cost": name, **shared}))
        checked(api.post(f"/v1/studies/{name}/suggest", json={}))
    with tab(browser, site) as page:
        for name in ("told", "measured"):
            page.goto(f"/studies/{name}/trials/1")
            page.get_by_label("Result", exact=True).fill("0.5")
            page.get_by_label("size", exact=True).fill("7")
            if name == "told":
                page.get_by_label("cost").fill("12,5")
            else:
                expect(page.get_by_label("cost")).to_have_accessible_description(
                    "empty: the seconds since the trial was handed out"
                )
            page.get_by_role("button", name="Save the result").click()
            expect(page.get_by_role("article")).to_contain_text("size7cost")
        page.goto("/studies/told/trials/1")
        page.get_by_role("button", name="Correct").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("size", exact=True)).to_have_value("7.0")
        dialog.get_by_label("cost").fill("13")
        dialog.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_role("article")).to_contain_text("cost13")
        page.goto("/studies/told")
        page.get_by_role("button", name="Limits").click()
        expect(dialog.get_by_label("Budget")).to_have_count(0)
        dialog.get_by_label("Unfinished trials at most").fill("3")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The limits are changed.")).to_be_visible()
        expect(page.locator("[data-metric=cost]")).to_contain_text("13")
    assert checked(api.get("/v1/studies/told"))["pending_limit"] == 3


def test_several_objectives_have_a_direction_each(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=True) as page:
        page.goto("/new")
        page.get_by_label("Name", exact=True).first.fill("trade")
        page.get_by_label("The result is to be").select_option("several")
        first, second = (page.get_by_role("group", name=f"Result {number}") for number in (1, 2))
        first.get_by_label("Name").fill("error")
        second.get_by_label("Name").fill("error")
        second.get_by_label("is to be").select_option("maximize")
        first.get_by_label("Of use up to").fill("0,5")
        add_parameter(page, 1, "x", "float", From="0", to="1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert")).to_contain_text("error")
        second.get_by_label("Name").fill("speed")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/trade")
    assert checked(api.get("/v1/studies/trade"))["objectives"] == [
        {"metric": "error", "direction": "minimize", "reference": 0.5},
        {"metric": "speed", "direction": "maximize"},
    ]
