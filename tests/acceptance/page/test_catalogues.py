"""Catalogues on the page, in a real Chromium."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, drawn, tab, unfold

pytestmark = pytest.mark.long

DYES = [f"dye {number}" for number in range(40)]
DYE: dict[str, Any] = {
    "name": "dye",
    "kind": "catalogue",
    "label": "Dye",
    "table": "\n".join(["dye,size", *(f"{dye},{number}" for number, dye in enumerate(DYES))]),
}
HEAT: dict[str, Any] = {"name": "heat", "kind": "float", "low": 0, "high": 1}


def create(api: httpx.Client, study: str, *parameters: dict[str, Any]) -> None:
    """A study with enough results to rely on its model."""
    definition = {"id": study, "direction": "maximize", "parameters": list(parameters), "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    for _ in range(9):
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={}))["trials"]
        value = float(DYES.index(trial["parameters"]["dye"]))
        checked(api.post(f"/v1/studies/{study}/observe", json={"trial": trial["number"], "value": value}))


def test_charts_are_drawn_along_the_parameters_that_have_an_order(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """Rows have no order; the table of results, the importances and points show their names."""
    create(api, "dyed", DYE, HEAT)
    with tab(browser, site) as page:
        page.goto("/studies/dyed")
        for chart in ("parallel", "slices", "importance"):
            drawn(page, chart)
        expect(page.locator("#parallel-caption")).to_contain_text("9 results across 1 parameter")
        page.locator("#contour").scroll_into_view_if_needed()
        expect(page.get_by_text("There is only one parameter to draw, heat; its slice is above.")).to_be_visible()
        expect(page.locator("#recommendation")).to_contain_text("dye ")
        assert accessible(page) == []


def test_a_study_of_rows_alone_says_why_nothing_is_drawn(browser: Browser, site: str, api: httpx.Client) -> None:
    create(api, "dyes", DYE)
    with tab(browser, site) as page:
        page.goto("/studies/dyes")
        for chart in ("parallel", "slices", "contour", "partition"):
            unfold(page, chart)
        expect(page.get_by_text("The rows of a table have no order")).to_have_count(3)
        expect(page.get_by_text("The rows of a table have no cells to draw.")).to_be_visible()


def test_the_row_in_use_and_constraints_on_rows_are_declared(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("in-use")
        page.get_by_label("The result should be").select_option("minimize")
        row = page.get_by_role("group", name="Parameter 1", exact=True)
        row.get_by_label("Name").fill("dye")
        row.get_by_label("Kind").select_option("catalogue")
        row.get_by_role("textbox", name="Table").fill("dye,size\nred,1\nblue,2\ngreen,3")
        row.get_by_text("Prior knowledge").click()
        expect(row.get_by_text("Active only if")).to_be_hidden()
        row.get_by_label("Value in use today").fill("blue")
        weights = row.get_by_role("textbox", name="How likely rows are to be best")
        weights.fill("row;weight\nblue;often\ngreen;0,5")
        page.get_by_role("button", name="Create the study").click()
        expect(row.locator(".fault")).to_contain_text("line 2: “often” is not a number.")
        weights.fill("row;weight\nblue;3\ngreen;0,5")
        page.get_by_text("Limits on conditions and results").click()
        page.get_by_label("Constraints, one per line").fill('dye != "red"')
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("heading", name="in-use")).to_be_visible()
    declared = checked(api.get("/v1/studies/in-use"))
    assert (declared["baseline"], declared["constraints"]) == ({"dye": "blue"}, ['dye != "red"'])
    assert declared["prior"] == {"dye": {"weights": {"blue": 3, "green": 0.5}}}
    with tab(browser, site) as page:
        page.goto("/new?like=in-use")
        row = page.get_by_role("group", name="Parameter 1", exact=True)
        expect(row.locator("[data-part=row-weights]")).to_have_value("row\tweight\nblue\t3\ngreen\t0.5\n")


def test_rows_are_added_withdrawn_and_restored(browser: Browser, site: str, api: httpx.Client) -> None:
    create(api, "stock", DYE)

    def rows() -> tuple[int, int]:
        (parameter,) = checked(api.get("/v1/studies/stock"))["parameters"]
        return parameter["rows"], parameter["withdrawn"]

    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/stock")
        page.get_by_role("button", name="Rows of dye").click()
        dialog = page.get_by_role("dialog", name="Rows of dye")
        expect(dialog).to_contain_text("dye,size")
        assert accessible(page) == []
        dialog.get_by_label("Rows to withdraw").fill("dye 7\ndye 99\n")
        dialog.get_by_role("button", name="Change the rows").click()
        expect(dialog.locator(".fault")).to_contain_text("has 'dye 99', which is not a row")
        expect(dialog.get_by_label("Rows to withdraw")).to_be_focused()
        assert rows() == (40, 0)
        dialog.get_by_label("Rows to withdraw").fill("dye 7\n")
        dialog.get_by_role("button", name="Change the rows").click()
        expect(page.locator("#definition")).to_contain_text("one of 40 rows, 1 of them withdrawn")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#definition")).to_contain_text("one of 40 rows;")
        page.get_by_role("button", name="Rows of dye").click()
        dialog.get_by_label("Rows to add").fill("dye;size\nnew one;3,5")
        dialog.get_by_label("Rows to withdraw").fill("dye 7")
        dialog.get_by_role("button", name="Change the rows").click()
        expect(page.locator("#definition")).to_contain_text("one of 41 rows, 1 of them withdrawn")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert rows() == (41, 1)
