"""Combinations that are never suggested, in the form for a new study, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, tab

pytestmark = pytest.mark.long


def coupling(page: Page, name: str) -> None:
    """The form for a study with a parameter of each kind, some with special characters in names and values."""
    page.goto("/new")
    page.get_by_label("ID", exact=True).fill(name)
    page.get_by_label("The result should be").select_option("maximize")
    add_parameter(page, 1, "ligand", "categorical", "XPhos", "PPh3", "2\"-in 'x'")
    add_parameter(page, 2, "temperature", "float", "20", "120")
    add_parameter(page, 3, "flow rate", "ordinal", "0,5", "2", "5")
    add_parameter(page, 4, "in", "bool")
    add_parameter(page, 5, "n", "int", "1", "9")
    page.get_by_text("Limits on conditions and results").click()


def cell(page: Page, name: str, place: int) -> Locator:
    return page.get_by_label(f"{name} in combination {place}", exact=True)


def add_combination(page: Page) -> None:
    page.get_by_role("button", name="Add a combination").click()


def test_combinations_become_constraints_which_no_point_violates(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        coupling(page, "coupling")
        page.get_by_label("Constraints, one per line").fill("n <= 8")
        for place in (1, 2, 3):
            add_combination(page)
            expect(cell(page, "ligand", place)).to_be_focused()
        cell(page, "ligand", 1).select_option("PPh3")
        cell(page, "temperature", 1).fill(">80,5")
        cell(page, "flow rate", 2).select_option("0,5")
        cell(page, "in", 2).select_option("yes")
        cell(page, "n", 2).fill("3")
        cell(page, "ligand", 3).select_option("2\"-in 'x'")
        cell(page, "temperature", 3).fill("≤ 40")
        add_combination(page)  # without a choice, it excludes nothing
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/coupling")
        expected = [
            "n <= 8",
            'not (ligand == "PPh3" and temperature > 80.5)',
            'not ("flow rate" == 0.5 and "in" == True and n == 3)',
            'not (ligand == "2" \'"\' "-in \'x\'" and temperature <= 40)',
        ]
        expect(page.locator("#definition code")).to_have_text(expected)
    assert checked(api.get("/v1/studies/coupling"))["constraints"] == expected
    trials = checked(api.post("/v1/studies/coupling/suggest", json={"count": 12}))["trials"]
    for point in (trial["parameters"] for trial in trials):
        assert point["n"] <= 8
        assert point["ligand"] != "PPh3" or point["temperature"] <= 80.5
        assert (point["flow rate"], point["in"], point["n"]) != (0.5, True, 3)
        assert point["ligand"] != "2\"-in 'x'" or point["temperature"] > 40


def test_what_is_wrong_is_told_at_the_cell(browser: Browser, site: str) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        coupling(page, "wrong")
        add_combination(page)
        add_combination(page)
        create = page.get_by_role("button", name="Create the study")
        alert, faults = page.get_by_role("alert"), page.locator("#exclusions .fault")
        for typed, words in {
            "hot": "“hot” is not a number, or one after <, <=, > or >=.",
            "80": "a value of exactly 80 is very unlikely. Write > 80 or < 80.",
        }.items():
            cell(page, "temperature", 2).fill(typed)
            create.click()
            expect(alert).to_have_text("1 field needs a correction: temperature in combination 2")
            expect(faults).to_have_text(words)
            expect(cell(page, "temperature", 2)).to_be_focused()
        cell(page, "temperature", 2).fill("> 10")
        page.get_by_label("Constraints, one per line").fill("n <= 8")
        create.click()
        expect(faults).to_contain_text("no point satisfies this constraint")
        cell(page, "temperature", 2).fill("")
        cell(page, "n", 2).fill("12")
        create.click()
        expect(alert).to_have_text("1 field needs a correction: n in combination 2")
        expect(faults).to_contain_text("column 11: 12 is not a value of 'n'")
        page.get_by_label("Constraints, one per line").fill("n <= m")
        create.click()
        expect(page.locator(".field .fault")).to_contain_text("column 6: 'm' is not a parameter")


def test_the_table_follows_the_parameters_and_the_keyboard_is_enough(browser: Browser, site: str) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        coupling(page, "followed")
        page.get_by_role("button", name="Add a combination").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("P")
        page.keyboard.press("Tab")
        page.keyboard.type("> 80")
        expect(cell(page, "ligand", 1).locator("option:checked")).to_have_text("PPh3")
        row = page.get_by_role("group", name="Parameter 1", exact=True)
        row.get_by_label("Name").fill("phosphine")
        row.get_by_label("Value 2", exact=True).fill("P(Ph)3")
        expect(cell(page, "phosphine", 1).locator("option:checked")).to_have_text("P(Ph)3")
        expect(cell(page, "temperature", 1)).to_have_value("> 80")
        row.get_by_role("button", name="Remove value 2").click()
        expect(cell(page, "phosphine", 1).locator("option:checked")).to_have_text("any")
        page.get_by_role("group", name="Parameter 2", exact=True).get_by_label("Kind").select_option("fixed")
        expect(cell(page, "temperature", 1)).to_have_count(0)
        row.get_by_role("button", name="Remove this parameter").click()
        expect(page.locator("#exclusions th")).to_have_text(["flow rate", "in", "n"])
        cell(page, "n", 1).focus()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Remove combination 1")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#exclusions")).to_be_hidden()
