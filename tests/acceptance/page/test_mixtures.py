"""Mixtures on the page, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, drawn, tab
from tests.acceptance.page.test_exclusions import add_parameter

pytestmark = pytest.mark.long

SOLVENTS = ("water", "ethanol", "glycerol")


def test_the_form_declares_a_mixture_and_the_study_shows_it(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("blend")
        page.get_by_label("The result should be").select_option("minimize")
        for number, name in enumerate(SOLVENTS, start=1):
            add_parameter(page, number, name, "float", "0", "1")
        page.get_by_text("Limits on conditions and results").click()
        page.get_by_role("button", name="Add a mixture").click()
        mixture = page.get_by_role("group", name="Mixture 1")
        mixture.get_by_label("Components").fill("water, ethanol, glycerin")
        mixture.get_by_label("Maximum number above 0").fill("2")
        mixture.get_by_label("Least share if present").fill("0,1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="did you mean glycerol?")).to_be_visible()
        mixture.get_by_label("Components").fill(", ".join(SOLVENTS))
        mixture.get_by_label("Sum").fill("9")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="must be at most 3")).to_be_visible()
        mixture.get_by_label("Sum").fill("")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="blend")).to_be_visible()
        rule = "water + ethanol + glycerol = 1, at most 2 of them above 0, each 0 or at least 0.1"
        expect(page.locator("#definition")).to_contain_text(rule)
        accessible(page)
    declared = checked(api.get("/v1/studies/blend"))
    assert declared["mixtures"] == [{"parameters": list(SOLVENTS), "total": 1, "at_most": 2, "least": 0.1}]


def test_slices_of_a_mixture_hatch_what_exceeds_the_sum(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in SOLVENTS]
    mixtures = [{"parameters": list(SOLVENTS)}]
    definition = {"id": "sliced", "direction": "maximize", "parameters": parameters, "mixtures": mixtures, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    for _ in range(9):  # enough results to rely on the model
        (trial,) = checked(api.post("/v1/studies/sliced/suggest", json={}))["trials"]
        value = 1.0 - (trial["parameters"]["water"] - 0.6) ** 2
        checked(api.post("/v1/studies/sliced/observe", json={"trial": trial["number"], "value": value}))
    with tab(browser, site) as page:
        page.goto("/studies/sliced")
        drawn(page, "contour")
        expect(page.locator("#contour-said")).to_contain_text("The other shares adjust. Hatched: excluded")
        accessible(page)


def test_rounded_shares_in_a_table_are_scaled_to_the_total_on_request(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    names = ["binder", "solvent", "water"]
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 100} for name in names]
    mixture = {"parameters": names, "total": 100}
    body = {"id": "coating", "direction": "maximize", "parameters": parameters, "mixtures": [mixture]}
    checked(api.post("/v1/studies", json=body))
    table = "binder\tsolvent\twater\tvalue\n58,3\t33,4\t8,2\t5,5\n50\t50\t0\t6,5\n50\t30\t5\t7,5"
    with tab(browser, site) as page:
        page.goto("/studies/coating")
        page.get_by_role("button", name="Paste earlier results").click()
        page.locator("#paste-text").fill(table)
        page.get_by_role("button", name="Check first").click()
        expect(page.locator("#paste-said")).to_contain_text("1 of 3 lines can be added.")
        page.get_by_label("Scale the shares of 1 line to their total: they are rounded").check()
        expect(page.locator("#paste-said")).to_contain_text("2 of 3 lines can be added.")
        expect(page.locator("#paste-table")).to_contain_text("58.3584")
        page.get_by_label("Leave out the line that does not fit").check()
        page.get_by_role("button", name="Add 2 results").click()
        expect(page.get_by_text("Stored: 2 results.")).to_be_visible()
    stored = checked(api.get("/v1/studies/coating/observations"))["items"]
    assert [sum(each["parameters"].values()) for each in stored] == pytest.approx([100.0, 100.0], abs=1e-9)
    assert stored[0]["parameters"]["binder"] == pytest.approx(58.3 / 0.999)
