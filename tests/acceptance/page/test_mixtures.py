"""Mixtures on the page, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, drawn, tab

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
        for name in SOLVENTS:
            expect(mixture.get_by_label(name)).to_be_checked()
        mixture.get_by_label("Maximum number above 0").fill("2")
        mixture.get_by_label("Least share if present").fill("0,1")
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
        expect(page.locator("#contour-caption")).to_contain_text("The other shares adjust. Hatched: excluded")
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
        expect(page.locator("#paste-status")).to_contain_text("1 of 3 lines can be added.")
        page.get_by_label("Scale the shares of 1 line to their total: they are rounded").check()
        expect(page.locator("#paste-status")).to_contain_text("2 of 3 lines can be added.")
        expect(page.locator("#paste-table")).to_contain_text("58.3584")
        page.get_by_label("Leave out the line that does not fit").check()
        page.get_by_role("button", name="Add 2 results").click()
        expect(page.get_by_text("Stored: 2 results.")).to_be_visible()
    stored = checked(api.get("/v1/studies/coating/observations"))["items"]
    assert [sum(each["parameters"].values()) for each in stored] == pytest.approx([100.0, 100.0], abs=1e-9)
    assert stored[0]["parameters"]["binder"] == pytest.approx(58.3 / 0.999)


def test_the_form_offers_all_shares_counts_those_that_are_always_present_and_says_the_rules(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("Title").fill("Clear coat (2K-PU, Nov.)")
        expect(page.get_by_label("ID", exact=True)).to_have_value("Clear-coat-2K-PU-Nov")
        page.get_by_label("The result should be").select_option("several")
        expect(page.locator("#goal")).to_have_text("Choose whether result 1 and result 2 should be large or small.")
        for number, (name, words) in enumerate((("hardness", "large"), ("price", "small")), start=1):
            row = page.get_by_role("group", name=f"Result {number}")
            row.get_by_label("Name").fill(name)
            row.get_by_label("is to be").select_option(label=f"as {words} as possible")
        ends = {"Binder A": (40, 80), "Butyl acetate": (0, 40), "Xylene": (0, 40), "MPA": (0, 30), "Ethanol": (0, 30)}
        for number, (name, (low, high)) in enumerate(ends.items(), start=1):
            add_parameter(page, number, name, "float", str(low), str(high))
            page.get_by_role("group", name=f"Parameter {number}").get_by_label("Unit").fill("%")
        add_parameter(page, 6, "Temperature", "float", "0", "100")
        page.get_by_role("group", name="Parameter 6").get_by_label("Unit").fill("°C")
        page.get_by_role("button", name="Add a mixture").click()
        mixture = page.get_by_role("group", name="Mixture 1")
        checked_ones = [name for name in (*ends, "Temperature") if mixture.get_by_label(name).is_checked()]
        assert checked_ones == [], "the temperature has another unit: a person decides"
        for name in ends:
            mixture.get_by_label(name).check()
        mixture.get_by_label("Sum").fill("100")
        mixture.get_by_label("Maximum number above 0").fill("4")
        expect(mixture).to_contain_text("Binder A is always above 0 and counted. So 4 allows 3 others.")
        page.get_by_text("Limits on conditions and results").click()
        page.get_by_role("button", name="Add a quantity").click()
        quantity = page.locator("#quantities .row")
        quantity.get_by_label("Name").fill("Viscosity")
        quantity.get_by_label("at most").fill("120")
        quantity.get_by_label("Unit").fill("mPa·s")
        page.get_by_text("Plates", exact=True).click()
        page.get_by_label("Trials on a plate").fill("6")
        page.get_by_role("group", name="Equal on a plate").get_by_label("Temperature").check()
        expect(page.locator("#summary-rules li")).to_have_text(
            [
                "Mixture: Binder A + Butyl acetate + Xylene + MPA + Ethanol = 100, at most 4 of them above 0",
                "Viscosity: at most 120\N{NO-BREAK SPACE}mPa·s",
                "Plates of 6 trials with the same Temperature",
            ]
        )
        page.set_viewport_size({"width": 1366, "height": 768})
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/Clear-coat-2K-PU-Nov")
    declared = checked(api.get("/v1/studies/Clear-coat-2K-PU-Nov"))
    assert declared["mixtures"] == [{"parameters": list(ends), "total": 100, "at_most": 4}]
    with tab(browser, site) as page:
        page.goto("/studies/Clear-coat-2K-PU-Nov/edit")
        mixture = page.get_by_role("group", name="Mixture 1")
        expect(mixture.get_by_label("Ethanol")).to_be_checked()
        expect(mixture.get_by_label("Temperature")).not_to_be_checked()


def test_a_line_is_typed_into_a_table_of_descriptors(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [
        {
            "name": "hardener",
            "kind": "categorical",
            "choices": ["Desmodur L75", "Tolonate HDT"],
            "descriptors": {"NCO": [13.3, 22], "price": [4, 5.5]},
        }
    ]
    checked(api.post("/v1/studies", json={"id": "hard", "direction": "maximize", "parameters": parameters}))
    with tab(browser, site) as page:
        page.goto("/studies/hard/edit")
        row = page.get_by_role("group", name="Parameter 1", exact=True)
        row.get_by_text("Prior knowledge and conditions").click()
        table = row.get_by_label("Numbers that describe the values")
        expect(table).to_have_value("hardener; NCO; price\nDesmodur L75; 13.3; 4\nTolonate HDT; 22; 5.5")
        before = table.input_value()
        table.fill(f"{before}\nTolonate X FLO;12,3")
        page.get_by_role("button", name="Show what changes").click()
        expect(row.locator(".fault")).to_contain_text("line 4 has 2 cells, but the first line has 3.")
        expect(row.locator("[data-part=choice]")).to_have_count(2)
        table.fill(f"{before.replace('; ', chr(9))}\nTolonate X FLO;12,3;14,0")
        table.blur()
        expect(row.locator("[data-part=choice]")).to_have_count(3)
        page.get_by_role("button", name="Show what changes").click()
        page.get_by_role("button", name="Save these changes").click()
        page.wait_for_url("**/studies/hard")
    (hardener,) = checked(api.get("/v1/studies/hard"))["parameters"]
    assert hardener["choices"] == ["Desmodur L75", "Tolonate HDT", "Tolonate X FLO"]
    assert hardener["descriptors"] == {"NCO": [13.3, 22, 12.3], "price": [4, 5.5, 14]}
